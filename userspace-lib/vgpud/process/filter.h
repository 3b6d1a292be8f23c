/* SPDX-License-Identifier: MIT */
/* Filters of system calls of the programs of guests (seccomp). */
#ifndef VGPUD_FILTER_H
#define VGPUD_FILTER_H

#include "config/config.h"

/* Build the filters. @engines: see confine_init(). Return: 0 or a negative errno. */
int filters_init(bool engines);
/* Load the filter of a program into this process. Return: 0 or a negative errno. */
int filter_load(enum spawn_kind kind);

#endif /* VGPUD_FILTER_H */
