// SPDX-License-Identifier: MIT
/* Start of the programs of guests: fork, confinement and exec. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/config.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "process/namespace.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shadow/layout.h"
#include "shared/log.h"

/* Lowest number of the copies that the child makes of its files, so that none is overwritten. */
#define FD_ASIDE	64

static int program_fd = -1, null_fd = -1;

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
	program_fd = open(settings.shadow, O_RDONLY | O_CLOEXEC);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (program_fd < 0 || null_fd < 0)
		return -errno;
	child_limits = mmap(NULL, SPAWN_KINDS * sizeof(*child_limits), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child_limits == MAP_FAILED)
		return -errno;
	for (i = 0; i < SPAWN_KINDS; i++)
		child_limits[i].burst = 1;
	return 0;
}

int spawn_program_open(const char *name)
{
	char path[4096];
	const char *slash = strrchr(settings.shadow, '/');
	int fd;

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - settings.shadow) + 1 : 0,
		 settings.shadow, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		log_error("%s: %s", path, strerror(errno));
	return fd < 0 ? -errno : fd;
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

static int file_aside(int fd)
{
	int proc, ret;

	if (fd != SPAWN_FD_PROC) {
		ret = fcntl(fd, F_DUPFD_CLOEXEC, FD_ASIDE);
		return ret < 0 ? -errno : ret;
	}
	proc = proc_open();
	if (proc < 0)
		return proc;
	ret = fcntl(proc, F_DUPFD_CLOEXEC, FD_ASIDE);
	ret = ret < 0 ? -errno : ret;
	close(proc);
	return ret;
}

/* Put the program's files where it expects them, and close all others except stderr. */
static int place_files(const struct spawn_program *program)
{
	int aside[SPAWN_FILES_MAX], fd, null;
	unsigned int i;

	for (i = 0; i < program->nr_files; i++) {
		aside[i] = file_aside(program->files[i].fd);
		if (aside[i] < 0)
			return aside[i];
	}
	fd = file_aside(program->fd);
	if (fd < 0)
		return fd;
	null = file_aside(null_fd);
	if (null < 0)
		return null;
	for (i = 0; i < program->nr_files; i++)
		if (dup2(aside[i], program->files[i].at) < 0)
			return -errno;
	if (dup3(fd, program->at, O_CLOEXEC) < 0)
		return -errno;
	if (dup3(null, program->at + 1, O_CLOEXEC) < 0)
		return -errno;
	close(0);
	close(1);
	if (syscall(SYS_close_range, program->at + 2, ~0U, 0))
		return -errno;
	/* Stderr stays open until exec, for errors. */
	return fcntl(2, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

/* Check for a shadow. Dead shadows are reaped one by one, apart from vgpud's other children. */
static bool is_shadow(const struct spawn_program *program)
{
	return program->kind == SPAWN_SHADOW || program->kind == SPAWN_ENGINE_SHADOW;
}

static void __attribute__((noreturn))
child(const struct sandbox *sandbox, const struct spawn_program *program)
{
	char *argv[] = { (char *)(uintptr_t)program->name, (char *)(uintptr_t)program->comm, NULL };
	char *envp[] = { NULL };
	const char *step;
	int ret;

	/* Both child and parent set the group: the child may exec, or vgpud wait for it, first. */
	step = "process group";
	ret = is_shadow(program) && setpgid(0, 0) ? -errno : 0;
	if (!ret) {
		step = "namespaces";
		ret = confine_enter(sandbox);
	}
	if (!ret) {
		step = "files";
		ret = place_files(program);
	}
	if (!ret)
		ret = confine_self(sandbox, program->kind, &step);
	if (ret) {
		/*
		 * The child can still log here: a seccomp filter, which is the last step, is
		 * not in force.
		 */
		log_within(&child_limits[program->kind], sandbox->cid, sandbox->port, LOG_ERR,
			   "%s of guest %u:%u: %s: %s", program->name, sandbox->cid, sandbox->port,
			   step, strerror(-ret));
		_exit(SHADOW_EXIT_CONFINE);
	}
	/* Their libc needs a stderr: not vgpud's terminal or journal, but /dev/null. */
	if ((program->kind == SPAWN_ENGINE || program->kind == SPAWN_KEEPER) &&
	    dup3(program->at + 1, 2, 0) < 0)
		_exit(SHADOW_EXIT_EXEC);
	syscall(SYS_execveat, program->at, "", argv, envp, AT_EMPTY_PATH);
	_exit(SHADOW_EXIT_EXEC);
}

int spawn_program(struct sandbox *sandbox, const struct spawn_program *program, pid_t *pid)
{
	/*
	 * Each program is the first process of a pid namespace: it sees no other process, and
	 * other processes of its user cannot see it.
	 */
	uint64_t flags = settings.namespaces ? CLONE_NEWPID | CLONE_NEWNS : 0;
	struct clone_args args = { .exit_signal = SIGCHLD };
	long ret;

	ret = namespaces_open(sandbox->namespaces);
	if (ret)
		return ret;
	if (cgroup_used()) {
		ret = cgroup_open(sandbox);
		if (ret < 0)
			return ret;
		flags |= CLONE_INTO_CGROUP;
		args.cgroup = ret;
	}
	/* Without a stack in @args, clone3() copies this one, as fork() does. */
	args.flags = flags;
	ret = syscall(SYS_clone3, &args, sizeof(args));
	if (ret == 0)
		child(sandbox, program);
	if (ret < 0)
		return -errno;
	if (is_shadow(program))
		setpgid(ret, ret);
	*pid = ret;
	return 0;
}

int spawn_shadow(struct sandbox *sandbox, const char *comm, int shadow_fd, pid_t *pid,
		 int *lanes_fd)
{
	struct spawn_file files[] = {
		{ shadow_fd, SHADOW_FD_FILE }, { -1, SHADOW_FD_LANES },
	};
	const struct spawn_program program = {
		.kind = SPAWN_SHADOW,
		.name = "vgpu-shadow",
		.comm = comm,
		.fd = program_fd,
		.at = SHADOW_FD_PROGRAM,
		.files = files,
		.nr_files = sizeof(files) / sizeof(files[0]),
	};
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	files[1].fd = pair[1];
	ret = spawn_program(sandbox, &program, pid);
	close(pair[1]);
	if (ret)
		close(pair[0]);
	else
		*lanes_fd = pair[0];
	return ret;
}
