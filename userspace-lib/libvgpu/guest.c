// SPDX-License-Identifier: MIT
/* Forwarded devices and hosts of this guest, from the guest module's files in sysfs. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "counter.h"

#define CLASS_DIR	"/sys/class/vgpu"
#define HOSTS_DIR	"/sys/module/vgpu_guest/hosts"

#define LINE_SIZE	256

/* Read a line of sysfs without its newline; "" if it cannot be read. */
static void read_line(const char *dir, const char *attribute, char text[LINE_SIZE])
{
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, attribute);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, LINE_SIZE - 1);
		close(fd);
		text[len > 0 ? len : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
	}
}

/* Return a copy of such a line; NULL: no memory. */
static char *read_text(const char *dir, const char *attribute)
{
	char text[LINE_SIZE];

	read_line(dir, attribute, text);
	return strdup(text);
}

static uint64_t read_number(const char *dir, const char *attribute)
{
	char text[LINE_SIZE];

	read_line(dir, attribute, text);
	return strtoull(text, NULL, 10);
}

/*
 * Find the DRM node of an export. The guest module links "drm" to the device that has the DRM
 * minors. The node of the same kind as the path on the host is the export's.
 */
static char *read_drm_node(const char *dir, const char *host_path)
{
	char path[PATH_MAX], node[PATH_MAX] = "";
	const char *base = strrchr(host_path, '/');
	struct dirent *entry;
	size_t kind;
	DIR *minors;

	base = base ? base + 1 : host_path;
	kind = strcspn(base, "0123456789");
	snprintf(path, sizeof(path), "%s/drm/drm", dir);
	minors = opendir(path);
	/* Any other error means that there is no such directory. */
	if (!minors && errno == ENOMEM)
		return NULL;
	while (minors && (entry = readdir(minors)))
		if (kind && !strncmp(entry->d_name, base, kind) &&
		    isdigit((unsigned char)entry->d_name[kind]))
			snprintf(node, sizeof(node), "/dev/dri/%s", entry->d_name);
	if (minors)
		closedir(minors);
	return strdup(node);
}

/* Find the export's node of another class. The guest module links the class's name to the node. */
static char *read_class_node(const char *dir)
{
	static const char *const classes[] = { "video4linux", "sound", "media", "nvidia" };
	char path[PATH_MAX], line[256], node[sizeof(line) + 8] = "", name[sizeof(line)];
	FILE *file;
	size_t i;

	for (i = 0; !node[0] && i < sizeof(classes) / sizeof(classes[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/uevent", dir, classes[i]);
		file = fopen(path, "re");
		if (!file && errno == ENOMEM)
			return NULL;
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "DEVNAME=%255s", name) == 1)
				snprintf(node, sizeof(node), "/dev/%s", name);
		if (file)
			fclose(file);
	}
	return strdup(node);
}

/* Parse "0x12345678 9", or a line with " class 0x12345678" or " command 0x12345678" in between. */
static bool parse_unknown(const char *line, struct vgpu_unknown_ioctl *unknown)
{
	unsigned long long calls;
	uint32_t cmd, of;

	*unknown = (struct vgpu_unknown_ioctl){ .struct_size = sizeof(*unknown) };
	if (sscanf(line, "%" SCNx32 " class %" SCNx32 " %llu", &cmd, &of, &calls) == 3)
		unknown->class_of = of;
	else if (sscanf(line, "%" SCNx32 " command %" SCNx32 " %llu", &cmd, &of, &calls) == 3)
		unknown->command_of = of;
	else if (sscanf(line, "%" SCNx32 " %llu", &cmd, &calls) != 2)
		return false;
	unknown->cmd = cmd;
	unknown->calls = calls;
	return true;
}

/* Read the lines of unknown ioctls, and the line "others 10" if there is one. */
static bool read_unknown(const char *dir, struct vgpu_node_info *node)
{
	struct vgpu_unknown_ioctl unknown, **more;
	char path[PATH_MAX], line[64];
	unsigned long long calls;
	bool ok = true;
	FILE *file;

	snprintf(path, sizeof(path), "%s/unknown_ioctls", dir);
	file = fopen(path, "re");
	if (!file && errno == ENOMEM)
		return false;
	while (file && ok && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "others %llu", &calls) == 1) {
			node->unknown_others = calls;
		} else if (parse_unknown(line, &unknown)) {
			more = realloc(node->unknown, (node->nr_unknown + 1) * sizeof(*more));
			ok = more;
			if (!ok)
				break;
			node->unknown = more;
			more[node->nr_unknown] = malloc(sizeof(unknown));
			ok = more[node->nr_unknown];
			if (ok)
				*more[node->nr_unknown++] = unknown;
		}
	}
	if (file)
		fclose(file);
	return ok;
}

static bool read_node(const char *name, void *to)
{
	struct vgpu_node_info *node = to;
	const struct counter *counter;
	char dir[PATH_MAX], path[PATH_MAX];

	snprintf(dir, sizeof(dir), CLASS_DIR "/%s", name);
	snprintf(path, sizeof(path), "/dev/%s", name);
	node->node = strdup(path);
	node->name = read_text(dir, "name");
	node->host = read_text(dir, "host");
	node->path = read_text(dir, "path");
	node->drm_node = read_drm_node(dir, node->path ? node->path : "");
	node->class_node = read_class_node(dir);
	node->driver = read_text(dir, "driver");
	node->bus = read_text(dir, "bus");
	node->state = read_text(dir, "state");
	for (counter = node_counters; counter->name; counter++)
		*counter_in(counter, node) = read_number(dir, counter->name);
	return read_unknown(dir, node) && node->node && node->drm_node && node->class_node &&
	       node->name && node->host && node->path && node->driver && node->bus && node->state;
}

static int is_node(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "vgpu", 4) && isdigit((unsigned char)entry->d_name[4]);
}

static int is_host(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

static bool read_host(const char *name, void *to)
{
	struct vgpu_reach_info *reach = to;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), HOSTS_DIR "/%s", name);
	reach->host = strdup(name);
	reach->state = read_text(dir, "state");
	reach->error = read_number(dir, "error");
	return reach->host && reach->state;
}

/*
 * Make a struct of @size bytes for each entry of directory @dir that @is_one accepts, and have
 * @read_one fill in the structs. @list: filled in: array of pointers to them. Return: 0 or a
 * negative errno. After -ENOMEM the caller frees the array, which may be incomplete or NULL.
 */
static int read_entries(const char *dir, int (*is_one)(const struct dirent *entry), size_t size,
			bool (*read_one)(const char *name, void *to), void ***list, size_t *nr)
{
	struct dirent **entries;
	bool ok;
	int i, n;

	n = scandir(dir, &entries, is_one, versionsort);
	if (n < 0)
		return -errno;
	*nr = n;
	*list = infos_alloc(n, size);
	ok = *list;
	for (i = 0; i < n; i++) {
		ok = ok && read_one(entries[i]->d_name, (*list)[i]);
		free(entries[i]);
	}
	free(entries);
	return ok ? 0 : -ENOMEM;
}

VGPU_PUBLIC int vgpu_nodes(struct vgpu_node_info ***nodes, size_t *nr)
{
	void **list = NULL;
	size_t n = 0;
	int ret = read_entries(CLASS_DIR, is_node, sizeof(***nodes), read_node, &list, &n);

	if (ret) {
		vgpu_nodes_free((struct vgpu_node_info **)list, n);
		return ret;
	}
	*nodes = (struct vgpu_node_info **)list;
	*nr = n;
	return 0;
}

VGPU_PUBLIC void vgpu_nodes_free(struct vgpu_node_info **nodes, size_t nr)
{
	size_t i;

	for (i = 0; nodes && i < nr; i++) {
		free(nodes[i]->node);
		free(nodes[i]->drm_node);
		free(nodes[i]->class_node);
		free(nodes[i]->name);
		free(nodes[i]->host);
		free(nodes[i]->path);
		free(nodes[i]->driver);
		free(nodes[i]->bus);
		free(nodes[i]->state);
		infos_free(nodes[i]->unknown, nodes[i]->nr_unknown);
	}
	infos_free(nodes, nr);
}

VGPU_PUBLIC int vgpu_reach(struct vgpu_reach_info ***hosts, size_t *nr)
{
	void **list = NULL;
	size_t n = 0;
	int ret = read_entries(HOSTS_DIR, is_host, sizeof(***hosts), read_host, &list, &n);

	if (ret) {
		vgpu_reach_free((struct vgpu_reach_info **)list, n);
		return ret;
	}
	*hosts = (struct vgpu_reach_info **)list;
	*nr = n;
	return 0;
}

VGPU_PUBLIC void vgpu_reach_free(struct vgpu_reach_info **hosts, size_t nr)
{
	size_t i;

	for (i = 0; hosts && i < nr; i++) {
		free(hosts[i]->host);
		free(hosts[i]->state);
	}
	infos_free(hosts, nr);
}
