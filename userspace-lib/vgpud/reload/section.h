/* SPDX-License-Identifier: MIT */
/* Sections of the files of exports.d, and their settings: reader of a file. */
#ifndef VGPUD_SECTION_H
#define VGPUD_SECTION_H

struct plan;
struct plan_file;
struct text;

/* Add the sections of a file to the plan. Each mistake becomes a line of @words. */
void plan_read_file(struct plan *plan, struct plan_file *file, struct text *words);

#endif /* VGPUD_SECTION_H */
