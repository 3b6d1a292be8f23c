/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that host and guest hold for programs, as a text of one number a line. Tests that kill
 * compare the text before with the text after: nothing must stay.
 */
#ifndef BASELINE_H
#define BASELINE_H

#include <ctype.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tool.h"
#include "vgpu_mock.h"

#define BASELINE_LEN	4096
#define BASELINE_GROUPS	"/sys/fs/cgroup/vgpu/guests"
/* The first uid of guests by default (vgpud(8)). */
#define BASELINE_UID	1879048192UL
/* Time for which the texts have to be equal, and in which they have to become so. */
#define BASELINE_REST_MS	2000
#define BASELINE_MS		60000

/* A text that grows. What does not fit is cut. */
struct baseline {
	char text[BASELINE_LEN];
};

static inline void baseline_add(struct baseline *baseline, const char *name, long long value)
{
	size_t len = strlen(baseline->text);

	snprintf(baseline->text + len, sizeof(baseline->text) - len, "%s %lld\n", name, value);
}

/* Returns the number after the first @key behind @at; -1: there is none. */
static inline long long baseline_number(const char *at, const char *key)
{
	at = at ? strstr(at, key) : NULL;
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

/* Returns the number of lines of a file that have @word in them. */
static inline long baseline_lines(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	long nr = 0;

	while (file && fgets(line, sizeof(line), file))
		nr += !!strstr(line, word);
	if (file)
		fclose(file);
	return nr;
}

/* Returns the number in a line that begins with @word; -1: there is none. */
static inline long long baseline_field(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	long long value = -1;
	char line[1024];

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			value = strtoll(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

/* Returns the number of entries of a directory whose names begin with @prefix. */
static inline long baseline_entries(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	long nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix));
	if (dir)
		closedir(dir);
	return nr;
}

/* Adds what the mock has. The counters are the host's, whichever node is asked. */
static inline void baseline_mock(struct baseline *baseline)
{
	static struct vgpu_mock_counters now;
	const char *tier = getenv("VGPU_TIER");
	bool apart = tier && !strcmp(tier, "pair");
	int fd = open(getenv(apart ? "VGPU_FWD" : "VGPU_REAL"), O_RDWR | O_CLOEXEC);

	memset(&now, 0, sizeof(now));
	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now))
		now.out_files = -1;
	close(fd);
	baseline_add(baseline, "files", now.out_files);
	baseline_add(baseline, "file objects", now.out_objects);
	baseline_add(baseline, "buffers", now.out_bufs);
	baseline_add(baseline, "pages of buffers", now.out_buf_pages);
	baseline_add(baseline, "mappings of buffers", now.out_maps);
}

/* Adds what vgpud says of guests and windows, and of the uses of @guest's limits. */
static inline void baseline_agent(struct baseline *baseline, const char *guest)
{
	static const char *const counters[] = {
		"sessions", "lanes", "objects", "mappings", "kept_bytes", "owned_bytes",
	};
	static const char *const of_window[] = { "bindings", "bound_bytes" };
	const char *status = tool_status();
	const char *at;
	char key[40], name[60];
	unsigned int i, nr;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		snprintf(key, sizeof(key), "\"%s\":", counters[i]);
		snprintf(name, sizeof(name), "vgpud's %s", counters[i]);
		baseline_add(baseline, name, baseline_number(strstr(status, "\"counters\""), key));
	}
	at = strstr(status, "\"windows\":");
	for (i = 0; i < sizeof(of_window) / sizeof(of_window[0]); i++) {
		snprintf(key, sizeof(key), "\"%s\":", of_window[i]);
		baseline_add(baseline, of_window[i], baseline_number(at, key));
	}
	/* The uses of limits count what is charged to the guest. */
	at = tool_run("vgpuctl limit %s --json", guest)->out;
	for (nr = 0; (at = strstr(at, "\"use\":")); at += strlen("\"use\":"))
		if (isdigit(at[strlen("\"use\":")])) {
			snprintf(name, sizeof(name), "use of counted limit %u", nr++);
			baseline_add(baseline, name, atoll(at + strlen("\"use\":")));
		}
}

/* Returns the number of mappings and of open files of a process that are memory files. */
static inline long baseline_memory_files(pid_t pid)
{
	char path[300], link[64];
	struct dirent *entry;
	long nr;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	nr = baseline_lines(path, "/memfd:");
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		memset(link, 0, sizeof(link));
		nr += readlink(path, link, sizeof(link) - 1) > 0 && !strncmp(link, "/memfd:", 7);
	}
	if (dir)
		closedir(dir);
	return nr;
}

/* Adds the numbers of processes of vgpud and of guests, and of the files of those that stay. */
static inline void baseline_processes(struct baseline *baseline)
{
	static const char *const programs[] = {
		"/vgpud", "/vgpu-engine", "/vgpu-keeper", "/vgpu-engine-master",
		"/vgpu-shadow", "/vgpu-engine-shadow",
	};
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300];
	long nr = 0;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		pid = 0;
		baseline_add(baseline, programs[i], tool_processes(programs[i], &pid));
		snprintf(path, sizeof(path), "/proc/%d/fd", pid);
		/* A shadow that is found may have ended. */
		if (pid && !strstr(programs[i], "shadow")) {
			baseline_add(baseline, " its files", baseline_entries(path, ""));
			baseline_add(baseline, " its memory files", baseline_memory_files(pid));
		}
	}
	while (proc && (entry = readdir(proc))) {
		if (!isdigit(entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		nr += baseline_field(path, "Uid:") >= (long long)BASELINE_UID;
	}
	if (proc)
		closedir(proc);
	baseline_add(baseline, "processes of guests' users", nr);
}

/* Adds what the kernel says of the modules, and of the groups of guests. */
static inline void baseline_kernel(struct baseline *baseline)
{
	static const char *const modules[] = {
		"vgpu_guest ", "vgpu_host ", "vgpu_mock ", "vsock ",
	};
	static char text[1 << 16] = "\n";
	FILE *file = fopen("/proc/modules", "r");
	char path[300], line[64];
	const char *at;
	unsigned int i;

	text[1 + (file ? fread(text + 1, 1, sizeof(text) - 2, file) : 0)] = '\0';
	if (file)
		fclose(file);
	for (i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		/* A line has the module's name, size and number of users. The first line is empty. */
		snprintf(path, sizeof(path), "\n%s", modules[i]);
		at = strstr(text, path);
		at = at ? strchr(at + strlen(path), ' ') : NULL;
		snprintf(path, sizeof(path), "users of %s", modules[i]);
		path[strlen(path) - 1] = '\0';
		baseline_add(baseline, path, at ? atoll(at) : -1);
	}
	baseline_add(baseline, "areas of the modules",
		     baseline_lines("/proc/vmallocinfo", "[vgpu_"));
	/* Without this, pinned pages that some processor has counted are not in the sum yet. */
	tool_write("/proc/sys/vm/stat_refresh", "1");
	baseline_add(baseline, "pinned pages",
		     baseline_field("/proc/vmstat", "nr_foll_pin_acquired ") -
		     baseline_field("/proc/vmstat", "nr_foll_pin_released "));
	baseline_add(baseline, "groups", baseline_entries(BASELINE_GROUPS, "vgpu-guest"));
	snprintf(path, sizeof(path), "%s/pids.current", BASELINE_GROUPS);
	tool_read_line(path, line, sizeof(line));
	baseline_add(baseline, "threads in groups", line[0] ? atoll(line) : -1);
}

/* Adds the counters of the guest's node for the export. */
static inline void baseline_node(struct baseline *baseline, const char *export)
{
	static const char *const counters[] = { "window_mappings", "copy_mappings" };
	int number = tool_find_export(export);
	char path[128], line[64];
	unsigned int i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/vgpu/vgpu%d/%s", number, counters[i]);
		tool_read_line(path, line, sizeof(line));
		baseline_add(baseline, counters[i], line[0] ? atoll(line) : -1);
	}
}

/* Lists what is held now for programs that use the export. */
static inline void baseline_now(struct baseline *baseline, const char *export)
{
	baseline->text[0] = '\0';
	baseline_mock(baseline);
	baseline_node(baseline, export);
	baseline_kernel(baseline);
	if (!tool_has_host())
		return;
	baseline_agent(baseline, "1");
	baseline_processes(baseline);
}

/* Waits until nothing changes any more. Return: false if something still changes at the end. */
static inline bool baseline_rest(struct baseline *baseline, const char *export)
{
	uint64_t start = tool_now_ms(), changed = start;
	struct baseline again;

	baseline_now(baseline, export);
	do {
		usleep(200000);
		baseline_now(&again, export);
		if (strcmp(again.text, baseline->text))
			changed = tool_now_ms();
		*baseline = again;
	} while (tool_now_ms() - changed < BASELINE_REST_MS && tool_now_ms() - start < BASELINE_MS);
	return tool_now_ms() - changed >= BASELINE_REST_MS;
}

/* Prints the lines in which two texts differ. */
static inline void baseline_differ(const struct baseline *before, const struct baseline *now)
{
	const char *old = before->text, *new = now->text;
	int a, b;

	while (*old || *new) {
		a = strcspn(old, "\n");
		b = strcspn(new, "\n");
		if (a != b || strncmp(old, new, a))
			fprintf(stderr, "# before: %.*s, now: %.*s\n", a, old, b, new);
		old += a + !!old[a];
		new += b + !!new[b];
	}
}

/* Reaps processes that have become children of this one because their parent was killed. */
static inline void baseline_reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Waits until all is as before. Return: false if something else is held in the end. */
static inline bool baseline_is(const struct baseline *before, const char *export)
{
	uint64_t end = tool_now_ms() + BASELINE_MS;
	struct baseline now;

	for (;;) {
		baseline_reap();
		baseline_now(&now, export);
		if (!strcmp(before->text, now.text))
			return true;
		if (tool_now_ms() >= end)
			break;
		usleep(200000);
	}
	baseline_differ(before, &now);
	return false;
}

#endif /* BASELINE_H */
