// SPDX-License-Identifier: GPL-2.0-only
/* This builds video_dmabuf.c as a 32-bit program (see the Makefile), with times of 64 bits. */
#define _TIME_BITS 64
#include "video_dmabuf.c"

_Static_assert(sizeof(long) == 4, "a 32-bit program");
_Static_assert(sizeof(struct v4l2_buffer) == 76, "with times of 64 bits");
