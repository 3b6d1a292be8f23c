/* SPDX-License-Identifier: MIT */
/*
 * Exports: device files, and the guests that may use them.
 *
 * An export exists from the time it is configured until it is taken back. While its device
 * exists, the host module knows the export, too: the export is "ready".
 */
#ifndef VGPUD_EXPORT_H
#define VGPUD_EXPORT_H

#include "base/answer.h"

struct export;
struct export_spec;

/* Make an export without guests from @spec, and take over its ioctls. Return: NULL: no memory. */
struct export *export_new(struct export_spec *spec, const char *origin);
/*
 * Open the device of an export, add the export to the host module or the engines, and grant it to
 * its guests. Return: 0, or a negative errno with words in @answer.
 */
int export_up(struct export *export, struct answer *answer);
/* Take the export back from all guests, and free it. */
void export_free(struct export *export);
/*
 * Update exports after devices may have come or gone. An export whose device exists but cannot
 * be exported is retried every EXPORT_RETRY_MS.
 */
#define EXPORT_RETRY_MS	5000
void exports_rescan(void);
/* Watch the path of each export: its file, or a link on the way to it, may change. */
void exports_watch(void);

#endif /* VGPUD_EXPORT_H */
