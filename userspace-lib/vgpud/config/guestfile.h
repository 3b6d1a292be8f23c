/* SPDX-License-Identifier: MIT */
/* Readers of sections [guest NAME]. */
#ifndef VGPUD_GUESTFILE_H
#define VGPUD_GUESTFILE_H

#include <stdbool.h>

#include "config/guests.h"

struct answer;
struct ini_line;
struct text;

/* Check whether the name of a section is that of a guest's section. */
bool guestfile_has(const char *section);
/* Return the name of the guest in the name of such a section. */
const char *guestfile_name(const char *section);
/*
 * Handle a line of vgpud.conf, the file @path, in such a section. Return: 0, or a negative errno
 * with words in @words.
 */
int guestfile_conf_line(const char *path, const struct ini_line *line, struct answer *words);
/* Read a file of guests.d. Return: the number of mistakes; each is a line of @words. */
unsigned int guestfile_read(const char *path, struct guest_sections *sections,
			    struct text *words);
/*
 * Check the sections of guests.d, or of vgpud.conf, once all are read. A section with a mistake is
 * removed; each mistake is a line of @words. Return: the number of mistakes.
 */
unsigned int guestfile_check(struct guest_sections *sections, struct text *words);

#endif /* VGPUD_GUESTFILE_H */
