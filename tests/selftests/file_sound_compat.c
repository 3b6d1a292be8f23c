// SPDX-License-Identifier: GPL-2.0-only
/* The same of 32-bit programs: the Makefile sees to that. */
#include "file_sound.c"

_Static_assert(sizeof(long) == 4, "a 32-bit program");
