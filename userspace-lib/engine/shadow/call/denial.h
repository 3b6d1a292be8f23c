/* SPDX-License-Identifier: MIT */
/* Denials: counts of ioctls that lists, or rules for a driver, deny. */
#ifndef ESHADOW_DENIAL_H
#define ESHADOW_DENIAL_H

#include <stdbool.h>

#include "wire.h"

/*
 * Counts a denied ioctl of a file that is of the export @export or came from it. @ioctl: its key,
 * as in lists. @what: the denied part of its argument; 0: the ioctl as such. @audited: true if the
 * ioctl is let through.
 */
void denial_count(u32 export, u32 ioctl, u32 what, bool audited);

#endif /* ESHADOW_DENIAL_H */
