/* SPDX-License-Identifier: MIT */
/* A reload does what the files of exports.d ask for. */
#ifndef VGPUD_RELOAD_H
#define VGPUD_RELOAD_H

#include "text.h"

/* Only logs mistakes. 0 or a negative errno: there are some. */
int reload_check(void);
/* At the start: what files without mistakes say. */
void reload_start(void);
/*
 * Makes exports and windows as the files say now, or nothing at all if there is a mistake:
 * those that differ, and no others. @who asks for it goes to the log. A line of @words is a
 * change, or what is wrong where it fails.
 * Return: 0; -EBADMSG, or another errno: nothing was changed; -EIO: not all could be done.
 */
int reload_run(const char *who, struct text *words);
/* Only says what reload_run() would do. */
int reload_diff(struct text *words);

#endif /* VGPUD_RELOAD_H */
