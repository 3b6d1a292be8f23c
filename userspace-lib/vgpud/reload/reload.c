// SPDX-License-Identifier: MIT
/* Reloads of the files of exports.d: exports follow the files that ask for them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/manager.h"
#include "config/config.h"
#include "config/guests.h"
#include "export/export.h"
#include "export/grant.h"
#include "export/spec.h"
#include "guest/listener.h"
#include "process/confine.h"
#include "process/own.h"
#include "reload/named.h"
#include "reload/plan.h"
#include "reload/reload.h"
#include "reload/wanted.h"
#include "shared/log.h"

/* --- synchronisation --------------------------------------------------------- */

static void exports_sync_begin(void)
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
	if (old->audit != new->audit)
		return "audit=";
	if (old->profiles != new->profiles)
		return "profile=";
	if (old->master != new->master)
		return "master=";
	return old->nr_submits != new->nr_submits ||
	       memcmp(old->submits, new->submits, old->nr_submits * sizeof(old->submits[0])) ?
	       "submit-ioctls=" : "its list of ioctls";
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

/* Change the export of @spec, which export_check() has accepted, to what the files say. */
static void exports_sync(struct sync *sync, struct export_spec *spec, const char *origin)
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

static void exports_sync_end(struct sync *sync)
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

/* --- reloads ------------------------------------------------------------------ */

/*
 * Return the origin of an export. An export of cards may follow from several files, so its
 * origin is their directory.
 */
static const char *origin_of(const struct export_spec *spec)
{
	return spec->file ? spec->file->name : settings.exports_dir;
}

static void apply_exports(struct sync *sync, const struct plan *plan)
{
	struct export_spec *spec = NULL;

	exports_sync_begin();
	while ((spec = plan_next(plan, spec)))
		exports_sync(sync, spec, origin_of(spec));
	exports_sync_end(sync);
	wanted_sync(sync, &plan->sections);
}

static void apply(struct sync *sync, const struct plan *plan)
{
	named_sync(sync);
	apply_exports(sync, plan);
}

/* Release the ports of the first @nr guests of the plan. */
static void put_ports(const struct plan *plan, size_t nr)
{
	const struct export_spec *spec = NULL;
	size_t i;

	while ((spec = plan_next(plan, spec)))
		for (i = 0; i < spec->nr_guests && nr; i++, nr--)
			listener_put(spec->guests[i].port);
}

/*
 * Listen on the ports of all guests of the plan before anything is changed: another process may
 * have a port, which only listening shows. Return: the number of guests; -1 on failure.
 */
static long get_ports(const struct plan *plan, struct text *words)
{
	const struct export_spec *spec = NULL;
	long nr = 0;
	size_t i;
	int ret;

	while ((spec = plan_next(plan, spec)))
		for (i = 0; i < spec->nr_guests; i++, nr++) {
			ret = listener_get(spec->guests[i].port);
			if (!ret)
				continue;
			text_add(words, "%s: [%s]: cannot listen on vsock port %u: %s",
				 origin_of(spec), spec->name, spec->guests[i].port,
				 strerror(-ret));
			put_ports(plan, nr);
			return -1;
		}
	return nr;
}

int reload_check(void)
{
	struct text words = { 0 };
	struct answer what;
	struct plan plan;
	int ret = plan_read(&plan, &words);

	/* This is no mistake of the files: a service has other resource limits than this process. */
	if (!ret && confine_foresee(&what))
		log_warning("%s (if vgpud starts with the limits of this process)", what.text);
	text_log(&words, log_error);
	plan_free(&plan);
	text_free(&words);
	return ret;
}

int reload_guests(void)
{
	struct text words = { 0 };
	struct sync sync = { 0 };
	int ret = guests_plan(&words);

	text_log(&words, log_error);
	if (!ret)
		named_sync(&sync);
	text_log(&sync.changes, log_info);
	guests_plan_end();
	text_free(&sync.changes);
	text_free(&words);
	return ret;
}

void reload_start(void)
{
	struct text words = { 0 };
	struct sync sync = { 0 };
	struct plan plan;
	int ret = plan_read_exports(&plan, &words);

	text_log(&words, log_error);
	if (ret)
		log_error("files with mistakes are not used");
	apply_exports(&sync, &plan);
	exports_rescan();
	text_log(&sync.changes, log_info);
	text_log(&sync.failures, log_error);
	text_free(&sync.changes);
	text_free(&sync.failures);
	plan_free(&plan);
	text_free(&words);
}

/* Check that the programs of guests can have the limits that the guests will have. */
static int check_limits(struct text *words)
{
	struct answer what;

	if (!confine_check_guests(true, &what))
		return 0;
	text_add(words, "%s", what.text);
	return -EBADMSG;
}

static int run(struct plan *plan, struct text *words)
{
	struct sync sync = { 0 };
	bool failed;
	long nr;

	if (check_limits(words))
		return -EBADMSG;
	nr = get_ports(plan, words);
	if (nr < 0)
		return -EBADMSG;
	apply(&sync, plan);
	own_files_check();
	put_ports(plan, nr);
	text_log(&sync.changes, log_info);
	/* Failures matter more than changes: if there are any, only they are returned. */
	failed = sync.failures.lines || sync.failures.lost;
	*words = failed ? sync.failures : sync.changes;
	text_free(failed ? &sync.changes : &sync.failures);
	return failed ? -EIO : 0;
}

int reload_run(const char *who, struct text *words)
{
	struct plan plan;
	int ret;

	notify_manager("RELOADING=1");
	log_info("reading the exports again, by %s", who);
	ret = plan_read(&plan, words);
	if (!ret) {
		text_free(words);
		ret = run(&plan, words);
	}
	if (ret)
		text_log(words, log_error);
	if (ret && ret != -EIO)
		log_error("nothing was changed");
	plan_free(&plan);
	exports_rescan();
	notify_manager("READY=1");
	return ret;
}

int reload_diff(struct text *words)
{
	struct sync sync = { .dry = true };
	struct plan plan;
	int ret = plan_read(&plan, words);

	if (!ret) {
		text_free(words);
		ret = check_limits(words);
	}
	if (!ret) {
		apply(&sync, &plan);
		*words = sync.changes;
	}
	plan_free(&plan);
	return ret;
}
