// SPDX-License-Identifier: MIT
/*
 * Keepers: the sockets of windows, to which the hypervisors of guests connect, and the processes,
 * one for each hypervisor that is connected.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/packet.h"
#include "keeper/keeper.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/vfio.h"

/* Time in milliseconds between one accepted connection of a hypervisor and the next. */
#define PAUSE_MS	1000
/* Size of the window of a keeper that shows nothing: a device must have some memory. */
#define MEMORY_WINDOW	(1U << 20)
#define NESTED_FILE	"/sys/module/kvm_intel/parameters/nested"
/* Directory that shows that sysfs is there: without it, a missing NESTED_FILE proves nothing. */
#define NESTED_SYSFS	"/sys/module"

/**
 * struct keeper - the window of a guest
 * @node: entry of keepers, which is sorted by @cid and @port
 * @cid: the guest's context ID
 * @port: vsock port of vgpud by which the guest connects
 * @size: size of the window in bytes
 * @uid: user who may connect to the socket
 * @gid: group that the socket belongs to
 * @flags: VGPU_HOST_WINDOW_*
 * @path: path of the socket
 * @source: socket on which vgpud listens; its fd is -1 once the window was destroyed
 * @pause: timer during which connections wait; it keeps a hypervisor that connects again and
 *	again, or one that has to wait for free file numbers, from keeping vgpud busy
 * @sandbox: user, namespaces and control group of the keeper
 * @pid: process ID of the keeper until it is reaped; 0: there is none
 * @hypervisor: process ID of the last peer that connected to the socket; 0: not known
 * @agent_fd: vgpud's end of the connection to the keeper; -1: none, or the keeper is to end
 * @state_fd: file of one byte, in which the keeper sets KEEPER_STATE_*; -1 if @agent_fd is -1
 */
struct keeper {
	LIST_ENTRY(keeper) node;
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	uint32_t uid;
	uint32_t gid;
	uint32_t flags;
	char path[64];
	struct source source;
	struct timer pause;
	struct sandbox sandbox;
	pid_t pid;
	pid_t hypervisor;
	int agent_fd;
	int state_fd;
};

static LIST_HEAD(, keeper) keepers = LIST_HEAD_INITIALIZER(keepers);
/* True if keepers show device memory: engines serve the guests. */
static bool keepers_show;
static void (*came)(uint32_t cid, uint32_t port);

void keepers_init(bool engines, void (*on_connect)(uint32_t cid, uint32_t port))
{
	keepers_show = engines;
	came = on_connect;
}

/* Compare the guest of a keeper with another one, for the order of the list. */
static int keeper_compare(const struct keeper *keeper, uint32_t cid, uint32_t port)
{
	if (keeper->cid != cid)
		return keeper->cid < cid ? -1 : 1;
	return keeper->port == port ? 0 : keeper->port < port ? -1 : 1;
}

struct keeper *keeper_find(uint32_t cid, uint32_t port)
{
	struct keeper *keeper;

	/* A destroyed window stays in the list until its keeper has ended. */
	LIST_FOREACH(keeper, &keepers, node)
		if (keeper->source.fd >= 0 && !keeper_compare(keeper, cid, port))
			return keeper;
	return NULL;
}

struct keeper *keeper_connected(uint32_t cid, uint32_t port)
{
	struct keeper *keeper = keeper_find(cid, port);

	return keeper && keeper->agent_fd >= 0 ? keeper : NULL;
}

/* Check for Linux 6.13 and later, whose KVM keeps no pages of device memory that is taken away. */
static bool kernel_is_new(void)
{
	unsigned int major, minor;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 13));
}

int nested_check(void)
{
	char value;
	ssize_t len;
	int fd;

	if (kernel_is_new())
		return 0;
	fd = open(NESTED_FILE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && !access(NESTED_SYSFS, F_OK) ? 0 : -EPERM;
	len = read(fd, &value, 1);
	close(fd);
	return len == 1 && (value == 'N' || value == '0') ? 0 : -EPERM;
}

/* Close the connection to the keeper. Return: true if it was open. */
static bool keeper_leave(struct keeper *keeper)
{
	if (keeper->agent_fd < 0)
		return false;
	close(keeper->agent_fd);
	close(keeper->state_fd);
	keeper->agent_fd = -1;
	keeper->state_fd = -1;
	return true;
}

/* End the process. keeper_reaped() is called later. */
static void keeper_end(struct keeper *keeper)
{
	/* The process has not been reaped, so its ID is still its own. */
	if (keeper_leave(keeper))
		kill(keeper->pid, SIGKILL);
}

/*
 * Check whether the hypervisor, process @pid, has a device of VFIO open, and log it. Such a
 * device keeps access to what was mapped once, even if the driver takes the memory away.
 *
 * SO_PEERCRED gives @pid: if that process has ended, another process may have its number and is
 * checked instead. Linux 6.5 has pidfds of peers, which would avoid this race. The check finds
 * mistakes of a setup; a hypervisor that hides its file is not stopped.
 */
static bool keeper_beside_vfio(const struct keeper *keeper, pid_t pid)
{
	char name[VFIO_NAME];

	if (!pid || !vfio_of_process(pid, name))
		return false;
	log_guest(keeper->cid, keeper->port,
		  "its hypervisor cannot have a window: process %d also has a VFIO device, %s: "
		  "give the guest either a VFIO device or a window ('Beside other things in one machine' in Documentation/admin/window.rst)",
		  pid, name);
	return true;
}

static int keeper_tell(struct keeper *keeper, const struct keeper_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) };
	int ret = packet_send(keeper->agent_fd, &iov, 1, fd);

	if (ret) {
		log_guest(keeper->cid, keeper->port, "its keeper does not receive messages");
		keeper_end(keeper);
	}
	return ret;
}

int keeper_connect(uint32_t cid, uint32_t port)
{
	const struct keeper_msg msg = { .type = KEEPER_ENGINE };
	struct keeper *keeper = keeper_connected(cid, port);
	int pair[2];

	if (!keeper)
		return -1;
	/*
	 * QEMU connects before it makes its devices, and the guest starts after that. The
	 * hypervisor is therefore checked again here.
	 */
	if (keeper_beside_vfio(keeper, keeper->hypervisor))
		return -1;
	if (pair_open(pair))
		return -1;
	return pair_rest(pair, keeper_tell(keeper, &msg, pair[0]));
}

void keeper_memory_give(uint32_t cid, uint32_t port, int fd)
{
	const struct keeper_msg msg = { .type = KEEPER_MEMORY };
	struct keeper *keeper = keeper_connected(cid, port);

	if (keeper)
		keeper_tell(keeper, &msg, fd);
}

/* Start the process for a hypervisor, whose connection is @qemu_fd. Return: 0 or -errno. */
static int keeper_start(struct keeper *keeper, int qemu_fd)
{
	struct keeper_msg start = { .type = KEEPER_START, .len = keeper->size };
	struct spawn_program spawn = {
		.kind = SPAWN_KEEPER,
		.first = { &start, sizeof(start) },
		.files = {
			{ SPAWN_FD_LINK, KEEPER_FD_AGENT },
			{ qemu_fd, KEEPER_FD_QEMU },
			{ -1, KEEPER_FD_STATE },
		},
	};
	int state, agent;

	/* The window's ID is random, so no earlier window had it, and it is never 0. */
	if (!sandbox_take_user(&keeper->sandbox) ||
	    getrandom(&start.id, sizeof(start.id), 0) != sizeof(start.id))
		return -EAGAIN;
	start.id |= 1;
	/* The size is sealed against a keeper that a hypervisor took over. */
	state = memory_make("vgpu-keeper", 1);
	if (state < 0)
		return state;
	spawn.files[2].fd = state;
	agent = spawn_program(&keeper->sandbox, &spawn, &keeper->pid);
	if (agent < 0) {
		close(state);
		return agent;
	}
	keeper->agent_fd = agent;
	keeper->state_fd = state;
	return 0;
}

/* Return the reason of a keeper's end in words, or NULL if an administrator need not know it. */
static const char *end_reason(const struct keeper *keeper, int status)
{
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == SIGSYS)
			return "its keeper made a forbidden system call";
		if (WTERMSIG(status) != SIGKILL)
			return "its keeper has crashed";
		/* vgpud closes the connection before it kills a keeper. */
		return keeper->agent_fd < 0 ? NULL :
			"its keeper was killed, perhaps because its control group ran out of memory";
	}
	switch (WEXITSTATUS(status)) {
	case EXIT_SUCCESS:
		return NULL;
	case KEEPER_EXIT_FEATURES:
		return "QEMU 11.1 or later is needed for a window, with config_size=32 in the device's line";
	case KEEPER_EXIT_PROTOCOL:
		return "its hypervisor has violated the vhost-user protocol";
	case KEEPER_EXIT_SILENT:
		return "its hypervisor did not answer a request for the window";
	default:
		return "its keeper has failed";
	}
}

static void log_end(const struct keeper *keeper, int status)
{
	const char *reason = end_reason(keeper, status);

	if (reason)
		log_guest(keeper->cid, keeper->port,
			  "%s (%s %d): %s until its hypervisor connects again", reason,
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			  keepers_show ? "it has no window" :
			  "devices cannot keep its memory");
	else
		log_limited(keeper->cid, keeper->port, "its hypervisor has disconnected from its window");
}

/* Free a keeper without a process. */
static void keeper_free(struct keeper *keeper)
{
	sandbox_close(&keeper->sandbox);
	free(keeper);
}

void keeper_reaped(pid_t pid, int status)
{
	struct keeper *keeper;

	LIST_FOREACH(keeper, &keepers, node)
		if (keeper->pid == pid)
			break;
	if (!keeper)
		return;
	log_end(keeper, status);
	keeper_leave(keeper);
	keeper->pid = 0;
	sandbox_return_user(&keeper->sandbox);
	/* The window was destroyed. */
	if (keeper->source.fd < 0) {
		LIST_REMOVE(keeper, node);
		keeper_free(keeper);
	}
}

/*
 * Check whether a new keeper may show device memory. nested_check() runs again because KVM's
 * module may have been reloaded since the window was made. With the host module, a keeper shows
 * nothing and only reports where memory is, so it needs no check.
 */
static bool keeper_may_show(const struct keeper *keeper, pid_t pid)
{
	if (!keepers_show)
		return true;
	if (nested_check()) {
		log_guest(keeper->cid, keeper->port,
			  "its hypervisor cannot have a window: " NESTED_ADVICE);
		return false;
	}
	return !keeper_beside_vfio(keeper, pid);
}

/* Return the process ID of the peer, or 0 if its process is not visible in this pid namespace. */
static pid_t peer_process(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.pid;
}

static void keeper_let_in(struct keeper *keeper, int fd)
{
	pid_t pid = peer_process(fd);
	int ret;

	if (!keeper_may_show(keeper, pid))
		return;
	ret = keeper_start(keeper, fd);
	if (ret) {
		sandbox_return_user(&keeper->sandbox);
		log_guest(keeper->cid, keeper->port, "the keeper of its window cannot start: %s",
			  strerror(-ret));
		return;
	}
	keeper->hypervisor = pid;
	log_limited(keeper->cid, keeper->port, "a hypervisor has connected to its window");
	came(keeper->cid, keeper->port);
}

static void keeper_ready(struct source *source, uint32_t events)
{
	struct keeper *keeper = container_of(source, struct keeper, source);
	int fd;

	(void)events;
	fd = source_accept(source, &keeper->pause, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		if (keeper->pause.set)
			log_guest(keeper->cid, keeper->port,
				  "vgpud cannot accept the connection of its hypervisor at the moment: %s%s",
				  strerror(errno),
				  errno == EMFILE ? " (raise LimitNOFILE of vgpud.service)" : "");
		return;
	}
	source_set(&keeper->source, 0);
	timer_set(&keeper->pause, PAUSE_MS);
	if (keeper->pid)
		log_guest(keeper->cid, keeper->port, "refused a second hypervisor: another one is connected to its window");
	else
		keeper_let_in(keeper, fd);
	close(fd);
}

static void keeper_paused(struct timer *timer)
{
	struct keeper *keeper = container_of(timer, struct keeper, pause);

	source_set(&keeper->source, EPOLLIN);
}

static int keeper_listen(struct keeper *keeper)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	memcpy(addr.sun_path, keeper->path, sizeof(keeper->path));
	keeper->pause.expired = keeper_paused;
	keeper->source.ready = keeper_ready;
	keeper->source.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (keeper->source.fd < 0)
		return -errno;
	/* Remove the socket that a vgpud that died may have left. */
	unlink(keeper->path);
	/* No peer can connect before the socket has its owner: it does not listen yet. */
	if (bind(keeper->source.fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(keeper->path, 0600) || chown(keeper->path, keeper->uid, keeper->gid) ||
	    listen(keeper->source.fd, 4))
		ret = -errno;
	else
		ret = source_add(&keeper->source, EPOLLIN);
	if (ret) {
		close(keeper->source.fd);
		unlink(keeper->path);
	}
	return ret;
}

static void keeper_list(struct keeper *keeper)
{
	struct keeper *other, *last = NULL;

	LIST_FOREACH(other, &keepers, node)
		if (keeper_compare(other, keeper->cid, keeper->port) < 0)
			last = other;
	if (last)
		LIST_INSERT_AFTER(last, keeper, node);
	else
		LIST_INSERT_HEAD(&keepers, keeper, node);
}

int keeper_window_create(struct vgpu_host_window_create *arg)
{
	struct keeper *keeper;
	int ret;

	if (keeper_find(arg->cid, arg->port))
		return -EEXIST;
	ret = spawn_open(SPAWN_KEEPER);
	if (ret)
		return ret;
	keeper = calloc(1, sizeof(*keeper));
	if (!keeper)
		return -ENOMEM;
	keeper->cid = arg->cid;
	keeper->port = arg->port;
	keeper->size = arg->bytes;
	keeper->uid = arg->uid;
	keeper->gid = arg->gid;
	keeper->flags = arg->flags;
	keeper->agent_fd = -1;
	keeper->state_fd = -1;
	sandbox_init(&keeper->sandbox, arg->cid, arg->port, true);
	snprintf(arg->out_name, sizeof(arg->out_name), "window-%u-%u", arg->cid, arg->port);
	snprintf(keeper->path, sizeof(keeper->path), KEEPER_DIR "/%s", arg->out_name);
	ret = keeper_listen(keeper);
	if (ret) {
		free(keeper);
		return ret;
	}
	keeper_list(keeper);
	return 0;
}

int keeper_memory_create(const struct vgpu_host_window_create *window)
{
	struct vgpu_host_window_create arg = *window;

	arg.bytes = MEMORY_WINDOW;
	return keeper_window_create(&arg);
}

int keeper_window_destroy(uint32_t cid, uint32_t port, bool force)
{
	struct keeper *keeper = keeper_find(cid, port);

	if (!keeper)
		return -ENOENT;
	/* A hypervisor that loses the window does not get it back. */
	if (keeper->pid && !force)
		return -EBUSY;
	timer_cancel(&keeper->pause);
	source_close(&keeper->source);
	unlink(keeper->path);
	if (keeper->pid) {
		keeper_end(keeper);
		return 0;
	}
	LIST_REMOVE(keeper, node);
	keeper_free(keeper);
	return 0;
}

int keeper_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat)
{
	struct keeper *keeper;

	LIST_FOREACH(keeper, &keepers, node)
		if (keeper->source.fd >= 0 && keeper_compare(keeper, cid, port) > 0)
			break;
	if (!keeper)
		return -ENOENT;
	stat->out_cid = keeper->cid;
	stat->out_port = keeper->port;
	stat->out_bytes = keeper->size;
	stat->out_opens = keeper->pid ? 1 : 0;
	stat->out_uid = keeper->uid;
	stat->out_flags = keeper->flags;
	snprintf(stat->out_name, sizeof(stat->out_name), "window-%u-%u", keeper->cid,
		 keeper->port);
	return 0;
}

bool keeper_memory_has(uint32_t cid, uint32_t port, uint8_t states)
{
	const struct keeper *keeper = keeper_connected(cid, port);
	uint8_t found;

	return keeper && pread(keeper->state_fd, &found, sizeof(found), 0) == sizeof(found) &&
	       (found & states);
}

pid_t keeper_hypervisor(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_connected(cid, port);

	return keeper ? keeper->hypervisor : 0;
}

const char *keeper_memory_path(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_find(cid, port);

	return keeper ? keeper->path : NULL;
}
