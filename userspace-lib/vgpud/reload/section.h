/* SPDX-License-Identifier: MIT */
/* Sections of the files of exports.d, and their settings: reader of a file. */
#ifndef VGPUD_SECTION_H
#define VGPUD_SECTION_H

struct plan;
struct plan_file;
struct text;

/* Report a mistake in a line of a file, and in a section unless @section is "". */
void plan_mistake(struct text *words, struct plan_file *file, unsigned int line,
		  const char *section, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Add the sections of a file to the plan. Each mistake becomes a line of @words. */
void plan_read_file(struct plan *plan, struct plan_file *file, struct text *words);

#endif /* VGPUD_SECTION_H */
