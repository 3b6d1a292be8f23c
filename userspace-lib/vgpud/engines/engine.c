// SPDX-License-Identifier: MIT
/* User-space engines: vgpud starts an engine for each guest, and reads its counters. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "engine/base/packet.h"
#include "engines/engine.h"
#include "engines/init.h"
#include "engines/limit.h"
#include "engines/master.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "engines/patience.h"
#include "engines/shadow.h"
#include "engines/tally.h"
#include "keeper/process.h"
#include "policy.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shared/log.h"

struct engine_list all_engines = LIST_HEAD_INITIALIZER(all_engines);
static const struct host_events *events;
static uint32_t last_engine;

void engines_init(const struct host_events *handlers)
{
	events = handlers;
}

struct engine *engine_find(uint32_t number)
{
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		if (engine->number == number)
			return engine;
	return NULL;
}

static void engine_end(struct engine *engine)
{
	if (engine->agent_fd < 0)
		return;
	close(engine->agent_fd);
	engine->agent_fd = -1;
	source_close(&engine->source);
	submissions_give_up(engine);
	/* A child has not been reaped, so the pid is still its own. */
	sandbox_kill(engine->sandbox, engine->pid, engine->lasting.end.fd);
	/*
	 * The engine ends only when it has left the kernel, where it may wait for a lock that a
	 * shadow's thread holds: so end the shadows now, and not when the engine is reaped.
	 */
	events->peer_ends(engine->number);
}

int engine_tell(struct engine *engine, const void *msg, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = len };

	if (engine->agent_fd < 0)
		return -ENODEV;
	if (!packet_send(engine->agent_fd, &iov, 1, fd))
		return 0;
	log_guest(engine->cid, engine->port, "its engine does not receive messages");
	engine_end(engine);
	return -ENODEV;
}

static void engine_ready(struct source *source, uint32_t mask)
{
	struct engine *engine = container_of(source, struct engine, source);
	struct engine_number msg;
	ssize_t len;

	(void)mask;
	len = read(source->fd, &msg, sizeof(msg));
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len == sizeof(msg) && lasting_hear(engine, &msg))
		return;
	if (len == sizeof(msg) && (msg.type == ENGINE_SUBMIT || msg.type == ENGINE_SUBMITTED)) {
		if (submissions_hear(engine, &msg))
			return;
		log_guest(engine->cid, engine->port,
			  "its engine takes turns at devices that it does not have");
		engine_end(engine);
		return;
	}
	/* An engine that a guest has taken over must not keep vgpud busy. */
	if (len == sizeof(msg) && engine->reports) {
		engine->reports--;
		if (msg.type == ENGINE_CLOSED)
			events->session_gone(engine->number, msg.number);
		if (msg.type == ENGINE_REAP)
			events->session_may_be_reaped(engine->number, msg.number);
		return;
	}
	if (len == sizeof(msg))
		log_guest(engine->cid, engine->port,
			  "its engine reports the end of more sessions than it has");
	/* The engine has ended or sent something else: it only remains to reap it. */
	engine_end(engine);
}

/* Sum up the counters of the engine and its shadows. */
static struct engine_counters engine_sums(const struct engine *engine)
{
	struct engine_counters sums = engine->ended;
	const struct shadow_counters *shadow;

	counters_sum(&sums, &engine->shared->counters);
	LIST_FOREACH(shadow, &engine->shadows, node)
		counters_sum(&sums, &shadow->counts->counters);
	return sums;
}

/* Add the counters of the engine and its shadows to those of the guest's earlier engines. */
static void totals_add(const struct engine *engine, struct guest_totals *totals)
{
	const struct engine_counters sums = engine_sums(engine);
	struct vgpu_host_use now = { 0 }, most = { 0 };
	const struct shadow_counters *shadow;
	__u64 delayed = engine->delayed;

	LIST_FOREACH(shadow, &engine->shadows, node)
		counters_use(shadow, &now, &most, &delayed);
	counters_sum(&totals->counters, &sums);
	totals->delayed += delayed;
	totals->queued += engine->submitter.queued;
}

void engine_free(struct engine *engine)
{
	struct offer *offer;

	lasting_end(engine);
	masters_end(engine->number, 0);
	if (engine->guest)
		engine->guest->totals.device_ns = submissions_used(engine);
	submissions_end(engine);
	while (!LIST_EMPTY(&engine->shadows))
		counters_free(LIST_FIRST(&engine->shadows), engine);
	if (engine->guest) {
		totals_add(engine, &engine->guest->totals);
		patience_put(engine->guest);
	}

	if (engine->nodes_fd >= 0)
		LIST_FOREACH(offer, &offers, node)
			node_remove(engine->nodes_fd, offer->number);
	nodes_close(engine->nodes_fd, engine->cid, engine->port);
	source_close(&engine->source);
	if (engine->agent_fd >= 0)
		close(engine->agent_fd);
	if (engine->shared_fd >= 0)
		close(engine->shared_fd);
	if (engine->shared_read_fd >= 0)
		close(engine->shared_read_fd);
	if (engine->shared)
		munmap(engine->shared, PAGE);
	free(engine);
}

int engine_share(struct engine *engine)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", engine->shared_fd);
	engine->shared_read_fd = open(path, O_RDONLY | O_CLOEXEC);
	return engine->shared_read_fd < 0 ? -errno : 0;
}

static int shared_open(struct engine *engine, const struct vgpu_host_peer_add *arg)
{
	struct vgpu_host_limits limits;
	struct vgpu_wire_limits wire;
	void *memory;
	int ret;

	_Static_assert(sizeof(struct engine_shared) <= PAGE, "one page");
	ret = pages_make(&engine->shared_fd, PAGE, &memory);
	if (ret)
		return ret;
	engine->shared = memory;
	ret = engine_share(engine);
	if (ret)
		return ret;
	vgpu_limits_fill(&limits, &arg->limits, &wire);
	engine_limits_init(engine->shared, &limits);
	engine->shared->features = arg->features;
	engine->shared->fetch_timeout_ms = settings.fetch_timeout_ms;
	engine->shared->pieces = engine_pieces_max();
	engine->shared->patience_us = patience_whole(arg->cid, arg->port);
	return 0;
}

int engine_listen(struct engine *engine, int fd)
{
	engine->source.fd = fd;
	engine->source.ready = engine_ready;
	return source_add(&engine->source, EPOLLIN);
}

static int engine_start(struct engine *engine, int sock_fd)
{
	struct engine_start start = {
		.type = ENGINE_START,
		.ping_timeout_ms = settings.ping_timeout_ms,
		.features = engine->shared->features,
		.limits = engine->shared->limits,
	};
	struct spawn_program spawn = {
		.kind = SPAWN_ENGINE,
		.first = { &start, sizeof(start) },
		.files = {
			{ SPAWN_FD_LINK, ENGINE_FD_AGENT },
			{ sock_fd, ENGINE_FD_CONTROL },
			{ engine->shared_fd, ENGINE_FD_SHARED },
			{ SPAWN_FD_PROC, ENGINE_FD_PROC },
			{ -1, ENGINE_FD_SESSIONS },
		},
	};
	int sessions[2], ret;

	if (pipe2(sessions, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	/* The pipe has room for the reports (ENGINE_REPORTS) of many sessions. */
	fcntl(sessions[1], F_SETPIPE_SZ, 1 << 20);
	spawn.files[4].fd = sessions[1];
	ret = engine_listen(engine, sessions[0]);
	if (!ret)
		ret = spawn_program(engine->sandbox, &spawn, &engine->pid);
	close(sessions[1]);
	if (ret < 0)
		return ret;
	engine->agent_fd = ret;
	return 0;
}

struct engine *engine_alloc(uint32_t cid, uint32_t port, struct sandbox *sandbox)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return NULL;
	engine->cid = cid;
	engine->port = port;
	engine->sandbox = sandbox;
	engine->source.fd = -1;
	engine->agent_fd = -1;
	engine->shared_fd = -1;
	engine->shared_read_fd = -1;
	LIST_INIT(&engine->shadows);
	share_init(&engine->share);
	submissions_init(engine, engine_tell);
	lasting_init(engine);
	engine->nodes_fd = -1;
	return engine;
}

void engine_begin(struct engine *engine, uint32_t number)
{
	engine->number = number ? number : ++last_engine;
	if (last_engine < number)
		last_engine = number;
	LIST_INSERT_HEAD(&all_engines, engine, node);
}

int engine_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox)
{
	struct engine *engine = engine_alloc(arg->cid, arg->port, sandbox);
	int ret;

	if (!engine)
		return -ENOMEM;
	engine->nodes_fd = nodes_open(arg->cid, arg->port);
	ret = engine->nodes_fd < 0 ? engine->nodes_fd : shared_open(engine, arg);
	if (!ret)
		ret = patience_get(arg->cid, arg->port, &engine->guest);
	if (!ret)
		ret = engine_start(engine, arg->sock_fd);
	if (ret) {
		engine_free(engine);
		return ret;
	}
	engine_begin(engine, 0);
	arg->out_peer = engine->number;
	lasting_hold(engine, arg->features);
	engine_keeper_came(arg->cid, arg->port);
	return 0;
}

static struct engine *engine_of(uint32_t cid, uint32_t port)
{
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		if (engine->cid == cid && engine->port == port)
			return engine;
	return NULL;
}

void engine_keeper_came(uint32_t cid, uint32_t port)
{
	const struct engine_number msg = { .type = ENGINE_KEEPER };
	struct engine *engine = engine_of(cid, port);
	int fd;

	if (!engine || !(engine->shared->features & VGPU_FEATURE_WINDOW))
		return;
	fd = keeper_connect(cid, port);
	if (fd < 0)
		return;
	engine_tell(engine, &msg, sizeof(msg), fd);
	close(fd);
}

void engine_window_stat(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat)
{
	const struct engine *engine = engine_of(cid, port);

	if (!engine)
		return;
	stat->out_bindings = engine->shared->nr_bindings;
	stat->out_bound_bytes = engine->shared->bound_bytes;
}

int engine_peer_del(uint32_t peer)
{
	struct engine *engine = engine_find(peer);

	if (!engine)
		return -ENOENT;
	engine_end(engine);
	return 0;
}

/*
 * Log the end of an engine unless it was expected: the end of its guest, or SIGKILL from vgpud.
 */
static void log_end(const struct engine *engine, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status))
		log_guest(engine->cid, engine->port, "its engine could not start (exit status %d)",
			  WEXITSTATUS(status));
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		log_guest(engine->cid, engine->port, "its engine was ended by signal %d%s",
			  WTERMSIG(status), WTERMSIG(status) == SIGSYS ?
			  " (a forbidden system call)" : "");
}

void engine_gone(struct engine *engine)
{
	const uint32_t number = engine->number;

	LIST_REMOVE(engine, node);
	engine_free(engine);
	events->peer_gone(number);
}

void engine_reaped(pid_t pid, int status)
{
	struct engine *engine;

	/* An adopted engine is no child, so its pid may be the pid of another process by now. */
	LIST_FOREACH(engine, &all_engines, node)
		if (engine->pid == pid && engine->lasting.end.fd < 0)
			break;
	if (!engine)
		return;
	log_end(engine, status);
	engine_gone(engine);
}

int engine_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat)
{
	struct engine *engine = engine_find(peer);
	struct engine_counters sums;

	if (!engine)
		return -ENOENT;
	sums = engine_sums(engine);
	stat->out_sessions = engine->shared->nr_sessions;
	stat->out_lanes = engine->shared->nr_lanes;
	stat->out_objects = engine->shared->nr_objects;
	stat->out_mappings = engine->shared->nr_mappings;
	stat->out_calls = sums.calls;
	stat->out_round_trips = sums.calls + sums.upcalls;
	stat->out_bytes_in = sums.bytes_in;
	stat->out_bytes_out = sums.bytes_out;
	stat->out_fetched_pages = sums.fetched_pages;
	stat->out_written_pages = sums.written_pages;
	stat->out_fetch_timeouts = sums.fetch_timeouts;
	stat->out_refused = sums.refused;
	stat->out_malformed = sums.malformed;
	stat->out_stray_fds = sums.stray_fds;
	stat->out_cancels = sums.cancels;
	stat->out_kept_bytes = engine->shared->kept_bytes;
	patience_stat(engine->guest, stat);
	return 0;
}

int engine_peer_use(struct vgpu_host_peer_use *use)
{
	const struct engine *engine = engine_find(use->peer);
	const struct shadow_counters *shadow;
	const struct engine_shared *shared;

	if (!engine)
		return -ENOENT;
	shared = engine->shared;
	use->out_now = (struct vgpu_host_use) {
		.sessions = shared->nr_sessions,
		.objects = shared->nr_objects,
		.all_mappings = shared->nr_mappings,
		.mapped_bytes = shared->mapped_bytes,
		.kept_bytes = shared->kept_bytes,
	};
	use->out_most = shared->most;
	use->out_delayed = engine->delayed;
	use->out_queued = engine->submitter.queued;
	use->out_device_ns = submissions_used(engine) + engine_sums(engine).device_ns;
	use->out_most.all_pages = patience_most_pages(engine->guest);
	use->out_most.lanes = engine->most.lanes;
	use->out_most.pages = engine->most.pages;
	use->out_most.mappings = engine->most.mappings;
	LIST_FOREACH(shadow, &engine->shadows, node)
		counters_use(shadow, &use->out_now, &use->out_most, &use->out_delayed);
	return 0;
}

uint64_t engine_owned_bytes(uint32_t peer)
{
	const struct engine *engine = engine_find(peer);

	return engine ? engine->shared->owned_bytes : 0;
}

int engine_session_stat(uint32_t peer, pid_t pid, struct vgpu_host_session_stat *stat)
{
	const struct engine *engine = engine_find(peer);

	return engine ? tallies_session(engine, pid, stat) : -ENOENT;
}

int engine_guest_stat(struct vgpu_host_guest_stat *stat)
{
	struct vgpu_host_tally *tallies = (struct vgpu_host_tally *)(uintptr_t)stat->tallies;
	const struct remembered *guest;
	static struct guest_totals totals;
	const struct engine *engine;

	guest = patience_find(stat->cid, stat->port, stat->flags & VGPU_HOST_GUEST_NEXT);
	if (!guest)
		return -ENOENT;
	engine = engine_of(guest->cid, guest->port);
	totals = guest->totals;
	if (engine) {
		totals.device_ns = submissions_used(engine);
		totals_add(engine, &totals);
	}
	stat->out_cid = guest->cid;
	stat->out_port = guest->port;
	stat->out_nr = tallies_fill(&guest->totals, engine, tallies, stat->nr);
	stat->out_peer = engine ? engine->number : 0;
	stat->out_connections = totals.connections;
	stat->out_calls = totals.counters.calls;
	stat->out_round_trips = totals.counters.calls + totals.counters.upcalls;
	stat->out_bytes_in = totals.counters.bytes_in;
	stat->out_bytes_out = totals.counters.bytes_out;
	stat->out_fetched_pages = totals.counters.fetched_pages;
	stat->out_written_pages = totals.counters.written_pages;
	stat->out_fetch_timeouts = totals.counters.fetch_timeouts;
	stat->out_refused = totals.counters.refused;
	stat->out_malformed = totals.counters.malformed;
	stat->out_stray_fds = totals.counters.stray_fds;
	stat->out_cancels = totals.counters.cancels;
	stat->out_delayed = totals.delayed;
	stat->out_queued = totals.queued;
	stat->out_device_ns = totals.counters.device_ns + totals.device_ns;
	return 0;
}
