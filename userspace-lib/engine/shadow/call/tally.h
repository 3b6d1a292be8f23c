/* SPDX-License-Identifier: MIT */
/* Tallies: counts and times of the calls on files of an export; see tally.c. */
#ifndef ESHADOW_TALLY_H
#define ESHADOW_TALLY_H

#include "engine/shadow/base/lib.h"

struct call;

/*
 * Finds the tally of an export by vgpud's number of it, or begins one. Return: the tally, which is
 * never removed; NULL: there is no export, or no room.
 */
struct engine_tally *tally_of(u32 export);
/* Counts a call whose reply of @len bytes is sent at @now, a time in nanoseconds of now_ns(). */
void tally_count(const struct call *call, u64 len, u64 now);

#endif /* ESHADOW_TALLY_H */
