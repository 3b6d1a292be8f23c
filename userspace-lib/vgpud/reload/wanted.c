// SPDX-License-Identifier: MIT
/* Windows that files ask for: the list of them, and their creation and removal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/answer.h"
#include "base/users.h"
#include "config/config.h"
#include "export/spec.h"
#include "host/hostdev.h"
#include "host/window.h"
#include "reload/plan.h"
#include "reload/reload.h"
#include "reload/wanted.h"
#include "shared/log.h"
#include "shared/loop.h"

/* Milliseconds between two attempts to change a window that is in use. */
#define RETRY_MS	1000

/**
 * struct wanted - the window that a guest is to have
 * @node: entry of all_wanted
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @terms: size and owner of the window
 * @name: name of the export that asks for the window
 * @origin: file of that export
 * @there: true if the guest has a window; used by wanted_run()
 */
struct wanted {
	LIST_ENTRY(wanted) node;
	uint32_t cid;
	uint32_t port;
	struct export_window terms;
	char name[32];
	char *origin;
	bool there;
};

static LIST_HEAD(, wanted) all_wanted = LIST_HEAD_INITIALIZER(all_wanted);

static struct wanted *wanted_find(uint32_t cid, uint32_t port)
{
	struct wanted *wanted;

	LIST_FOREACH(wanted, &all_wanted, node)
		if (wanted->cid == cid && wanted->port == port)
			return wanted;
	return NULL;
}

static void wanted_free(struct wanted *wanted)
{
	LIST_REMOVE(wanted, node);
	free(wanted->origin);
	free(wanted);
}

const char *wanted_by(uint32_t cid, uint32_t port)
{
	struct wanted *wanted = wanted_find(cid, port ? port : settings.port);

	return wanted ? wanted->origin : NULL;
}

/* --- wanted windows ------------------------------------------------------- */

static int wanted_set(uint32_t cid, uint32_t port, const struct export_spec *spec)
{
	struct wanted *wanted = wanted_find(cid, port);
	char *copy = strdup(spec->file->name);

	if (!copy)
		return -ENOMEM;
	if (!wanted) {
		wanted = calloc(1, sizeof(*wanted));
		if (!wanted) {
			free(copy);
			return -ENOMEM;
		}
		wanted->cid = cid;
		wanted->port = port;
		LIST_INSERT_HEAD(&all_wanted, wanted, node);
	}
	free(wanted->origin);
	wanted->origin = copy;
	wanted->terms = spec->window;
	memcpy(wanted->name, spec->name, sizeof(wanted->name));
	return 0;
}

/* Find the first section that gives the guest a window, or NULL. */
static const struct export_spec *find_section(const struct export_specs *sections, uint32_t cid,
					      uint32_t port)
{
	const struct export_spec *spec;

	TAILQ_FOREACH(spec, sections, node)
		if (spec->window.size && export_spec_has_guest(spec, cid, port))
			return spec;
	return NULL;
}

static void sync_one(struct sync *sync, const struct export_spec *spec, uint32_t cid,
		     uint32_t port)
{
	const struct wanted *wanted = wanted_find(cid, port);

	if (!wanted || wanted->terms.size != spec->window.size ||
	    strcmp(wanted->terms.user, spec->window.user))
		text_add(&sync->changes, "window of guest %u:%u: %s wants %llu bytes%s%s", cid, port,
			 spec->file->name, (unsigned long long)spec->window.size,
			 spec->window.user[0] ? " for user " : "", spec->window.user);
	if (!sync->dry && wanted_set(cid, port, spec))
		text_add(&sync->failures, "window of guest %u:%u: out of memory", cid, port);
}

static void sync_sections(struct sync *sync, const struct export_specs *sections)
{
	const struct export_spec *spec;
	struct wanted *wanted, *next;
	uint32_t cid, port;
	size_t i;

	TAILQ_FOREACH(spec, sections, node)
		for (i = 0; spec->window.size && i < spec->nr_guests; i++) {
			cid = spec->guests[i].cid;
			port = spec->guests[i].port;
			if (find_section(sections, cid, port) == spec)
				sync_one(sync, spec, cid, port);
		}
	for (wanted = LIST_FIRST(&all_wanted); wanted; wanted = next) {
		next = LIST_NEXT(wanted, node);
		if (find_section(sections, wanted->cid, wanted->port))
			continue;
		text_add(&sync->changes, "window of guest %u:%u: no file asks for it any more",
			 wanted->cid, wanted->port);
		if (!sync->dry)
			wanted_free(wanted);
	}
}

/* --- windows -------------------------------------------------------------- */

/* Check whether a window is as wanted. @sync: see wanted_make(). */
static bool wanted_fits(struct sync *sync, const struct wanted *wanted,
			const struct vgpu_host_window_stat *stat)
{
	struct answer words;
	uint32_t uid, gid;
	int ret = user_find_owner(wanted->terms.user, &uid, &gid);

	/*
	 * The wanted owner is not known, so the wanted window could not be made. Keep the existing
	 * one, whatever its size and owner, as the guest would have none.
	 */
	if (ret) {
		window_owner_say(&words, ret, wanted->terms.user);
		if (sync)
			text_add(&sync->failures, "%s:%u: [%s]: %s: window %s stays as it is",
				 wanted->origin, wanted->terms.line, wanted->name, words.text,
				 stat->out_name);
		return true;
	}
	return stat->out_bytes == wanted->terms.size && uid == stat->out_uid;
}

/*
 * Check an existing window, and remove it if another or none is wanted. @sync: gets failures;
 * NULL: failures were reported before. Return: true if the window has to be checked again.
 */
static bool wanted_check(struct sync *sync, struct wanted *wanted,
			 const struct vgpu_host_window_stat *stat)
{
	bool automatic = stat->out_flags & VGPU_HOST_WINDOW_AUTOMATIC;
	struct answer words;
	int ret;

	if (wanted)
		wanted->there = true;
	if (wanted ? wanted_fits(sync, wanted, stat) : !automatic)
		return false;
	if (!automatic) {
		if (sync)
			log_warning("window %s was made by hand and stays as it is, although %s asks for a different one",
				    stat->out_name, wanted->origin);
		return false;
	}
	ret = stat->out_opens ? -EBUSY :
	      window_destroy(stat->out_cid, stat->out_port, false, &words);
	if (ret == -EBUSY && sync)
		log_info("window %s stays until nobody uses it: %s", stat->out_name,
			 wanted ? "then it is made anew" : "no file asks for it any more");
	else if (ret && ret != -EBUSY)
		log_error("window %s: %s", stat->out_name, words.text);
	else if (!ret && !wanted)
		log_info("window %s: no file asks for it any more", stat->out_name);
	if (!ret && wanted)
		wanted->there = false;
	return ret == -EBUSY;
}

/* Make a window. @sync: gets a failure, on the first attempt; NULL: failures are not reported. */
static void wanted_make(struct sync *sync, struct wanted *wanted)
{
	const struct window_spec spec = {
		.cid = wanted->cid,
		.port = wanted->port,
		.size = wanted->terms.size,
		.owner = wanted->terms.user,
		.automatic = true,
	};
	struct answer words;
	char path[48];

	if (!window_create(&spec, path, &words))
		log_info("window %s: %s asks for it", path, wanted->origin);
	else if (sync)
		text_add(&sync->failures, "%s:%u: [%s]: %s", wanted->origin, wanted->terms.line,
			 wanted->name, words.text);
}

static void wanted_expired(struct timer *timer);
static struct timer retry = { .expired = wanted_expired };

static void wanted_run(struct sync *sync)
{
	struct vgpu_host_window_stat stat = { 0 };
	struct wanted *wanted;
	bool waits = false;

	LIST_FOREACH(wanted, &all_wanted, node)
		wanted->there = false;
	while (!hostdev_window_next(stat.out_cid, stat.out_port, &stat))
		waits |= wanted_check(sync, wanted_find(stat.out_cid, stat.out_port), &stat);
	LIST_FOREACH(wanted, &all_wanted, node)
		if (!wanted->there)
			wanted_make(sync, wanted);
	timer_cancel(&retry);
	if (waits)
		timer_set(&retry, RETRY_MS);
}

static void wanted_expired(struct timer *timer)
{
	(void)timer;
	wanted_run(NULL);
}

void wanted_again(void)
{
	struct sync sync = { 0 };

	wanted_run(&sync);
	text_log(&sync.failures, log_error);
	text_free(&sync.failures);
}

void wanted_sync(struct sync *sync, const struct export_specs *sections)
{
	sync_sections(sync, sections);
	if (!sync->dry)
		wanted_run(sync);
}
