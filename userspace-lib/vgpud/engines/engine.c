// SPDX-License-Identifier: MIT
/*
 * User-space engines: vgpud starts an engine for each guest, sends it the exports and grants of
 * the guest, and adds up the counters of the engine and its shadows.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "device/device.h"
#include "engine/base/packet.h"
#include "engine/proto.h"
#include "engines/counters.h"
#include "engines/engine.h"
#include "engines/event.h"
#include "engines/master.h"
#include "engines/need.h"
#include "engines/node.h"
#include "engines/page.h"
#include "engines/patience.h"
#include "keeper/keeper.h"
#include "policy.h"
#include "process/pair.h"
#include "process/spawn.h"
#include "shared/log.h"
#include "shared/loop.h"

#define LOCK_FILE	"/run/vgpu/engine.lock"

#define DRM_MAJOR	226

/* Limits of the files of one export: the same as the host module's. */
#define FILES_MAX	512
#define FILES_BYTES_MAX	(1U << 20)

/**
 * struct offer_file - content of a small file of an export's device
 * @node: entry of struct offer's list of files
 * @told: true if vgpud has reported the file since the last VGPU_HOST_FILE_LAST
 * @len: number of bytes in @data
 * @name: name of the file, as in struct vgpu_export_file
 * @data: content of the file
 */
struct offer_file {
	LIST_ENTRY(offer_file) node;
	bool told;
	uint32_t len;
	char name[VGPU_FILE_NAME_LEN];
	uint8_t data[];
};

/**
 * struct offer - an export, as engines know it
 * @node: entry of offers
 * @files: list of the files of the device
 * @number: number of the export
 * @master: true if VGPU_HOST_EXPORT_MASTER is set
 * @no_demand: true if VGPU_HOST_EXPORT_NO_DEMAND is set
 * @rdev: device number of the node
 * @add: description that guests get; its number is not filled in
 */
struct offer {
	LIST_ENTRY(offer) node;
	LIST_HEAD(, offer_file) files;
	uint32_t number;
	bool master;
	bool no_demand;
	dev_t rdev;
	struct vgpu_export_add add;
};

/**
 * struct engine - the engine of a guest
 * @node: entry of engines
 * @number: number of the peer
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @sandbox: sandbox of the guest's programs, which the peer owns
 * @source: pipe by which the engine reports sessions that have ended or may be reaped
 * @agent_fd: vgpud's end of the socket to the engine; -1: the engine is to end
 * @shared: memory shared with the engine and its shadows, see struct engine_shared
 * @shared_fd: file of @shared
 * @shared_read_fd: file of @shared that is open for reading only
 * @guest: state that outlives the engine; NULL: not set yet
 * @shadows: list of the counters of the shadows that run
 * @ended: sums of the counters of shadows that have ended
 * @nodes_fd: directory of the nodes of the guest's exports
 * @pid: process ID of the engine
 */
struct engine {
	LIST_ENTRY(engine) node;
	uint32_t number;
	uint32_t cid;
	uint32_t port;
	struct sandbox *sandbox;
	struct source source;
	int agent_fd;
	struct engine_shared *shared;
	int shared_fd;
	int shared_read_fd;
	struct remembered *guest;
	LIST_HEAD(, shadow_counters) shadows;
	struct engine_counters ended;
	int nodes_fd;
	pid_t pid;
};

static LIST_HEAD(, offer) offers = LIST_HEAD_INITIALIZER(offers);
static LIST_HEAD(, engine) engines = LIST_HEAD_INITIALIZER(engines);
static const struct host_events *events;
static uint32_t last_offer, last_engine;
static int engine_program = -1, shadow_program = -1, faults_fd = -1;

/* --- requirements --------------------------------------------------------------- */

/*
 * Take the lock that lets one vgpud run with engines, and hold it until vgpud ends. Only one
 * process may make nodes, and there is no module that would refuse a second agent.
 */
static int lock_take(void)
{
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600), ret;

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	ret = -errno;
	if (ret == -EWOULDBLOCK)
		log_error("another vgpud is running");
	else
		log_error("%s: %s", LOCK_FILE, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

int engine_init(const struct host_events *handlers)
{
	int ret;

	events = handlers;
	faults_fd = needs_check();
	if (faults_fd < 0)
		return faults_fd;
	engine_program = spawn_program_open("vgpu-engine");
	shadow_program = spawn_program_open("vgpu-engine-shadow");
	if (engine_program < 0 || shadow_program < 0)
		return -ENOENT;
	ret = lock_take();
	return ret ? ret : nodes_init();
}

/* --- exports --------------------------------------------------------------------- */

static struct offer *offer_find(uint32_t number)
{
	struct offer *offer;

	LIST_FOREACH(offer, &offers, node)
		if (offer->number == number)
			return offer;
	return NULL;
}

/*
 * Copy a string. Guests accept only zeros after the end of a string: @to must have been zeroed,
 * since the bytes after the end of @from need not be 0.
 */
#define SET_STRING(to, from) snprintf((char *)(to), sizeof(to), "%s", (const char *)(from))

int engine_export_add(struct vgpu_host_export_add *arg)
{
	struct offer *offer;
	struct stat st;

	if (fstat(arg->path_fd, &st) || !S_ISCHR(st.st_mode))
		return -ENODEV;
	LIST_FOREACH(offer, &offers, node)
		if (!strcmp((const char *)offer->add.name, arg->name))
			return -EEXIST;
	offer = calloc(1, sizeof(*offer));
	if (!offer)
		return -ENOMEM;
	offer->number = ++last_offer;
	offer->master = arg->flags & VGPU_HOST_EXPORT_MASTER;
	offer->no_demand = arg->flags & VGPU_HOST_EXPORT_NO_DEMAND;
	offer->rdev = st.st_rdev;
	offer->add.kind = cpu_to_le32(arg->kind);
	offer->add.device = cpu_to_le64(arg->device);
	offer->add.rdev_major = cpu_to_le32(major(st.st_rdev));
	offer->add.rdev_minor = cpu_to_le32(minor(st.st_rdev));
	offer->add.bus = cpu_to_le32(arg->bus);
	SET_STRING(offer->add.name, arg->name);
	SET_STRING(offer->add.driver, arg->driver);
	SET_STRING(offer->add.path, arg->path);
	SET_STRING(offer->add.bus_id, arg->bus_id);
	memcpy(offer->add.pci_header, arg->pci_header, sizeof(offer->add.pci_header));
	SET_STRING(offer->add.title, arg->title);
	LIST_INSERT_HEAD(&offers, offer, node);
	arg->out_export = offer->number;
	return 0;
}

static struct engine *engine_find(uint32_t number)
{
	struct engine *engine;

	LIST_FOREACH(engine, &engines, node)
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
	/* The process has not been reaped, so the pid is still its own. */
	kill(engine->pid, SIGKILL);
}

/* Send a message to an engine. An engine that does not read its messages is ended. */
static int engine_tell(struct engine *engine, const void *msg, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = len };

	if (engine->agent_fd < 0)
		return -ENODEV;
	if (!packet_send(engine->agent_fd, &iov, 1, fd))
		return 0;
	log_guest(engine->cid, engine->port, "its engine does not listen");
	engine_end(engine);
	return -ENODEV;
}

int engine_revoke(uint32_t peer, uint32_t export)
{
	const struct engine_number msg = { .type = ENGINE_REVOKE, .number = export };
	struct engine *engine = engine_find(peer);

	if (!engine)
		return -ENOENT;
	node_remove(engine->nodes_fd, export);
	masters_end(peer, export);
	return engine_tell(engine, &msg, sizeof(msg), -1);
}

static void offer_file_free(struct offer_file *file)
{
	LIST_REMOVE(file, node);
	free(file);
}

int engine_export_del(uint32_t export)
{
	struct offer *offer = offer_find(export);
	struct offer_file *file;
	struct engine *engine;

	if (!offer)
		return -ENOENT;
	LIST_FOREACH(engine, &engines, node)
		engine_revoke(engine->number, export);
	while ((file = LIST_FIRST(&offer->files)))
		offer_file_free(file);
	LIST_REMOVE(offer, node);
	free(offer);
	return 0;
}

int engine_export_change(uint32_t export, const struct device_change *change)
{
	const struct engine_change msg = {
		.type = ENGINE_CHANGE,
		.export = export,
		.flags = change->flags,
		.connector = change->connector,
		.property = change->property,
		.wedged = change->wedged,
	};
	struct engine *engine;

	LIST_FOREACH(engine, &engines, node)
		engine_tell(engine, &msg, sizeof(msg), -1);
	return 0;
}

/* Send a file of an export with its content, or without if the file is @gone. */
static int file_tell(struct engine *engine, const struct offer *offer,
		     const struct offer_file *file, bool gone)
{
	static struct engine_file msg;

	msg.type = ENGINE_FILE;
	msg.export = offer->number;
	msg.flags = gone ? VGPU_FILE_GONE : 0;
	msg.len = gone ? 0 : file->len;
	memcpy(msg.name, file->name, sizeof(msg.name));
	memcpy(msg.data, file->data, msg.len);
	return engine_tell(engine, &msg, offsetof(struct engine_file, data) + msg.len, -1);
}

static void file_tell_all(const struct offer *offer, const struct offer_file *file, bool gone)
{
	struct engine *engine;

	LIST_FOREACH(engine, &engines, node)
		if (node_exists(engine->nodes_fd, offer->number))
			file_tell(engine, offer, file, gone);
}

/* Handle the end of a list of files: files that were not reported since the last end are gone. */
static int files_end(struct offer *offer)
{
	struct offer_file *file, *next;

	for (file = LIST_FIRST(&offer->files); file; file = next) {
		next = LIST_NEXT(file, node);
		if (!file->told) {
			file_tell_all(offer, file, true);
			offer_file_free(file);
			continue;
		}
		file->told = false;
	}
	return 0;
}

int engine_export_file(const struct vgpu_host_export_file *arg)
{
	struct offer *offer = offer_find(arg->export);
	struct offer_file *file, *old = NULL;
	uint32_t nr = 0, bytes = arg->len;
	const void *data = (const void *)(uintptr_t)arg->data;

	if (!offer)
		return -ENOENT;
	if (arg->flags & VGPU_HOST_FILE_LAST)
		return files_end(offer);
	if (arg->len > VGPU_FILE_MAX || !vgpu_wire_file_name_ok((const uint8_t *)arg->name))
		return -EINVAL;
	LIST_FOREACH(file, &offer->files, node) {
		if (!strcmp(file->name, arg->name)) {
			old = file;
			continue;
		}
		nr++;
		bytes += file->len;
	}
	/* The file exists, also if its new contents cannot be taken: guests keep the old ones. */
	if (old)
		old->told = true;
	if (nr >= FILES_MAX || bytes > FILES_BYTES_MAX)
		return -ENOSPC;
	if (old && old->len == arg->len && !memcmp(old->data, data, arg->len))
		return 0;
	file = calloc(1, sizeof(*file) + arg->len);
	if (!file)
		return -ENOMEM;
	file->told = true;
	file->len = arg->len;
	SET_STRING(file->name, arg->name);
	memcpy(file->data, data, arg->len);
	if (old)
		offer_file_free(old);
	LIST_INSERT_HEAD(&offer->files, file, node);
	file_tell_all(offer, file, false);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Start vgpu-engine-master. Return: the engine's end of the socket to it, or a negative errno. */
static int master_spawn(const struct engine *engine, const struct offer *offer)
{
	int node = node_open(engine->nodes_fd, offer->number), fd;

	if (node < 0)
		return node;
	fd = master_start(engine->number, offer->number, engine->sandbox, node);
	close(node);
	return fd;
}

/*
 * Start the process that makes programs of the guest DRM masters, if the export allows masters.
 * A program that has CAP_SYS_ADMIN in the guest becomes master through this process. Without
 * the process, a file becomes master only if the kernel needs no CAP_SYS_ADMIN for that.
 */
static int master_make(struct engine *engine, const struct offer *offer)
{
	const struct engine_number msg = { .type = ENGINE_MASTER, .number = offer->number };
	int fd, ret;

	if (!offer->master || le32_to_cpu(offer->add.kind) != VGPU_EXPORT_DRM_PRIMARY ||
	    major(offer->rdev) != DRM_MAJOR)
		return 0;
	fd = master_spawn(engine, offer);
	if (fd < 0) {
		log_guest(engine->cid, engine->port,
			  "the guest's programs cannot become DRM master by CAP_SYS_ADMIN: %s",
			  strerror(-fd));
		return 0;
	}
	ret = engine_tell(engine, &msg, sizeof(msg), fd);
	close(fd);
	return ret;
}

int engine_grant(struct vgpu_host_grant *arg)
{
	const uint32_t *ioctls = (const uint32_t *)(uintptr_t)arg->ioctls;
	struct engine *engine = engine_find(arg->peer);
	struct offer *offer = offer_find(arg->export);
	static struct engine_grant msg;
	struct offer_file *file;
	uint32_t i;
	int ret;

	if (!engine || !offer)
		return -ENOENT;
	if (arg->nr_ioctls > VGPU_POLICY_IOCTLS_MAX)
		return -EINVAL;
	ret = node_make(engine->nodes_fd, offer->number, offer->rdev,
			arg->flags & VGPU_HOST_GRANT_READ_ONLY);
	/*
	 * ENGINE_GRANT announces the export, so the guest cannot use it before this.
	 * master_make() fails if the engine has ended.
	 */
	if (!ret)
		ret = master_make(engine, offer);
	if (ret)
		return ret;
	msg.type = ENGINE_GRANT;
	msg.export = offer->number;
	msg.flags = arg->flags;
	msg.master = offer->master;
	msg.no_demand = offer->no_demand;
	msg.add = offer->add;
	msg.deny = arg->ioctls_deny;
	msg.nr_ioctls = arg->nr_ioctls;
	for (i = 0; i < arg->nr_ioctls; i++)
		msg.ioctls[i] = vgpu_ioctl_key(ioctls[i]);
	qsort(msg.ioctls, arg->nr_ioctls, sizeof(msg.ioctls[0]), compare);
	ret = engine_tell(engine, &msg, offsetof(struct engine_grant, ioctls) +
			  arg->nr_ioctls * sizeof(msg.ioctls[0]), -1);
	LIST_FOREACH(file, &offer->files, node)
		if (!ret)
			ret = file_tell(engine, offer, file, false);
	return ret;
}

/* --- engines ----------------------------------------------------------------------- */

static void engine_ready(struct source *source, uint32_t mask)
{
	struct engine *engine = container_of(source, struct engine, source);
	struct engine_number msg;
	ssize_t len;

	(void)mask;
	len = read(source->fd, &msg, sizeof(msg));
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len == sizeof(msg)) {
		if (msg.type == ENGINE_CLOSED)
			events->session_gone(engine->number, msg.number);
		if (msg.type == ENGINE_REAP)
			events->session_may_be_reaped(engine->number, msg.number);
		return;
	}
	/* The engine has ended or sent something else: it only remains to reap it. */
	engine_end(engine);
}

void engine_shadow_ended(pid_t pid)
{
	struct shadow_counters *shadow;
	struct engine *engine;

	LIST_FOREACH(engine, &engines, node)
		LIST_FOREACH(shadow, &engine->shadows, node)
			if (shadow->pid == pid) {
				counters_free(shadow, &engine->ended);
				return;
			}
}

static void engine_free(struct engine *engine)
{
	struct offer *offer;

	if (engine->guest)
		patience_put(engine->guest);
	masters_end(engine->number, 0);
	while (!LIST_EMPTY(&engine->shadows))
		counters_free(LIST_FIRST(&engine->shadows), &engine->ended);

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

static int shared_open(struct engine *engine, const struct vgpu_host_peer_add *arg)
{
	struct vgpu_wire_limits wire;
	char path[32];
	void *memory;
	int ret;

	_Static_assert(sizeof(struct engine_shared) <= PAGE, "one page");
	ret = page_make(&engine->shared_fd, &memory);
	if (ret)
		return ret;
	engine->shared = memory;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", engine->shared_fd);
	engine->shared_read_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (engine->shared_read_fd < 0)
		return -errno;
	vgpu_limits_fill(&engine->shared->limits, &arg->limits, &wire);
	engine->shared->features = arg->features;
	engine->shared->fetch_timeout_ms = settings.fetch_timeout_ms;
	engine->shared->pieces = engine_pieces_max();
	return 0;
}

static int engine_start(struct engine *engine, int sock_fd)
{
	struct spawn_file files[] = {
		{ -1, ENGINE_FD_AGENT },
		{ sock_fd, ENGINE_FD_CONTROL },
		{ engine->shared_fd, ENGINE_FD_SHARED },
		{ SPAWN_FD_PROC, ENGINE_FD_PROC },
		{ -1, ENGINE_FD_SESSIONS },
	};
	const struct spawn_program program = {
		.kind = SPAWN_ENGINE,
		.name = "vgpu-engine",
		.fd = engine_program,
		.at = ENGINE_FD_PROGRAM,
		.files = files,
		.nr_files = sizeof(files) / sizeof(files[0]),
	};
	const struct engine_start start = {
		.type = ENGINE_START,
		.ping_timeout_ms = settings.ping_timeout_ms,
		.features = engine->shared->features,
		.limits = engine->shared->limits,
	};
	struct iovec iov = { .iov_base = (void *)(uintptr_t)&start, .iov_len = sizeof(start) };
	int pair[2], sessions[2], ret;

	ret = pair_make(pair);
	if (ret)
		return ret;
	engine->agent_fd = pair[0];
	if (pipe2(sessions, O_CLOEXEC | O_NONBLOCK)) {
		ret = -errno;
		close(pair[1]);
		return ret;
	}
	/* Each session causes up to three messages: ENGINE_CLOSED twice, and ENGINE_REAP. */
	fcntl(sessions[1], F_SETPIPE_SZ, 1 << 20);
	engine->source.fd = sessions[0];
	engine->source.ready = engine_ready;
	ret = source_add(&engine->source, EPOLLIN);
	if (!ret)
		ret = packet_send(pair[0], &iov, 1, -1);
	files[0].fd = pair[1];
	files[4].fd = sessions[1];
	if (!ret)
		ret = spawn_program(engine->sandbox, &program, &engine->pid);
	close(pair[1]);
	close(sessions[1]);
	return ret;
}

int engine_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int ret;

	if (!engine)
		return -ENOMEM;
	engine->number = ++last_engine;
	engine->cid = arg->cid;
	engine->port = arg->port;
	engine->sandbox = sandbox;
	engine->source.fd = -1;
	engine->agent_fd = -1;
	engine->shared_fd = -1;
	engine->shared_read_fd = -1;
	LIST_INIT(&engine->shadows);
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
	LIST_INSERT_HEAD(&engines, engine, node);
	arg->out_peer = engine->number;
	engine_keeper_came(arg->cid, arg->port);
	return 0;
}

static struct engine *engine_of(uint32_t cid, uint32_t port)
{
	struct engine *engine;

	LIST_FOREACH(engine, &engines, node)
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
		log_guest(engine->cid, engine->port, "its engine could not start (%d)",
			  WEXITSTATUS(status));
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		log_guest(engine->cid, engine->port, "its engine was ended by signal %d%s",
			  WTERMSIG(status), WTERMSIG(status) == SIGSYS ?
			  " (a system call that it may not use)" : "");
}

void engine_reaped(pid_t pid, int status)
{
	struct engine *engine;
	uint32_t number;

	LIST_FOREACH(engine, &engines, node)
		if (engine->pid == pid)
			break;
	if (!engine)
		return;
	log_end(engine, status);
	LIST_REMOVE(engine, node);
	number = engine->number;
	engine_free(engine);
	events->peer_gone(number);
}

int engine_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat)
{
	struct engine *engine = engine_find(peer);
	const struct shadow_counters *shadow;
	struct engine_counters sums;

	if (!engine)
		return -ENOENT;
	sums = engine->ended;
	counters_sum(&sums, &engine->shared->counters);
	LIST_FOREACH(shadow, &engine->shadows, node)
		counters_sum(&sums, shadow->counters);
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

uint64_t engine_owned_bytes(uint32_t peer)
{
	const struct engine *engine = engine_find(peer);

	return engine ? engine->shared->owned_bytes : 0;
}

/* --- shadows ------------------------------------------------------------------------- */

int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions)
{
	const struct engine_number msg = { .type = ENGINE_SESSION, .number = session };
	struct engine *engine = engine_find(peer);
	int pair[2], ret;

	if (!engine)
		return -ENOENT;
	/* The engine's own count lags behind, and the engine is not trusted to count. */
	if (nr_sessions >= settings.limits.sessions) {
		__atomic_add_fetch(&engine->shared->counters.refused, 1, __ATOMIC_RELAXED);
		return -EMFILE;
	}
	ret = pair_open(pair);
	if (ret)
		return ret;
	ret = engine_tell(engine, &msg, sizeof(msg), pair[0]);
	close(pair[0]);
	if (ret) {
		close(pair[1]);
		return ret;
	}
	return pair[1];
}

int engine_spawn_shadow(uint32_t peer, const char *comm, int shadow_fd, pid_t *pid,
			int *lanes_fd)
{
	struct engine *engine = engine_find(peer);
	struct spawn_file files[] = {
		{ shadow_fd, ESHADOW_FD_ENGINE },
		{ -1, ESHADOW_FD_LANES },
		{ engine ? engine->shared_read_fd : -1, ESHADOW_FD_SHARED },
		{ engine ? engine->nodes_fd : -1, ESHADOW_FD_DEVICES },
		{ SPAWN_FD_PROC, ESHADOW_FD_PROC },
		{ faults_fd, ESHADOW_FD_FAULTS },
		{ -1, ESHADOW_FD_COUNTERS },
		{ engine ? engine->guest->fd : -1, ESHADOW_FD_PATIENCE },
	};
	const struct spawn_program program = {
		.kind = SPAWN_ENGINE_SHADOW,
		.name = "vgpu-engine-shadow",
		.comm = comm,
		.fd = shadow_program,
		.at = ESHADOW_FD_PROGRAM,
		.files = files,
		.nr_files = sizeof(files) / sizeof(files[0]),
	};
	struct shadow_counters *shadow;
	int pair[2], ret;
	void *memory;

	if (!engine)
		return -ENODEV;
	shadow = calloc(1, sizeof(*shadow));
	if (!shadow)
		return -ENOMEM;
	ret = page_make(&files[6].fd, &memory);
	if (ret)
		goto err_free;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		goto err_unmap;
	}
	ret = pair_mute(pair);
	if (ret)
		goto err_unmap;
	files[1].fd = pair[1];
	ret = spawn_program(engine->sandbox, &program, pid);
	close(pair[1]);
	if (ret)
		goto err_close;
	close(files[6].fd);
	shadow->pid = *pid;
	shadow->counters = memory;
	LIST_INSERT_HEAD(&engine->shadows, shadow, node);
	*lanes_fd = pair[0];
	return 0;

err_close:
	close(pair[0]);
err_unmap:
	munmap(memory, PAGE);
	close(files[6].fd);
err_free:
	free(shadow);
	return ret;
}
