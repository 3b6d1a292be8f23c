/* SPDX-License-Identifier: MIT */
/*
 * Windows that files of exports.d ask for.
 *
 * A window lasts longer than vgpud. One that was made by hand stays until it is taken
 * away by hand. One that was made because a file asks for it is automatic: it goes when
 * none asks any more, and is made anew when a file wants another one; but not while a
 * hypervisor has it, whose guest would lose it. Which is which the host module knows.
 */
#ifndef VGPUD_WANTED_H
#define VGPUD_WANTED_H

#include <stdint.h>

struct export_spec;

/*
 * Between begin and end, add says what the files hold now: no guest has two windows. 0 or
 * -ENOMEM.
 */
void wanted_begin(void);
int wanted_add(const struct export_spec *spec, const char *origin);
void wanted_end(void);

/* Makes windows as they are wanted. */
void wanted_sync(void);
/* The file that asks for the window of a guest (port 0: ours), or NULL. */
const char *wanted_by(uint32_t cid, uint32_t port);

#endif /* VGPUD_WANTED_H */
