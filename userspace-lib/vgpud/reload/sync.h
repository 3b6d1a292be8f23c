/* SPDX-License-Identifier: MIT */
/*
 * Synchronisation of exports and windows with what files ask for. Only what differs is changed:
 * guests whose files say the same as before notice nothing.
 */
#ifndef VGPUD_SYNC_H
#define VGPUD_SYNC_H

#include <stdbool.h>

#include "base/answer.h"

struct export_spec;

/**
 * struct sync - a synchronisation and its results
 * @dry: true to change nothing, and only describe the changes
 * @changes: text with a line for each change
 * @failures: text with a line for each change that failed
 */
struct sync {
	bool dry;
	struct text changes;
	struct text failures;
};

/*
 * Synchronise the exports: exports_sync() is called for each export of the files, which
 * export_check() has accepted, between a call of exports_sync_begin() and one of
 * exports_sync_end().
 */
void exports_sync_begin(void);
void exports_sync(struct sync *sync, struct export_spec *spec, const char *origin);
void exports_sync_end(struct sync *sync);

#endif /* VGPUD_SYNC_H */
