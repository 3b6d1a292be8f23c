// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "config.h"
#include "confine.h"
#include "log.h"
#include "peer.h"
#include "shadow/layout.h"
#include "spawn.h"

/* Above this the child moves its files first, so that none overwrites another. */
#define FD_ASIDE	64

static int program_fd = -1;

int spawn_init(void)
{
	/* Opened now: a shadow's own root directory will be empty. */
	program_fd = open(settings.shadow, O_RDONLY | O_CLOEXEC);
	if (program_fd < 0)
		return -errno;
	return confine_init();
}

/* Puts the shadow's files where it expects them, and closes all others but stderr. */
static int place_files(int shadow_fd, int lanes_fd)
{
	int shadow = fcntl(shadow_fd, F_DUPFD_CLOEXEC, FD_ASIDE);
	int lanes = fcntl(lanes_fd, F_DUPFD_CLOEXEC, FD_ASIDE);
	int program = fcntl(program_fd, F_DUPFD_CLOEXEC, FD_ASIDE);

	if (shadow < 0 || lanes < 0 || program < 0)
		return -errno;
	if (dup2(shadow, SHADOW_FD_FILE) < 0 || dup2(lanes, SHADOW_FD_LANES) < 0 ||
	    dup3(program, SHADOW_FD_PROGRAM, O_CLOEXEC) < 0)
		return -errno;
	close(0);
	close(1);
	if (syscall(SYS_close_range, SHADOW_FD_PROGRAM + 1, ~0U, 0))
		return -errno;
	/* Stderr stays for what goes wrong until exec. */
	return fcntl(2, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

static void __attribute__((noreturn))
child(const struct peer *peer, const char *comm, int shadow_fd, int lanes_fd)
{
	char *argv[] = { (char *)(uintptr_t)"vgpu-shadow", (char *)(uintptr_t)comm, NULL };
	char *envp[] = { NULL };
	const char *step;
	int ret;

	step = "namespaces";
	ret = confine_enter(peer);
	if (!ret) {
		step = "files";
		ret = place_files(shadow_fd, lanes_fd);
	}
	if (!ret)
		ret = confine_self(peer, &step);
	if (ret) {
		/* A filter that is on already would end the process here. */
		log_error("shadow of guest %u:%u: %s: %s", peer->cid, peer->port, step,
			  strerror(-ret));
		_exit(SHADOW_EXIT_CONFINE);
	}
	syscall(SYS_execveat, SHADOW_FD_PROGRAM, "", argv, envp, AT_EMPTY_PATH);
	_exit(SHADOW_EXIT_EXEC);
}

int spawn_shadow(struct peer *peer, const char *comm, int shadow_fd, pid_t *pid, int *lanes_fd)
{
	/*
	 * Each shadow is the first process of a pid namespace: it sees no other
	 * process, and no other of its user's can see it.
	 */
	uint64_t flags = settings.namespaces ? CLONE_NEWPID | CLONE_NEWNS : 0;
	struct clone_args args = { .exit_signal = SIGCHLD };
	int pair[2];
	long ret;

	ret = confine_namespaces_open(peer->namespaces);
	if (ret)
		return ret;
	if (settings.cgroups) {
		ret = cgroup_open(peer);
		if (ret < 0)
			return ret;
		flags |= CLONE_INTO_CGROUP;
		args.cgroup = ret;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;

	/* As fork() does, with flags: no stack, so the child has a copy of this one. */
	args.flags = flags;
	ret = syscall(SYS_clone3, &args, sizeof(args));
	if (ret == 0)
		child(peer, comm, shadow_fd, pair[1]);
	close(pair[1]);
	if (ret < 0) {
		ret = -errno;
		close(pair[0]);
		return ret;
	}
	*pid = ret;
	*lanes_fd = pair[0];
	return 0;
}
