// SPDX-License-Identifier: MIT
/* Reloads of the files of exports.d. */
#include <errno.h>
#include <string.h>

#include "base/manager.h"
#include "config/config.h"
#include "export/export.h"
#include "export/spec.h"
#include "guest/listener.h"
#include "reload/plan.h"
#include "reload/reload.h"
#include "reload/sync.h"
#include "reload/wanted.h"
#include "shared/log.h"

/*
 * Return the origin of an export. An export of cards may follow from several files, so its
 * origin is their directory.
 */
static const char *origin_of(const struct export_spec *spec)
{
	return spec->file ? spec->file->name : settings.exports_dir;
}

static void apply(struct sync *sync, const struct plan *plan)
{
	struct export_spec *spec = NULL;

	exports_sync_begin();
	while ((spec = plan_next(plan, spec)))
		exports_sync(sync, spec, origin_of(spec));
	exports_sync_end(sync);
	wanted_sync(sync, &plan->sections);
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
	struct plan plan;
	int ret = plan_read(&plan, &words);

	text_log(&words, log_error);
	plan_free(&plan);
	text_free(&words);
	return ret;
}

void reload_start(void)
{
	struct text words = { 0 };
	struct sync sync = { 0 };
	struct plan plan;
	int ret = plan_read(&plan, &words);

	text_log(&words, log_error);
	if (ret)
		log_error("files with mistakes are not used");
	apply(&sync, &plan);
	exports_rescan();
	text_log(&sync.changes, log_info);
	text_log(&sync.failures, log_error);
	text_free(&sync.changes);
	text_free(&sync.failures);
	plan_free(&plan);
	text_free(&words);
}

static int run(struct plan *plan, struct text *words)
{
	struct sync sync = { 0 };
	long nr = get_ports(plan, words);

	if (nr < 0)
		return -EBADMSG;
	apply(&sync, plan);
	put_ports(plan, nr);
	text_log(&sync.changes, log_info);
	/* Failures matter more than changes: if there are any, only they are returned. */
	*words = sync.failures.lines ? sync.failures : sync.changes;
	text_free(sync.failures.lines ? &sync.changes : &sync.failures);
	return sync.failures.lines ? -EIO : 0;
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
		apply(&sync, &plan);
		*words = sync.changes;
	}
	plan_free(&plan);
	return ret;
}
