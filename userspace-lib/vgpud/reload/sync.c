// SPDX-License-Identifier: MIT
/* Synchronisation of exports with the files that ask for them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/grant.h"
#include "export/spec.h"
#include "reload/plan.h"
#include "reload/sync.h"

void exports_sync_begin(void)
{
	struct export *export;
	struct grant *grant;

	TAILQ_FOREACH(export, &exports, node) {
		export->seen = false;
		TAILQ_FOREACH(grant, &export->grants, node)
			grant->seen = false;
	}
}

/*
 * Report a failure with the section that asks for the export. Exports of cards may follow from
 * several sections, so no section is named for them.
 */
static void sync_fail(struct sync *sync, const struct export_spec *spec, const char *words)
{
	if (spec->file)
		text_add(&sync->failures, "%s:%u: [%s]: %s", spec->file->name, spec->line,
			 spec->name, words);
	else
		text_add(&sync->failures, "export %s: %s", spec->name, words);
}

/* Synchronise one guest of @spec. @is_new: the export is new, which has been reported already. */
static void sync_guest(struct sync *sync, struct export *export, const struct export_spec *spec,
		       size_t guest, bool is_new)
{
	const uint32_t cid = spec->guests[guest].cid, port = spec->guests[guest].port;
	struct grant *grant = export_grant(export, cid, port);
	struct answer words;

	if (!grant) {
		if (!sync->dry && export_grant_add(export, cid, port, spec->any_port,
						   spec->read_only, &words)) {
			sync_fail(sync, spec, words.text);
			return;
		}
		if (!is_new)
			text_add(&sync->changes, "export %s: guest %u:%u may use it", spec->name,
				 cid, port);
		if (sync->dry)
			return;
		grant = export_grant(export, cid, port);
	}
	grant->seen = true;
	if (grant->read_only != spec->read_only)
		text_add(&sync->changes, "export %s: guest %u:%u may %s", spec->name, cid, port,
			 spec->read_only ? "only read" : "write as well");
	if (grant->any_port != spec->any_port)
		text_add(&sync->changes, "export %s: guest %u:%u may come from %s", spec->name, cid,
			 port, spec->any_port ? "any port" : "ports below 1024 only");
	if (sync->dry)
		return;
	if (export_grant_change(export, grant, spec->any_port, spec->read_only, &words))
		sync_fail(sync, spec, words.text);
	else
		grant->by_file = true;
}

static bool sync_origin(struct export *export, const char *origin)
{
	char *copy;

	if (export->origin && !strcmp(export->origin, origin))
		return true;
	copy = strdup(origin);
	if (!copy)
		return false;
	free(export->origin);
	export->origin = copy;
	return true;
}

static void sync_say_new(struct sync *sync, const struct export_spec *spec)
{
	char guests[200] = "";
	size_t i, at = 0;

	for (i = 0; i < spec->nr_guests && at < sizeof(guests); i++)
		at += snprintf(guests + at, sizeof(guests) - at, "%s%u:%u", i ? ", " : "",
			       spec->guests[i].cid, spec->guests[i].port);
	text_add(&sync->changes, "export %s: is new: %s to %s%s", spec->name, spec->path, guests,
		 at < sizeof(guests) ? "" : "...");
}

static const char *what_differs(const struct export_spec *old, const struct export_spec *new)
{
	if (strcmp(old->path, new->path))
		return "its path";
	if (old->no_demand != new->no_demand)
		return "demand=";
	return old->master != new->master ? "master=" : "its list of ioctls";
}

/* Report an export whose terms change. It is made anew, and nothing of the old export is kept. */
static void sync_anew(struct sync *sync, struct export *export, const struct export_spec *spec)
{
	struct grant *grant;

	text_add(&sync->changes, "export %s: is made anew, because %s changes: its guests see the device disappear and appear again",
		 spec->name, what_differs(&export->spec, spec));
	export->seen = true;
	TAILQ_FOREACH(grant, &export->grants, node) {
		grant->seen = true;
		if (!export_spec_has_guest(spec, grant->cid, grant->port))
			text_add(&sync->changes, "export %s: guest %u:%u may not use it any more",
				 spec->name, grant->cid, grant->port);
	}
}

void exports_sync(struct sync *sync, struct export_spec *spec, const char *origin)
{
	struct export *export = export_find(spec->name);
	struct answer words;
	bool is_new = false;
	size_t i;

	if (export && !export_spec_same_terms(&export->spec, spec)) {
		sync_anew(sync, export, spec);
		if (sync->dry)
			return;
		export_free(export);
		export = NULL;
		is_new = true;
	}
	if (!export) {
		if (!is_new)
			sync_say_new(sync, spec);
		if (sync->dry)
			return;
		export = export_new(spec, origin);
		if (!export) {
			sync_fail(sync, spec, "out of memory");
			return;
		}
		is_new = true;
	}
	/* An export that failed before is retried, and reported as long as it fails. */
	if (!sync->dry && !export->number) {
		export->error = export_up(export, &words);
		if (export->error && export->error != -ENOENT)
			sync_fail(sync, spec, words.text);
	}
	if (!sync->dry && !sync_origin(export, origin))
		sync_fail(sync, spec, "out of memory");
	export->seen = true;
	for (i = 0; i < spec->nr_guests; i++)
		sync_guest(sync, export, spec, i, is_new);
}

/* Remove guests that the files name no longer. Return: true if other grants are left. */
static bool sync_end_guests(struct sync *sync, struct export *export)
{
	struct grant *grant, *next;
	bool any = false;

	for (grant = TAILQ_FIRST(&export->grants); grant; grant = next) {
		next = TAILQ_NEXT(grant, node);
		if (grant->seen || grant->by_hand)
			any = true;
		if (grant->seen || !grant->by_file)
			continue;
		if (grant->by_hand)
			text_add(&sync->changes, "export %s: guest %u:%u may still use it, because vgpuctl has exported it",
				 export->spec.name, grant->cid, grant->port);
		else if (export->seen)
			text_add(&sync->changes, "export %s: guest %u:%u may not use it any more",
				 export->spec.name, grant->cid, grant->port);
		if (sync->dry)
			continue;
		if (grant->by_hand)
			grant->by_file = false;
		else
			export_grant_del(export, grant);
	}
	return any;
}

void exports_sync_end(struct sync *sync)
{
	struct export *export, *next;
	bool any;

	for (export = TAILQ_FIRST(&exports); export; export = next) {
		next = TAILQ_NEXT(export, node);
		any = sync_end_guests(sync, export);
		if (!export->origin || export->seen)
			continue;
		text_add(&sync->changes, "export %s: no file asks for it any more",
			 export->spec.name);
		if (sync->dry)
			continue;
		free(export->origin);
		export->origin = NULL;
		if (!any)
			export_free(export);
	}
}
