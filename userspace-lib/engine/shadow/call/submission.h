/* SPDX-License-Identifier: MIT */
/* Submissions: calls that give a device work take turns with those of other guests. */
#ifndef ESHADOW_SUBMISSION_H
#define ESHADOW_SUBMISSION_H

#include "engine/shadow/base/lib.h"

struct call;

/**
 * struct submission - a call, as far as it gives a device work
 * @submits: true if it does
 * @turn: true if it has a turn, which has to end
 * @since: time at which it began
 */
struct submission {
	bool submits;
	bool turn;
	u64 since;
};

/*
 * Waits for the call's turn at a device, if it gives one work. Return: 0; -ERESTARTSYS: the guest
 * has cancelled the call, or the lane has ended; or another negative errno.
 */
int submission_begin(const struct call *call, struct submission *submission);
/* Ends the turn. */
void submission_end(const struct call *call, const struct submission *submission);

#endif /* ESHADOW_SUBMISSION_H */
