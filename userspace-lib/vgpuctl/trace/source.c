// SPDX-License-Identifier: MIT
/*
 * The kernel's tracing (tracefs). Each run of the command has an instance of its own: a buffer,
 * filters and a switch that nothing else shares. The directory of the instance is named after the
 * process. A process that was killed leaves its instance behind, switched on, until the command
 * is run again.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgpuctl/trace/trace.h"
#include "vgpuctl/vgpuctl.h"

#define TRACEFS		"/sys/kernel/tracing"
#define INSTANCES	TRACEFS "/instances"
#define PREFIX		"vgpuctl-"

/* Size of the buffer of each processor in KiB: some thousand calls. */
#define BUFFER_KB	"2048"

static const struct {
	const char *module;
	const char *event;
} sides[] = {
	[TRACE_SIDE_GUEST] = { "vgpu_guest", "events/vgpu_guest/vgpu_file_call" },
	[TRACE_SIDE_HOST] = { "vgpu_host", "events/vgpu_host/vgpu_host_file_call" },
};

/* Write to a file of the instance. Return: 0 or a negative errno. */
static int source_write(const struct trace_source *source, const char *name, int flags,
			const char *text)
{
	char path[sizeof(source->path) + 64];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/%s", source->path, name);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Write to a file of the event. Return: 0 or a negative errno. */
static int event_write(const struct trace_source *source, const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", sides[source->side].event, name);
	return source_write(source, path, 0, text);
}

/* Return true if a process of that number runs vgpuctl. */
static bool is_vgpuctl(const char *pid)
{
	char path[64], comm[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, "vgpuctl");
}

/* Remove instances of processes that are gone. The kernel keeps one that a process reads. */
static void remove_left(void)
{
	DIR *dir = opendir(INSTANCES);
	const struct dirent *entry;
	const char *pid;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		pid = entry->d_name + strlen(PREFIX);
		if (!is_vgpuctl(pid))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

static int open_failed_why(int error)
{
	if (error == EACCES || (error == EPERM && geteuid()))
		return fail(EXIT_DENIED, "only root may trace: run it with sudo");
	if (error == EPERM)
		return fail(EXIT_DENIED,
			    "the kernel forbids tracing: it is locked down (Secure Boot), see 'man kernel_lockdown', or this is a container");
	if (error == ENOENT && !access(TRACEFS, F_OK))
		return fail(EXIT_FAILED,
			    TRACEFS " is not mounted: 'mount -t tracefs tracefs " TRACEFS "'");
	if (error == ENOENT)
		return fail(EXIT_FAILED, "this kernel has no tracing: it needs CONFIG_FTRACE");
	return fail(EXIT_FAILED, INSTANCES ": %s", strerror(error));
}

int trace_source_open(struct trace_source *source, enum trace_side side)
{
	char path[sizeof(source->path) + 64];

	source->side = side;
	source->pipe = -1;
	source->used = 0;
	source->path[0] = '\0';
	if (geteuid())
		return open_failed_why(EACCES);
	if (access(INSTANCES, F_OK))
		return open_failed_why(errno);
	remove_left();
	snprintf(path, sizeof(path), INSTANCES "/" PREFIX "%d", getpid());
	/* A process that had this number may have left one. */
	if (mkdir(path, 0700) && (errno != EEXIST || rmdir(path) || mkdir(path, 0700)))
		return open_failed_why(errno);
	strcpy(source->path, path);
	snprintf(path, sizeof(path), "%s/%s", source->path, sides[side].event);
	if (access(path, F_OK)) {
		trace_source_close(source);
		return fail(EXIT_FAILED,
			    "the module %s that is loaded is older than vgpuctl, and does not report calls: load the one of this version",
			    sides[side].module);
	}
	/* Without the memory for that, calls are lost sooner, and the kernel says so. */
	source_write(source, "buffer_size_kb", 0, BUFFER_KB);
	snprintf(path, sizeof(path), "%s/trace_pipe", source->path);
	source->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (source->pipe < 0) {
		trace_source_close(source);
		return fail(EXIT_FAILED, "%s: %s", path, strerror(errno));
	}
	/* Wake a reader for each line; kernels that do not know this do so anyway. */
	source_write(source, "buffer_percent", 0, "0");
	return 0;
}

/* Give all threads of a process to set_event_pid, with the option that adds their children. */
static int follow(struct trace_source *source, pid_t pid)
{
	const struct dirent *entry;
	char path[64];
	int ret;
	DIR *dir;

	ret = source_write(source, "trace_options", 0, "event-fork");
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]))
			ret = source_write(source, "set_event_pid", O_APPEND, entry->d_name);
	closedir(dir);
	return ret;
}

int trace_source_restrict(struct trace_source *source, pid_t pid, bool with_children)
{
	char filter[32];
	int ret;

	if (with_children) {
		ret = follow(source, pid);
	} else {
		snprintf(filter, sizeof(filter), "tgid == %d", pid);
		ret = event_write(source, "filter", filter);
	}
	if (ret == -ENOENT && kill(pid, 0))
		return fail(EXIT_NOT_FOUND, TRACE_NO_PROCESS, pid);
	return ret ? fail(EXIT_FAILED, "%s: %s", source->path, strerror(-ret)) : 0;
}

int trace_source_restrict_user(struct trace_source *source, uint32_t uid)
{
	char filter[32];
	int ret;

	snprintf(filter, sizeof(filter), "uid == %u", uid);
	ret = event_write(source, "filter", filter);
	return ret ? fail(EXIT_FAILED, "%s: %s", source->path, strerror(-ret)) : 0;
}

int trace_source_start(struct trace_source *source)
{
	/* Lines then consist of the event alone, without words of the program's choice. */
	int ret = source_write(source, "trace_options", 0, "nocontext-info");

	if (!ret)
		ret = event_write(source, "enable", "1");
	return ret ? fail(EXIT_FAILED, "%s: %s", source->path, strerror(-ret)) : 0;
}

bool trace_source_read(struct trace_source *source, bool (*take)(void *data, const char *line),
		       void *data)
{
	char *line, *end;
	ssize_t len;

	for (;;) {
		len = read(source->pipe, source->buf + source->used,
			   sizeof(source->buf) - source->used - 1);
		if (len <= 0)
			return !len || errno == EAGAIN || errno == EINTR;
		source->used += len;
		source->buf[source->used] = '\0';
		for (line = source->buf; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (!take(data, line))
				return false;
		}
		source->used -= line - source->buf;
		memmove(source->buf, line, source->used);
		/* A line that fills the buffer is none of the module's. */
		if (source->used == sizeof(source->buf) - 1)
			source->used = 0;
	}
}

void trace_source_close(struct trace_source *source)
{
	if (source->pipe >= 0)
		close(source->pipe);
	source->pipe = -1;
	if (*source->path) {
		event_write(source, "enable", "0");
		rmdir(source->path);
	}
	source->path[0] = '\0';
}
