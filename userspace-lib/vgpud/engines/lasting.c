// SPDX-License-Identifier: MIT
/*
 * Engines that outlive vgpud. The holder (process/holder.h) has vgpud's ends of all connections of
 * an engine, and what vgpud knows of it. The next vgpud gets all of that from the holder, and
 * nothing from engines, which it cannot trust.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/config.h"
#include "config/guests.h"
#include "engines/engine.h"
#include "engines/lasting.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "engines/patience.h"
#include "engines/shadow.h"
#include "process/held.h"
#include "process/holder.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shared/log.h"

/* Parts of the notes of an engine, whose key is 0, and of a session. */
enum {
	PART_PEER	= 0,	/* struct peer_note; or struct session_note of a session */
	PART_ENGINE	= 1,	/* struct engine_note, with the pidfd */
	PART_AGENT	= 2,
	PART_REPORTS	= 3,
	PART_SHARED	= 4,
	PART_NODES	= 5,
	PART_PATIENCE	= 6,
	PART_COUNTERS	= 1,	/* of a session: its counters */
	PART_DEVICE	= 16,	/* and the next ENGINE_DEVICES: struct device_note */
};

struct engine_note {
	uint32_t cid;
	uint32_t port;
	int32_t pid;
	uint32_t reserved;
};

struct device_note {
	uint64_t number;
	uint64_t rdev;
};

/* Note of an offer, of peer 0, whose key is the offer's number. */
struct offer_note {
	uint64_t rdev;
	uint32_t master;
	uint32_t no_demand;
	struct vgpu_export_add add;
};

static uint32_t last_offer;

/* --- for the next vgpud --------------------------------------------------------------------- */

void lasting_init(struct engine *engine)
{
	engine->lasting.end.fd = -1;
	LIST_INIT(&engine->lasting.stale);
}

void lasting_end(struct engine *engine)
{
	struct stale_grant *stale;

	while ((stale = LIST_FIRST(&engine->lasting.stale))) {
		LIST_REMOVE(stale, node);
		free(stale);
	}
	source_close(&engine->lasting.end);
}

void lasting_hold(struct engine *engine, uint64_t features)
{
	const struct engine_note note = {
		.cid = engine->cid, .port = engine->port, .pid = engine->pid,
	};
	const struct { uint32_t part; int fd; } files[] = {
		{ PART_AGENT, engine->agent_fd },
		{ PART_REPORTS, engine->source.fd },
		{ PART_SHARED, engine->shared_fd },
		{ PART_NODES, engine->nodes_fd },
		{ PART_PATIENCE, engine->guest->fd },
		{ HOLDER_PART_GROUP, engine->sandbox->cgroup_fd },
	};
	unsigned int i;
	int pidfd;

	if (!settings.lasting || features & (VGPU_FEATURE_WINDOW | VGPU_FEATURE_KEEP))
		return;
	/* The engine is a child that was not reaped, so the pid is its own. */
	pidfd = syscall(SYS_pidfd_open, engine->pid, 0);
	if (pidfd < 0) {
		log_seldom("a guest cannot be kept for another vgpud: %s", strerror(errno));
		return;
	}
	held_keep(engine->number, 0, PART_ENGINE, &note, sizeof(note), pidfd);
	close(pidfd);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].fd >= 0)
			held_keep(engine->number, 0, files[i].part, "", 0, files[i].fd);
	engine->lasting.lasts = true;
}

void lasting_stop(struct engine *engine)
{
	if (engine->lasting.lasts)
		held_forget_all(engine->number);
	engine->lasting.lasts = false;
}

void lasting_hold_device(const struct engine *engine, uint32_t index, uint64_t number, dev_t rdev)
{
	const struct device_note note = { .number = number, .rdev = rdev };

	if (engine->lasting.lasts)
		held_keep(engine->number, 0, PART_DEVICE + index, &note, sizeof(note), -1);
}

void lasting_hold_shadow(const struct engine *engine, uint64_t session, int counters_fd)
{
	if (engine->lasting.lasts)
		held_keep(engine->number, session, PART_COUNTERS, "", 0, counters_fd);
}

void lasting_note(uint32_t peer, uint64_t key, const void *data, size_t len, int fd)
{
	const struct engine *engine = engine_find(peer);

	if (!len)
		held_forget(peer, key);
	else if (engine && engine->lasting.lasts)
		held_keep(peer, key, PART_PEER, data, len, fd);
}

void lasting_close(void)
{
	held_end();
}

/* --- guests of an earlier vgpud ------------------------------------------------------------- */

bool lasting_open(void)
{
	const struct held *held;
	int ret;

	if (!settings.lasting) {
		held_drop();
		return false;
	}
	ret = held_open();
	if (ret) {
		log_warning("'lasting = yes' has no effect: the process that keeps guests for another vgpud cannot be started: %s",
			    strerror(-ret));
		settings.lasting = false;
	}
	for (held = held_next(0, 0, 0); held && !held->peer;
	     held = held_next(0, held->key + 1, 0))
		last_offer = held->key;
	return held_any();
}

int lasting_note_find(uint32_t *peer, uint64_t *key, void *data, size_t *len, int *fd)
{
	/* The notes of peer 0 are those of exports. */
	struct held *held = held_next(*peer ? *peer : 1, *peer ? *key : 0, PART_PEER);

	while (held && held->part != PART_PEER)
		held = held_next(held->peer, held->key, held->part + 1);
	if (!held || held->len > *len)
		return -ENOENT;
	*peer = held->peer;
	*key = held->key;
	*len = held->len;
	memcpy(data, held->data, held->len);
	*fd = held_take(held);
	return 0;
}

/* Handle the end of an engine of an earlier vgpud. */
static void adopted_ended(struct source *source, uint32_t events)
{
	(void)events;
	engine_gone(container_of(source, struct engine, lasting.end));
}

/* Find the exports that the engine has by now: those whose nodes exist. Return: 0 or -errno. */
static int find_stale(struct engine *engine)
{
	struct stale_grant *stale;
	const struct held *held;

	for (held = held_next(0, 0, 0); held && !held->peer;
	     held = held_next(0, held->key + 1, 0)) {
		if (!node_exists(engine->nodes_fd, held->key))
			continue;
		stale = calloc(1, sizeof(*stale));
		if (!stale)
			return -ENOMEM;
		stale->export = held->key;
		LIST_INSERT_HEAD(&engine->lasting.stale, stale, node);
	}
	return 0;
}

/* Give the engine's devices the numbers that it knows. Return: 0 or a negative errno. */
static int adopt_devices(struct engine *engine, uint32_t number)
{
	const struct device_note *note;
	const struct held *held;
	uint32_t i;
	int ret;

	for (i = 0; i < ENGINE_DEVICES; i++) {
		held = held_find(number, 0, PART_DEVICE + i);
		if (!held)
			return 0;
		note = held->data;
		ret = held->len == sizeof(*note) ?
		      submissions_grant(engine, note->number, note->rdev) : -EINVAL;
		if (ret < 0)
			return ret;
		if ((uint32_t)ret != i)
			return -EINVAL;
	}
	return 0;
}

/* Take the files of an engine, which are closed with it. Return: 0 or a negative errno. */
static int adopt_files(struct engine *engine, uint32_t number)
{
	void *memory;
	int ret;

	engine->lasting.end.fd = held_take(held_find(number, 0, PART_ENGINE));
	engine->lasting.end.ready = adopted_ended;
	engine->agent_fd = held_take(held_find(number, 0, PART_AGENT));
	engine->nodes_fd = held_take(held_find(number, 0, PART_NODES));
	engine->shared_fd = held_take(held_find(number, 0, PART_SHARED));
	ret = engine_listen(engine, held_take(held_find(number, 0, PART_REPORTS)));
	if (ret)
		return ret;
	if (engine->lasting.end.fd < 0 || engine->agent_fd < 0 || engine->nodes_fd < 0 ||
	    engine->shared_fd < 0)
		return -EBADF;
	ret = pages_map(engine->shared_fd, PAGE, &memory);
	if (ret)
		return ret;
	engine->shared = memory;
	ret = engine_share(engine);
	if (!ret)
		ret = patience_adopt(engine->cid, engine->port,
				     held_take(held_find(number, 0, PART_PATIENCE)),
				     &engine->guest);
	if (!ret)
		ret = find_stale(engine);
	/* The engine asks for its turns again. */
	__atomic_store_n(&engine->shared->permits, 0, __ATOMIC_RELAXED);
	if (!ret)
		ret = adopt_devices(engine, number);
	return ret ? ret : source_add(&engine->lasting.end, EPOLLIN);
}

int lasting_adopt(uint32_t number, struct sandbox *sandbox)
{
	const struct engine_number adopt = { .type = ENGINE_ADOPT };
	const struct held *held = held_find(number, 0, PART_ENGINE);
	const struct engine_note *note = held ? held->data : NULL;
	struct engine *engine;
	int ret;

	if (!held || held->len != sizeof(*note) || note->cid != sandbox->cid ||
	    note->port != sandbox->port)
		return -ENOENT;
	engine = engine_alloc(note->cid, note->port, sandbox);
	if (!engine)
		return -ENOMEM;
	engine->pid = note->pid;
	ret = adopt_files(engine, number);
	if (ret) {
		log_guest(note->cid, note->port, "cannot be taken over from an earlier vgpud: %s",
			  strerror(-ret));
		engine_free(engine);
		return ret;
	}
	engine->lasting.lasts = true;
	engine->lasting.settles = true;
	/* Sessions that have ended may have reports that no vgpud has read yet. */
	engine->reports = (uint64_t)ENGINE_REPORTS *
			  guest_limits(engine->cid, engine->port).host.sessions;
	engine_begin(engine, number);
	/* An engine that has ended is handled by adopted_ended(). */
	engine_tell(engine, &adopt, sizeof(adopt), -1);
	return 0;
}

int lasting_adopt_shadow(uint32_t peer, uint64_t session, pid_t pid)
{
	const struct engine_number check = { .type = ENGINE_CHECK, .number = session };
	struct engine *engine = engine_find(peer);
	int fd, ret;

	if (!engine)
		return -ENOENT;
	fd = held_take(held_find(peer, session, PART_COUNTERS));
	if (fd < 0)
		return -ENOENT;
	ret = counters_adopt(engine, pid, fd);
	close(fd);
	if (ret)
		return ret;
	/* The engine may have reported the end of the session to the earlier vgpud alone. */
	engine->reports += ENGINE_REPORTS + 1;
	engine_tell(engine, &check, sizeof(check), -1);
	return 0;
}

bool lasting_hear(struct engine *engine, const struct engine_number *msg)
{
	if (!engine->lasting.settles)
		return false;
	switch (msg->type) {
	case ENGINE_ADOPTED:
		engine->lasting.settles = false;
		return true;
	case ENGINE_SUBMIT:
	case ENGINE_SUBMITTED:
		/* The engine asks again after ENGINE_ADOPTED. */
		submissions_ignore(engine);
		return true;
	}
	return false;
}

/* Forget notes that lack those that belong to them: vgpud was killed before it had made these. */
static void forget_parts(void)
{
	const struct held *held;

	for (held = held_next(1, 0, 0); held; held = held_next(held->peer, held->key, held->part + 1)) {
		if (!engine_find(held->peer))
			held_forget_all(held->peer);
		else if (held->key && !held_find(held->peer, held->key, PART_PEER))
			held_forget(held->peer, held->key);
	}
}

void lasting_settle(void)
{
	struct stale_grant *stale, *next;
	struct engine *engine;
	const struct held *held;

	LIST_FOREACH(engine, &all_engines, node)
		LIST_FOREACH_SAFE(stale, &engine->lasting.stale, node, next) {
			engine_revoke(engine->number, stale->export, false);
			LIST_REMOVE(stale, node);
			free(stale);
		}
	forget_parts();
	/* lasting_offer() has marked the notes of exports that are offered again. */
	for (held = held_next(0, 0, 0); held && !held->peer;
	     held = held_next(0, held->key + 1, 0))
		if (held->len)
			held_forget(0, held->key);
	held_let_go();
}

/* --- exports -------------------------------------------------------------------------------- */

/* Take an export from all guests that have it of an earlier vgpud. */
static void revoke_stale(uint32_t export)
{
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		engine_revoke(engine->number, export, false);
}

/* Find the number that an offer had for an earlier vgpud; 0: none. */
static uint32_t offer_held(const struct offer_note *note)
{
	const struct offer_note *old;
	struct held *held;

	for (held = held_next(0, 0, 0); held && !held->peer;
	     held = held_next(0, held->key + 1, 0)) {
		old = held->data;
		if (held->len != sizeof(*old) ||
		    memcmp(old->add.name, note->add.name, sizeof(note->add.name)))
			continue;
		if (!memcmp(old, note, sizeof(*note))) {
			held->len = 0;
			return held->key;
		}
		/* Guests know devices by name: the old one goes before the new one comes. */
		revoke_stale(held->key);
	}
	return 0;
}

void lasting_offer(struct offer *offer)
{
	struct offer_note note = {
		.rdev = offer->rdev,
		.master = offer->master,
		.no_demand = offer->no_demand,
		.add = offer->add,
	};

	_Static_assert(sizeof(note) <= VGPU_HOST_NOTE_MAX, "a note");
	offer->number = offer_held(&note);
	if (!offer->number)
		offer->number = ++last_offer;
	if (settings.lasting)
		held_keep(0, offer->number, 0, &note, sizeof(note), -1);
}

void lasting_offer_gone(uint32_t number)
{
	held_forget(0, number);
}

void lasting_granted(struct engine *engine, uint32_t export)
{
	struct stale_grant *stale, *next;

	LIST_FOREACH_SAFE(stale, &engine->lasting.stale, node, next)
		if (stale->export == export) {
			LIST_REMOVE(stale, node);
			free(stale);
		}
}
