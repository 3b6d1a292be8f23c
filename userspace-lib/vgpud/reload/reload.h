/* SPDX-License-Identifier: MIT */
/*
 * Reloads: change exports and windows to what the files of exports.d ask for. Only what differs is
 * changed: guests whose files say the same as before notice nothing.
 */
#ifndef VGPUD_RELOAD_H
#define VGPUD_RELOAD_H

#include <stdbool.h>

#include "base/answer.h"

/**
 * struct sync - changes of exports and windows to what the files say, or a description of changes
 * @dry: true to change nothing, and only describe the changes
 * @changes: text with a line for each change
 * @failures: text with a line for each change that failed
 */
struct sync {
	bool dry;
	struct text changes;
	struct text failures;
};

/* Check the files, and log mistakes. Return: 0, or a negative errno if there are some. */
int reload_check(void);
/*
 * Read the files of guests at the start. A mistake is an error: the guest would have no limits of
 * its own, and so more than it may have. Return: 0, or a negative errno, which was logged.
 */
int reload_guests(void);
/* Make exports and windows at the start, from all files of exports without mistakes. */
void reload_start(void);
/*
 * Change exports and windows to what the files say. Only those that differ are changed, and
 * none if there is a mistake. @who: description for the log of who asked for the reload;
 * @words: gets a line for each change, or on failure for each error. Return: 0; -EBADMSG or
 * another errno: nothing was changed; -EIO: some changes failed.
 */
int reload_run(const char *who, struct text *words);
/* Describe what reload_run() would change. */
int reload_diff(struct text *words);

#endif /* VGPUD_RELOAD_H */
