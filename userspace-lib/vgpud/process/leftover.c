// SPDX-License-Identifier: MIT
/* Processes that have outlived the vgpud that made them, by their control groups. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rights.h"
#include "process/cgroup.h"
#include "process/hierarchy.h"
#include "process/leftover.h"
#include "process/sandbox.h"
#include "shared/log.h"
#include "shared/loop.h"

/* Time in milliseconds for which killed processes may go on: a driver may be slow to let go. */
#define CLEAR_MS	10000
#define STEP_MS		20

/* Most processes of one group that are killed one by one in one step. */
#define PIDS_MAX	1024
/* Most bytes that are read of a file of a group. */
#define TEXT_MAX	65536

/* Read the IDs of a group's processes. Return: text, which the next call replaces. */
static const char *group_processes(int dir_fd)
{
	static char text[TEXT_MAX];
	int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	size_t done = 0;
	ssize_t len = 1;

	while (fd >= 0 && len > 0 && done < sizeof(text) - 1) {
		len = read(fd, text + done, sizeof(text) - 1 - done);
		done += len > 0 ? len : 0;
	}
	if (fd >= 0)
		close(fd);
	text[done] = '\0';
	return text;
}

bool group_is_populated(int events_fd)
{
	char text[256];
	ssize_t len = pread(events_fd, text, sizeof(text) - 1, 0);

	text[len < 0 ? 0 : len] = '\0';
	return strstr(text, "populated 1");
}

int group_events(int fd)
{
	return openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
}

bool group_has_processes(int fd)
{
	int events = group_events(fd);
	bool has;

	/* No file: the group was removed. For lack of memory or of files, it counts as used. */
	if (events < 0)
		return errno != ENOENT && errno != ENODEV;
	has = group_is_populated(events);
	close(events);
	return has;
}

void group_kill(int fd)
{
	/* The kernel checks rights to the file alone, so this needs no CAP_KILL. */
	group_write(fd, "cgroup.kill", "1");
}

static int group_find(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Kill all processes of a group and of those below it. Return: 1 if there were any, else 0. */
static unsigned int group_clear(int dir_fd, const char *name)
{
	int fd = group_find(dir_fd, name);
	bool any = fd >= 0 && group_has_processes(fd);

	if (any)
		group_kill(fd);
	if (fd >= 0)
		close(fd);
	return any;
}

unsigned int group_kill_some(int fd, uint32_t uid, bool (*keeps)(pid_t pid, const void *data),
			     const void *data)
{
	int pids[PIDS_MAX], fds[PIDS_MAX], pid, len;
	unsigned int nr = 0, i, found = 0;
	const char *at = group_processes(fd);

	for (; nr < PIDS_MAX && sscanf(at, "%d%n", &pid, &len) == 1; at += len) {
		if (keeps && keeps(pid, data))
			continue;
		fds[nr] = syscall(SYS_pidfd_open, pid, 0);
		if (fds[nr] >= 0)
			pids[nr++] = pid;
	}
	/* A process may have ended before its pidfd was made, and its number be another one's. */
	at = group_processes(fd);
	for (; sscanf(at, "%d%n", &pid, &len) == 1; at += len)
		for (i = 0; i < nr; i++)
			if (pids[i] == pid) {
				process_end(pid, fds[i], uid);
				found++;
			}
	for (i = 0; i < nr; i++)
		close(fds[i]);
	return found;
}

/* Call a function for each child of a group. */
static void children_each(int fd, void (*visit)(int fd, const char *name, void *data), void *data)
{
	int copy = group_find(fd, ".");
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			visit(fd, entry->d_name, data);
	closedir(dir);
}

/*
 * Kill the processes of a group that is no guest's, and not that of the holder, which keeps guests
 * for the next vgpud. @data: number of groups that had some.
 */
static void other_clear(int fd, const char *name, void *data)
{
	unsigned int *nr = data;

	if (strncmp(name, CGROUP_GUEST "-", strlen(CGROUP_GUEST "-")) &&
	    strcmp(name, CGROUP_HOLDER))
		*nr += group_clear(fd, name);
}

static bool is_self(pid_t pid, const void *data)
{
	(void)data;
	return pid == getpid();
}

/* Kill what is to be killed below the unit's group. Return: the number of groups that had some. */
static unsigned int unit_clear(int unit, bool keep)
{
	unsigned int nr = group_kill_some(unit, 0, is_self, NULL);
	int all;

	nr += group_clear(unit, HIERARCHY_AGENT);
	if (!keep)
		return nr + group_clear(unit, HIERARCHY_GUESTS);
	/* Keepers serve the vgpud that made them. */
	all = group_find(unit, HIERARCHY_GUESTS);
	if (all < 0)
		return nr;
	children_each(all, other_clear, &nr);
	close(all);
	return nr;
}

int leftover_clear(bool keep)
{
	uint64_t end = now_ms() + CLEAR_MS;
	int unit = hierarchy_unit();
	unsigned int nr;

	if (unit < 0) {
		log_error("--clear is for ExecStopPost= of vgpud.service: its processes are not those that a shell may end");
		return unit;
	}
	while ((nr = unit_clear(unit, keep)) && now_ms() < end)
		usleep(STEP_MS * 1000);
	close(unit);
	if (!nr)
		return 0;
	log_warning("processes of guests do not end, as a driver is in a call of theirs");
	return -EBUSY;
}

/*
 * Take a lock, which lasts as long as this process, and which its children do not have. Return:
 * false if another vgpud has it.
 */
static bool lock_groups(int all)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	static int fd = -1;

	/* A close of any file of the same inode would end the lock. Nothing else opens this one. */
	if (fd < 0)
		fd = openat(all, "cgroup.max.depth", O_RDWR | O_CLOEXEC);
	return fd >= 0 && !fcntl(fd, F_SETLK, &lock);
}

/**
 * struct visit - arguments of leftover_each()
 * @found: see there
 * @data: see there
 */
struct visit {
	void (*found)(const struct sandbox *left, int fd, void *data);
	void *data;
};

static void left_visit(int all, const char *name, void *data)
{
	const bool guest = !strncmp(name, CGROUP_GUEST "-", strlen(CGROUP_GUEST "-"));
	const struct visit *visit = data;
	struct sandbox left;
	uint32_t cid, port;
	int fd;

	if (sscanf(name, guest ? CGROUP_GUEST "-%" SCNu32 "-%" SCNu32 :
		   CGROUP_KEEPER "-%" SCNu32 "-%" SCNu32, &cid, &port) != 2)
		return;
	fd = group_find(all, name);
	if (fd < 0)
		return;
	if (group_has_processes(fd)) {
		sandbox_init(&left, cid, port, !guest);
		left.uid = cgroup_user(fd);
		visit->found(&left, fd, visit->data);
	}
	close(fd);
}

void leftover_each(void (*found)(const struct sandbox *left, int fd, void *data), void *data)
{
	struct visit visit = { .found = found, .data = data };
	int all = cgroup_all();

	if (all < 0)
		return;
	if (lock_groups(all))
		children_each(all, left_visit, &visit);
	else
		log_warning("another vgpud has guests in the same control groups, so processes that an earlier vgpud has left are not ended");
}
