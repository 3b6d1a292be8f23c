/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to run the project's tools from a test, and to read their output. */
#ifndef TOOL_H
#define TOOL_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Return: the host is in the same machine, with either engine. */
static inline bool tool_has_host(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && (!strcmp(tier, "loopback") || !strcmp(tier, "user"));
}

/* Return: the host's engine is the user-space program and not the module. */
static inline bool tool_user_engine(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && !strcmp(tier, "user");
}

/* Returns the end of the path of the shadows' program. */
static inline const char *tool_shadow(void)
{
	return tool_user_engine() ? "/vgpu-engine-shadow" : "/vgpu-shadow";
}

/**
 * struct tool_run - result of a command
 * @status: exit status; -1: the command was ended by a signal or not started
 * @out: output of the command, standard error included
 */
struct tool_run {
	int status;
	char out[32768];
};

static inline struct tool_run *tool_run(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
static inline struct tool_run *tool_run(const char *format, ...)
{
	static struct tool_run run;
	char command[1024];
	va_list args;
	size_t len;
	FILE *pipe;
	int n;

	va_start(args, format);
	n = vsnprintf(command, sizeof(command) - 6, format, args);
	va_end(args);
	run.status = -1;
	run.out[0] = '\0';
	if (n < 0 || n >= (int)sizeof(command) - 6)
		return &run;
	strcat(command, " 2>&1");
	pipe = popen(command, "r");
	if (!pipe)
		return &run;
	len = fread(run.out, 1, sizeof(run.out) - 1, pipe);
	run.out[len] = '\0';
	n = pclose(pipe);
	if (WIFEXITED(n))
		run.status = WEXITSTATUS(n);
	return &run;
}

/* Writes @text to a file that exists. Return: the write was complete. */
static inline bool tool_write(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Asks vgpud for its status, whose names are those of vgpuctl's JSON. Tests that poll call this
 * function and not vgpuctl: a process for each poll would take most of the time, and with a window
 * vgpuctl searches all processes. Return: JSON, or "".
 */
static inline const char *tool_status(void)
{
	const struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "/run/vgpu/vgpud.sock" };
	const struct timeval patience = { .tv_sec = 10 };
	static const char request[] = "{\"op\":\"status\"}\n";
	static char answer[1 << 20];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) &&
	    write(fd, request, strlen(request)) == (ssize_t)strlen(request))
		while ((!len || answer[len - 1] != '\n') &&
		       (got = read(fd, answer + len, sizeof(answer) - 1 - len)) > 0)
			len += got;
	if (fd >= 0)
		close(fd);
	/* An incomplete answer counts as none. */
	answer[len && answer[len - 1] == '\n' ? len : 0] = '\0';
	return answer;
}

/* Returns the counter of the host with this name in vgpuctl's JSON; -1: there is none. */
static inline long tool_counter(const char *name)
{
	char key[40];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(tool_status(), key);
	return at ? atol(at + strlen(key)) : -1;
}

static inline uint64_t tool_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Reads the first line of a file; "" if there is none. */
static inline void tool_read_line(const char *path, char *line, size_t size)
{
	FILE *stream = fopen(path, "r");

	if (!stream || !fgets(line, size, stream))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (stream)
		fclose(stream);
}

/* Counts the processes whose program's path ends with @program; *pid is one of them. */
static inline int tool_processes(const char *program, pid_t *pid)
{
	char path[300], exe[4096], comm[32];
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	ssize_t len;
	int nr = 0;

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof(exe) - 1);
		if (len <= 0)
			continue;
		exe[len] = '\0';
		if ((size_t)len < strlen(program) ||
		    strcmp(exe + len - strlen(program), program))
			continue;
		/* The tracer of a shadow runs the same program but is no shadow. */
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		tool_read_line(path, comm, sizeof(comm));
		if (!strcmp(comm, "vgpu-tracer"))
			continue;
		nr++;
		if (pid)
			*pid = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return nr;
}

/* Finds the shadow of the program called @name. Return: its pid; 0: there is none. */
static inline pid_t tool_shadow_of(const char *name)
{
	char path[300], comm[64], exe[4096];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;
	ssize_t len;

	while (proc && !pid && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		tool_read_line(path, comm, sizeof(comm));
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof(exe) - 1);
		exe[len > 0 ? len : 0] = '\0';
		if (!strcmp(comm, name) && strstr(exe, tool_shadow()))
			pid = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return pid;
}

/* Returns the page of the shadow where exec put its arguments, or 0 if it is unknown. */
static inline uint64_t tool_shadow_args(pid_t shadow)
{
	char path[32], line[1024], *field;
	unsigned int i;

	snprintf(path, sizeof(path), "/proc/%d/stat", shadow);
	tool_read_line(path, line, sizeof(line));
	field = strrchr(line, ')');
	/* The name is the second field of the line, and the arguments' address the 48th. */
	for (i = 2; field && i < 48; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) & -4096ULL : 0;
}

/* Returns the number N of the guest's device vgpuN for an export; -1: there is none. */
static inline int tool_find_export(const char *name)
{
	char file[300], there[64];
	struct dirent *entry;
	DIR *class = opendir("/sys/class/vgpu");
	int found = -1;

	while (class && found < 0 && (entry = readdir(class))) {
		snprintf(file, sizeof(file), "/sys/class/vgpu/%s/name", entry->d_name);
		tool_read_line(file, there, sizeof(there));
		if (!strcmp(there, name))
			found = atoi(entry->d_name + strlen("vgpu"));
	}
	if (class)
		closedir(class);
	return found;
}

/* Waits up to a minute for the guest's node of an export and opens it. Return: the fd, or -1. */
static inline int tool_open_export(const char *name)
{
	int tries, number, fd;
	char node[32];

	for (tries = 0; tries < 1200; tries++) {
		number = tool_find_export(name);
		snprintf(node, sizeof(node), "/dev/vgpu%d", number);
		fd = number < 0 ? -1 : open(node, O_RDWR);
		if (fd >= 0)
			return fd;
		usleep(50000);
	}
	return -1;
}

/* Return: the kernel is older than that version. A kernel with an unreadable version is not. */
static inline bool tool_kernel_before(int major, int minor)
{
	struct utsname name;
	int its_major, its_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &its_major, &its_minor) == 2 &&
	       (its_major < major || (its_major == major && its_minor < minor));
}

/* Return: KVM of this kernel takes a reference of each page that it maps. */
static inline bool tool_kvm_counts(void)
{
	return tool_kernel_before(6, 13);
}

#endif /* TOOL_H */
