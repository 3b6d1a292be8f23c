// SPDX-License-Identifier: GPL-2.0-only
/* This builds file_sound.c as a 32-bit program (see the Makefile). */
#include "file_sound.c"

_Static_assert(sizeof(long) == 4, "a 32-bit program");
