/* SPDX-License-Identifier: MIT */
/* Writing of limits to the files of guests.d. */
#ifndef VGPUD_SAVE_H
#define VGPUD_SAVE_H

#include "config/guests.h"

struct answer;

/*
 * Write limits of a guest to the file of guests.d that has its section, or to a new one, and let
 * them take effect. All other lines of the file stay as they are, and the file is replaced as a
 * whole. @follow: bit mask of limits that are removed from the section. Return: 0, or a negative
 * errno with words in @words, and nothing is changed.
 */
int guest_save(const char *name, const struct limits_given *given, uint32_t follow,
	       struct answer *words);

#endif /* VGPUD_SAVE_H */
