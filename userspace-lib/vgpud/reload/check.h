/* SPDX-License-Identifier: MIT */
/* Checks of the sections of all files. */
#ifndef VGPUD_RELOAD_CHECK_H
#define VGPUD_RELOAD_CHECK_H

struct plan;
struct text;

/* Check all sections, and their conflicts. Each mistake becomes a line of @words. */
void plan_check(struct plan *plan, struct text *words);

#endif /* VGPUD_RELOAD_CHECK_H */
