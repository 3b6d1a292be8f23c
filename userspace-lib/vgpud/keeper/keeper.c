// SPDX-License-Identifier: MIT
/*
 * Keepers: their list, and the sockets of windows, to which the hypervisors of guests connect. Also
 * the check whether nested VMX could keep pages of a window.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "keeper/keeper.h"
#include "keeper/process.h"
#include "process/spawn.h"
#include "shared/log.h"

/* Time in milliseconds between one accepted connection of a hypervisor and the next. */
#define PAUSE_MS	1000
/* Size of the window of a keeper that shows nothing: a device must have some memory. */
#define MEMORY_WINDOW	(1U << 20)
#define NESTED_FILE	"/sys/module/kvm_intel/parameters/nested"
/* Directory that shows that sysfs is there: without it, a missing NESTED_FILE proves nothing. */
#define NESTED_SYSFS	"/sys/module"

struct keeper_list keepers = LIST_HEAD_INITIALIZER(keepers);
static void (*came)(uint32_t cid, uint32_t port);

void keepers_init(bool engines, void (*on_connect)(uint32_t cid, uint32_t port))
{
	keepers_show = engines;
	came = on_connect;
	/*
	 * The program is opened now, because that of a later version may take its place before
	 * a guest gets a window. A failure is logged, and fails keeper_window_create().
	 */
	spawn_open(SPAWN_KEEPER);
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

/*
 * Check whether a new keeper may show device memory. nested_check() runs again because KVM's
 * module may have been reloaded since the window was made. With the host module, a keeper shows
 * nothing and only reports where memory is, so it needs no check.
 */
static bool keeper_may_show(const struct keeper *keeper, const struct ucred *hypervisor)
{
	if (!keepers_show)
		return true;
	if (nested_check()) {
		log_guest(keeper->cid, keeper->port,
			  "its hypervisor cannot have a window: " NESTED_ADVICE);
		return false;
	}
	return !keeper_beside_vfio(keeper, hypervisor);
}

/*
 * Return the process and the user of the peer. The process ID is 0 if the process is not visible in
 * this pid namespace.
 */
static struct ucred peer_process(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		peer = (struct ucred){ 0 };
	return peer;
}

static void keeper_let_in(struct keeper *keeper, int fd)
{
	struct ucred hypervisor = peer_process(fd);
	int ret;

	if (!keeper_may_show(keeper, &hypervisor))
		return;
	ret = keeper_start(keeper, fd);
	if (ret) {
		sandbox_return_user(&keeper->sandbox);
		log_guest(keeper->cid, keeper->port, "the keeper of its window cannot start: %s",
			  strerror(-ret));
		return;
	}
	keeper->hypervisor = hypervisor;
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
	unixsock_refuse_files(keeper->source.fd);
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

	return keeper ? keeper->hypervisor.pid : 0;
}

const char *keeper_memory_path(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_find(cid, port);

	return keeper ? keeper->path : NULL;
}
