/* SPDX-License-Identifier: MIT */
/* Number of files that vgpud itself may have open. */
#ifndef VGPUD_OWN_H
#define VGPUD_OWN_H

/*
 * Raise the soft limit of open files to the hard limit. A service manager gives programs a low soft
 * limit and a higher hard limit.
 */
void own_files_raise(void);
/* Warn if the limits of guests need more open files than vgpud may have. */
void own_files_check(void);

#endif /* VGPUD_OWN_H */
