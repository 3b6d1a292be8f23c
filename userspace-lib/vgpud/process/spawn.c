// SPDX-License-Identifier: MIT
/*
 * Start of the programs of guests: fork, confinement and exec; and their connections and shared
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/packet.h"
#include "process/confine.h"
#include "process/oom.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shadow/layout.h"
#include "shared/log.h"
#include "shared/proto.h"

/* Lowest number of the copies that the child makes of its files, so that none is overwritten. */
#define FD_ASIDE	64

/**
 * struct program - a program of guests
 * @name: argv[0], and the file's name in the directory of the module's shadow
 * @at: number that the program's own file gets; larger than those of its other files
 * @fd: file of the program; -1: not opened
 * @is_roomy: true if pair_open() makes the program's connection
 * @is_mute: true if nothing can be sent to vgpud by the connection. A message could bring files,
 *	which vgpud would have to close, and the last close of a device file may wait for its driver
 */
static struct program {
	const char *name;
	int at;
	int fd;
	bool is_roomy;
	bool is_mute;
} programs[SPAWN_KINDS] = {
	[SPAWN_SHADOW] = { "vgpu-shadow", SHADOW_FD_PROGRAM, -1, false, false },
	[SPAWN_ENGINE] = { "vgpu-engine", ENGINE_FD_PROGRAM, -1, true, true },
	[SPAWN_ENGINE_SHADOW] = { "vgpu-engine-shadow", ESHADOW_FD_PROGRAM, -1, false, true },
	[SPAWN_KEEPER] = { "vgpu-keeper", ENGINE_FD_PROGRAM, -1, true, true },
	[SPAWN_MASTER] = { "vgpu-engine-master", MASTER_FD_PROGRAM, -1, false, false },
};

static int null_fd = -1;

/*
 * Limits of the log for children of each kind that cannot be confined. vgpud and its children
 * share this memory, since a count in a child's own memory would end with the child. Two
 * children that count at the same time may log a line too many or too few.
 */
static struct log_limit *child_limits;

int spawn_init(void)
{
	unsigned int i;

	/* The program is opened now: it does not exist in the empty root directory of a shadow. */
	programs[SPAWN_SHADOW].fd = open(settings.shadow, O_RDONLY | O_CLOEXEC);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (programs[SPAWN_SHADOW].fd < 0 || null_fd < 0)
		return -errno;
	child_limits = mmap(NULL, SPAWN_KINDS * sizeof(*child_limits), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child_limits == MAP_FAILED)
		return -errno;
	for (i = 0; i < SPAWN_KINDS; i++)
		child_limits[i].burst = 1;
	return 0;
}

int spawn_open(enum spawn_kind kind)
{
	struct program *program = &programs[kind];
	const char *slash = strrchr(settings.shadow, '/');
	char path[4096];
	int ret;

	if (program->fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - settings.shadow) + 1 : 0,
		 settings.shadow, program->name);
	program->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (program->fd >= 0)
		return 0;
	ret = -errno;
	log_error("%s: %s: install vgpu again, or give the programs' directory with --shadow or 'program' in [shadow]",
		  path, strerror(-ret));
	return ret;
}

int pair_open(int pair[2])
{
	const int room = 16 << 20;
	unsigned int i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	for (i = 0; i < 2; i++)
		setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return 0;
}

int pair_rest(const int pair[2], int error)
{
	close(pair[0]);
	if (!error)
		return pair[1];
	close(pair[1]);
	return error;
}

/* Make the connection of a program, whose end is pair[0]. Return: 0 or a negative errno. */
static int pair_make(const struct program *program, int pair[2])
{
	int ret = 0;

	if (program->is_roomy)
		ret = pair_open(pair);
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		ret = -errno;
	if (!ret && program->is_mute && shutdown(pair[1], SHUT_RD))
		ret = pair_rest(pair, -errno);
	return ret;
}

int memory_make(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd < 0)
		return -errno;
	if (!fchmod(fd, 0600) && !ftruncate(fd, size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int pages_map(int fd, size_t len, void **memory)
{
	*memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *memory == MAP_FAILED ? -errno : 0;
}

int pages_make(int *fd, size_t len, void **memory)
{
	int ret;

	*fd = memory_make("vgpu-engine", len);
	if (*fd < 0)
		return *fd;
	ret = pages_map(*fd, len, memory);
	if (!ret)
		return 0;
	close(*fd);
	*fd = -1;
	return ret;
}

/*
 * Open /proc on a mount that is not attached, so that its parent directory is itself. A
 * directory of the host's own /proc would lead out of the empty root.
 */
static int proc_open(void)
{
	int fs = syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC), fd = -1, ret;

	if (fs < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "subset", "pid", 0) &&
	    !syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			     MOUNT_ATTR_NOEXEC);
	ret = fd < 0 ? -errno : fd;
	close(fs);
	return ret;
}

/*
 * Copy a file of a program to a number that no file of the program gets. @link: program's end of
 * its connection.
 */
static int file_aside(int fd, int link)
{
	int ret;

	if (fd == SPAWN_FD_LINK)
		fd = link;
	if (fd == SPAWN_FD_PROC) {
		/* place_files() replaces or closes this number. */
		fd = proc_open();
		if (fd < 0)
			return fd;
	}
	ret = fcntl(fd, F_DUPFD_CLOEXEC, FD_ASIDE);
	return ret < 0 ? -errno : ret;
}

/*
 * Put the program's files where it expects them, and close all others except stderr and @oom, which
 * stay open until exec. *@oom: file of oom_open(), or -1; set to its new number.
 */
static int place_files(const struct spawn_program *spawn, int link, int *oom)
{
	const struct program *program = &programs[spawn->kind];
	int aside[SPAWN_FILES_MAX], fd, null, rank = -1, end = program->at + 2;
	unsigned int nr, i;

	for (nr = 0; nr < SPAWN_FILES_MAX && spawn->files[nr].at; nr++) {
		aside[nr] = file_aside(spawn->files[nr].fd, link);
		if (aside[nr] < 0)
			return aside[nr];
	}
	fd = file_aside(program->fd, link);
	if (fd < 0)
		return fd;
	null = file_aside(null_fd, link);
	if (null < 0)
		return null;
	if (*oom >= 0) {
		rank = file_aside(*oom, link);
		if (rank < 0)
			return rank;
		*oom = end++;
	}
	for (i = 0; i < nr; i++)
		if (dup2(aside[i], spawn->files[i].at) < 0)
			return -errno;
	if (dup3(fd, program->at, O_CLOEXEC) < 0)
		return -errno;
	if (dup3(null, program->at + 1, O_CLOEXEC) < 0)
		return -errno;
	if (rank >= 0 && dup3(rank, *oom, O_CLOEXEC) < 0)
		return -errno;
	close(0);
	close(1);
	if (syscall(SYS_close_range, end, ~0U, 0))
		return -errno;
	/* The child can log errors until exec. */
	return fcntl(2, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

/* Check for a shadow. Dead shadows are reaped one by one, apart from vgpud's other children. */
static bool is_shadow(enum spawn_kind kind)
{
	return kind == SPAWN_SHADOW || kind == SPAWN_ENGINE_SHADOW;
}

static void __attribute__((noreturn))
child(const struct sandbox *sandbox, const struct spawn_program *spawn, int link)
{
	const struct program *program = &programs[spawn->kind];
	char *argv[] = { (char *)(uintptr_t)program->name, (char *)(uintptr_t)spawn->comm, NULL };
	char *envp[] = { NULL };
	const char *step;
	int ret, oom = -1;

	/* Both child and parent set the group: the child may exec, or vgpud wait for it, first. */
	step = "process group";
	ret = is_shadow(spawn->kind) && setpgid(0, 0) ? -errno : 0;
	if (!ret) {
		step = "oom_score_adj";
		oom = oom_open();
		ret = oom < -1 ? oom : 0;
	}
	if (!ret) {
		step = "namespaces";
		ret = confine_enter(sandbox);
	}
	if (!ret) {
		step = "files";
		ret = place_files(spawn, link, &oom);
	}
	if (!ret)
		ret = confine_self(sandbox, spawn->kind, oom, &step);
	if (ret) {
		/*
		 * The child can still log here: a seccomp filter, which is the last step, is
		 * not in force.
		 */
		log_within(&child_limits[spawn->kind], sandbox->cid, sandbox->port, LOG_ERR,
			   "%s of guest %u:%u: %s: %s", program->name, sandbox->cid, sandbox->port,
			   step, strerror(-ret));
		_exit(SHADOW_EXIT_CONFINE);
	}
	/* The libc of these programs needs a stderr: /dev/null, not vgpud's terminal or journal. */
	if ((spawn->kind == SPAWN_ENGINE || spawn->kind == SPAWN_KEEPER) &&
	    dup3(program->at + 1, 2, 0) < 0)
		_exit(SHADOW_EXIT_EXEC);
	syscall(SYS_execveat, program->at, "", argv, envp, AT_EMPTY_PATH);
	_exit(SHADOW_EXIT_EXEC);
}

/* Fork, and have the child execute the program. Return: 0 or a negative errno. */
static int child_start(struct sandbox *sandbox, const struct spawn_program *spawn, int link,
		       pid_t *pid)
{
	/*
	 * Each program is the first process of a pid namespace: it sees no other process, and
	 * other processes of its user cannot see it.
	 */
	uint64_t flags = settings.namespaces ? CLONE_NEWPID | CLONE_NEWNS : 0;
	struct clone_args args = { .exit_signal = SIGCHLD };
	long ret;

	ret = sandbox_open(sandbox);
	if (ret)
		return ret;
	if (sandbox->cgroup_fd >= 0) {
		flags |= CLONE_INTO_CGROUP;
		args.cgroup = sandbox->cgroup_fd;
	}
	/* Without a stack in @args, clone3() copies this one, as fork() does. */
	args.flags = flags;
	ret = syscall(SYS_clone3, &args, sizeof(args));
	if (ret == 0)
		child(sandbox, spawn, link);
	if (ret < 0)
		return -errno;
	if (is_shadow(spawn->kind))
		setpgid(ret, ret);
	*pid = ret;
	return 0;
}

int spawn_program(struct sandbox *sandbox, const struct spawn_program *spawn, pid_t *pid)
{
	struct iovec first = spawn->first;
	int pair[2], ret;

	ret = pair_make(&programs[spawn->kind], pair);
	if (ret)
		return ret;
	if (first.iov_base)
		ret = packet_send(pair[1], &first, 1, -1);
	if (!ret)
		ret = child_start(sandbox, spawn, pair[0], pid);
	return pair_rest(pair, ret);
}

int spawn_shadow(struct sandbox *sandbox, const char *comm, int shadow_fd, pid_t *pid,
		 int *lanes_fd)
{
	const struct spawn_program spawn = {
		.kind = SPAWN_SHADOW,
		.comm = comm,
		.files = {
			{ shadow_fd, SHADOW_FD_FILE },
			{ SPAWN_FD_LINK, SHADOW_FD_LANES },
		},
	};

	*lanes_fd = spawn_program(sandbox, &spawn, pid);
	return *lanes_fd < 0 ? *lanes_fd : 0;
}
