/* SPDX-License-Identifier: MIT */
/* What the files of exports.d ask for is done. */
#ifndef VGPUD_RELOAD_H
#define VGPUD_RELOAD_H

/* Only logs mistakes. 0 or a negative errno: there are some. */
int reload_check(void);
/* At the start: what files without mistakes say. */
void reload_start(void);
/*
 * Makes exports and windows as the files say now, or nothing at all if there is a mistake. 0
 * or a negative errno; what is wrong is logged.
 */
int reload_run(void);

#endif /* VGPUD_RELOAD_H */
