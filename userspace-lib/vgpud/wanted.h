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

struct export_specs;
struct sync;

/*
 * The files hold these sections now, no two of which give a guest different windows. Windows
 * become what is wanted, at once or, where one is in use, later.
 */
void wanted_sync(struct sync *sync, const struct export_specs *sections);
/* Makes windows as they are wanted. */
void wanted_again(void);
/* The file that asks for the window of a guest (port 0: ours), or NULL. */
const char *wanted_by(uint32_t cid, uint32_t port);

#endif /* VGPUD_WANTED_H */
