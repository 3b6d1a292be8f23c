/* SPDX-License-Identifier: MIT */
/* Mistakes in files of exports. */
#ifndef VGPUD_MISTAKE_H
#define VGPUD_MISTAKE_H

struct plan_file;
struct text;

/* Report a mistake in a line of a file, and in a section unless @section is "". */
void plan_mistake(struct text *words, struct plan_file *file, unsigned int line,
		  const char *section, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif /* VGPUD_MISTAKE_H */
