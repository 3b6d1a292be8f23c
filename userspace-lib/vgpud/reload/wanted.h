/* SPDX-License-Identifier: MIT */
/*
 * Windows that files of exports.d ask for.
 *
 * A window may outlive vgpud. A window that vgpuctl made stays until vgpuctl removes it. A
 * window that a file asked for is "automatic": it is removed when no file asks for it, and made
 * anew when a file asks for another one, but not while a hypervisor uses it, since its guest
 * would lose it. The host module knows which windows are automatic.
 */
#ifndef VGPUD_WANTED_H
#define VGPUD_WANTED_H

#include <stdint.h>

struct export_specs;
struct sync;

/*
 * Change windows to what the sections of all files ask for; no two sections give a guest
 * different windows. A window that is in use is changed later.
 */
void wanted_sync(struct sync *sync, const struct export_specs *sections);
/* Make the windows that are wanted and missing. */
void wanted_again(void);
/* Return the file that asks for a guest's window (port 0: the default port), or NULL. */
const char *wanted_by(uint32_t cid, uint32_t port);

#endif /* VGPUD_WANTED_H */
