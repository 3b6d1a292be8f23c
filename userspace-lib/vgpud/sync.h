/* SPDX-License-Identifier: MIT */
/*
 * Exports and windows become what files ask for. What differs is changed, and nothing else:
 * guests of which the files say what they said before notice nothing.
 */
#ifndef VGPUD_SYNC_H
#define VGPUD_SYNC_H

#include <stdbool.h>

#include "text.h"

struct export_spec;

/**
 * struct sync - what came of it
 * @dry: nothing: only what would change is said
 * @changes: a line for each
 * @failures: likewise, of what could not be done
 */
struct sync {
	bool dry;
	struct text changes;
	struct text failures;
};

/*
 * Between begin and end, sync says what the files hold now, which export_check() was content
 * with.
 */
void exports_sync_begin(void);
void exports_sync(struct sync *sync, struct export_spec *spec, const char *origin);
void exports_sync_end(struct sync *sync);

#endif /* VGPUD_SYNC_H */
