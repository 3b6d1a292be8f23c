// SPDX-License-Identifier: MIT
/*
 * Command cdi: describes this guest's devices to container engines, as a specification of CDI (the
 * Container Device Interface).
 *
 * An export has a CDI device of its own name. A device of the host of which several files are
 * exported, such as a card and its render node, has a number, and all of these files by it. A card
 * of NVIDIA's driver needs files that it shares with other cards.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <json-c/json.h>

#include "vgpuctl/doctor/root.h"
#include "vgpuctl/make.h"
#include "vgpuctl/vgpuctl.h"

#define CLASS		"/sys/class/vgpu"
#define KIND		"vgpu.dev/gpu"
/* The first version of CDI in which names of devices may be numbers is 0.5.0. */
#define CDI_VERSION	"0.6.0"
/* Mode of a device file that udev has not made yet. */
#define DEFAULT_MODE	0660

enum nvidia { NVIDIA_NONE, NVIDIA_CARD, NVIDIA_SHARED };

/**
 * struct entry - an export, with the device file that programs use
 * @host: host of the export, "CID:PORT"
 * @name: name of the export, as the host gave it
 * @node: path of the device file
 * @number: device number
 * @parent: inode number, in sysfs, of the device that the file belongs to; 0: it has none
 * @group: number of the device that the file belongs to, as in the specification
 * @nvidia: kind of the file, if it is one of NVIDIA's driver
 */
struct entry {
	char host[64];
	char name[64];
	char node[128];
	dev_t number;
	ino_t parent;
	size_t group;
	enum nvidia nvidia;
};

/**
 * struct list - all exports
 * @root: root directory of the system
 * @entries: array, sorted by host and name
 * @nr: number of entries of @entries
 * @nr_groups: number of devices
 */
struct list {
	struct root root;
	struct entry *entries;
	size_t nr;
	size_t nr_groups;
};

/* --- what the guest module shows in sysfs ------------------------------------------ */

/* Read a device's number and the name of its file. Return: false if it has no file, or is gone. */
static bool read_uevent(const struct list *list, const char *dir, struct entry *entry)
{
	unsigned int major = 0, minor = 0, found = 0;
	char path[600], name[101] = "", *text, *line, *rest;

	snprintf(path, sizeof(path), "%s/uevent", dir);
	text = root_read(&list->root, path, NULL);
	for (line = text; line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		found += sscanf(line, "MAJOR=%u", &major) == 1 ||
			 sscanf(line, "MINOR=%u", &minor) == 1 ||
			 sscanf(line, "DEVNAME=%100s", name) == 1;
	}
	free(text);
	if (found != 3)
		return false;
	snprintf(entry->node, sizeof(entry->node), "/dev/%s", name);
	entry->number = makedev(major, minor);
	return true;
}

static ino_t inode_of(const struct list *list, const char *dir, const char *link)
{
	char path[600];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, link);
	return root_stat(&list->root, path, &st) ? 0 : st.st_ino;
}

/*
 * Find the DRM node of an export. The link "drm" leads to the device that has the nodes, of which
 * the export's is of the same kind as the host's. A card node is always there.
 */
static bool read_drm(const struct list *list, const char *dir, struct entry *entry)
{
	char path[300], line[256], node[600];
	struct dirent *minor;
	bool found = false, card;
	const char *base;
	DIR *minors;

	snprintf(path, sizeof(path), "%s/path", dir);
	root_line(&list->root, path, line);
	base = strrchr(line, '/');
	card = strstr(base ? base : line, "card") && !strstr(base ? base : line, "render");
	snprintf(path, sizeof(path), "%s/drm/drm", dir);
	minors = root_dir(&list->root, path);
	while (minors && !found && (minor = readdir(minors))) {
		if (strncmp(minor->d_name, card ? "card" : "renderD", card ? 4 : 7) ||
		    !isdigit((unsigned char)minor->d_name[card ? 4 : 7]))
			continue;
		snprintf(node, sizeof(node), "%s/%s", path, minor->d_name);
		found = read_uevent(list, node, entry);
	}
	if (minors)
		closedir(minors);
	if (found)
		entry->parent = inode_of(list, dir, "drm");
	return found;
}

/* Find the node of another class: the link with the class's name leads to it. */
static bool read_class(const struct list *list, const char *dir, struct entry *entry)
{
	static const char *const classes[] = { "video4linux", "sound", "media", "nvidia" };
	const char *card = "/dev/nvidia";
	char path[300];
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, classes[i]);
		if (!read_uevent(list, path, entry))
			continue;
		entry->parent = inode_of(list, path, "device");
		if (strcmp(classes[i], "nvidia"))
			return true;
		entry->nvidia = !strncmp(entry->node, card, strlen(card)) &&
				isdigit((unsigned char)entry->node[strlen(card)]) ?
				NVIDIA_CARD : NVIDIA_SHARED;
		return true;
	}
	return false;
}

static bool read_entry(const struct list *list, const char *name, struct entry *entry)
{
	char dir[288], path[300], line[256];

	memset(entry, 0, sizeof(*entry));
	snprintf(dir, sizeof(dir), CLASS "/%s", name);
	snprintf(path, sizeof(path), "%s/name", dir);
	if (!root_line(&list->root, path, line))
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s", line);
	snprintf(path, sizeof(path), "%s/host", dir);
	root_line(&list->root, path, line);
	snprintf(entry->host, sizeof(entry->host), "%s", line);
	return read_drm(list, dir, entry) || read_class(list, dir, entry) ||
	       read_uevent(list, dir, entry);
}

/* The order does not depend on the order in which devices came, nor on their numbers. */
static int compare(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;
	int order = strverscmp(one->host, other->host);

	if (!order)
		order = strverscmp(one->name, other->name);
	return order ? order : strverscmp(one->node, other->node);
}

/* Check whether programs need the file @shared to use the card. */
static bool is_card_of(const struct entry *entry, const struct entry *shared)
{
	return shared->nvidia == NVIDIA_SHARED && entry->nvidia == NVIDIA_CARD &&
	       !strcmp(entry->host, shared->host);
}

/* Number the devices. A file that NVIDIA's cards share belongs to these, if there is one. */
static void number_groups(struct list *list)
{
	struct entry *entry, *other, *end = list->entries + list->nr;

	for (entry = list->entries; entry < end; entry++) {
		for (other = list->entries; other < end; other++)
			if (is_card_of(other, entry))
				break;
		entry->group = list->nr;
		if (other < end)
			continue;
		entry->nvidia = entry->nvidia == NVIDIA_SHARED ? NVIDIA_NONE : entry->nvidia;
		for (other = list->entries; other < entry; other++)
			if (entry->parent && other->parent == entry->parent &&
			    other->group != list->nr)
				break;
		entry->group = other < entry ? other->group : list->nr_groups++;
	}
}

/* Return: 0, -ENOENT (the guest module is not loaded) or -ENOMEM. */
static int list_read(struct list *list)
{
	DIR *dir = root_dir(&list->root, CLASS);
	struct dirent *name;
	struct entry *more;

	if (!dir)
		return -ENOENT;
	while ((name = readdir(dir))) {
		if (strncmp(name->d_name, "vgpu", 4))
			continue;
		more = realloc(list->entries, (list->nr + 1) * sizeof(*more));
		if (!more) {
			closedir(dir);
			return -ENOMEM;
		}
		list->entries = more;
		/* An export may vanish meanwhile. */
		list->nr += read_entry(list, name->d_name, &more[list->nr]);
	}
	closedir(dir);
	if (list->nr)
		qsort(list->entries, list->nr, sizeof(*list->entries), compare);
	number_groups(list);
	return 0;
}

/* --- the specification --------------------------------------------------------------- */

static void put_text(struct json_object *object, const char *key, const char *value)
{
	make_member(object, key, make_string(value));
}

static void put_count(struct json_object *object, const char *key, unsigned int value)
{
	make_member(object, key, make_number(value));
}

/*
 * Describe a device file. A container gets the mode and owner of the file, so that its users may
 * do no more than those outside, and cannot make other device files of that number.
 */
static void put_node(const struct list *list, struct json_object *nodes, const struct entry *entry)
{
	struct json_object *node = make_object();
	struct stat st;
	bool there = !root_stat(&list->root, entry->node, &st) && S_ISCHR(st.st_mode) &&
		     st.st_rdev == entry->number;

	put_text(node, "path", entry->node);
	put_text(node, "type", "c");
	put_count(node, "major", major(entry->number));
	put_count(node, "minor", minor(entry->number));
	put_count(node, "fileMode", there ? st.st_mode & 0777 : DEFAULT_MODE);
	put_text(node, "permissions", "rw");
	if (there) {
		put_count(node, "uid", st.st_uid);
		put_count(node, "gid", st.st_gid);
	}
	make_element(nodes, node);
}

/* Add a CDI device with the files that @chosen has, and those that they need. */
static void put_device(const struct list *list, struct json_object *devices, const char *name,
		       bool (*chosen)(const struct entry *entry, const void *what),
		       const void *what)
{
	struct json_object *device = make_object(), *edits = make_object(),
			   *nodes = make_array();
	const struct entry *entry, *other, *end = list->entries + list->nr;

	for (entry = list->entries; entry < end; entry++) {
		for (other = list->entries; other < end; other++)
			if (chosen(other, what) && (other == entry || is_card_of(other, entry)))
				break;
		if (other < end)
			put_node(list, nodes, entry);
	}
	put_text(device, "name", name);
	make_member(edits, "deviceNodes", nodes);
	make_member(device, "containerEdits", edits);
	make_element(devices, device);
}

static bool is_any(const struct entry *entry, const void *unused)
{
	(void)entry;
	(void)unused;
	return true;
}

static bool is_entry(const struct entry *entry, const void *what)
{
	return entry == what;
}

static bool is_group(const struct entry *entry, const void *what)
{
	return entry->group == *(const size_t *)what;
}

static bool is_taken(struct json_object *devices, const char *name)
{
	struct json_object *value;
	size_t i;

	for (i = 0; i < json_object_array_length(devices); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(devices, i), "name",
					      &value) &&
		    !strcmp(json_object_get_string(value), name))
			return true;
	return false;
}

/*
 * Make a name that CDI accepts of an export's name: letters, digits, and within it . _ and -. It
 * is neither a number nor "all", which have a meaning of their own, nor the name of another device.
 */
static void name_device(struct json_object *devices, const char *from, char name[128])
{
	char plain[80], *at;
	unsigned int i;

	snprintf(plain, sizeof(plain), "%.63s", from);
	for (at = plain; *at; at++)
		if (!isascii(*at) || (!isalnum((unsigned char)*at) && !strchr("._-", *at)))
			*at = '_';
	if (!plain[strspn(plain, "0123456789")] || !isalnum((unsigned char)plain[0]) ||
	    !strcmp(plain, "all"))
		snprintf(plain, sizeof(plain), "export-%s", strdupa(plain));
	if (!isalnum((unsigned char)plain[strlen(plain) - 1]))
		strcat(plain, "x");
	snprintf(name, 128, "%s", plain);
	for (i = 2; is_taken(devices, name); i++)
		snprintf(name, 128, "%s-%u", plain, i);
}

static struct json_object *make_spec(const struct list *list)
{
	struct json_object *spec = make_object(), *devices = make_array();
	char name[128];
	size_t i;

	put_text(spec, "cdiVersion", CDI_VERSION);
	put_text(spec, "kind", KIND);
	for (i = 0; i < list->nr_groups; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		put_device(list, devices, name, is_group, &i);
	}
	for (i = 0; i < list->nr; i++) {
		name_device(devices, list->entries[i].name, name);
		put_device(list, devices, name, is_entry, &list->entries[i]);
	}
	put_device(list, devices, "all", is_any, NULL);
	make_member(spec, "devices", devices);
	return spec;
}

/* --- output ---------------------------------------------------------------------------- */

static int file_failed(const char *path, int error)
{
	return fail(exit_status(-error), "%s: %s%s", path, strerror(error),
		    error == ENOMEM ? "" : ": give another path");
}

/*
 * Replace the file @path: readers see the old text, or all of the new one. The file that is being
 * written has no name by which readers of specifications would take it for one.
 */
static int write_file(const char *path, const char *text)
{
	const char *slash = strrchr(path, '/');
	int len = slash ? slash - path + 1 : 0, fd, error = 0;
	char *dir = strndupa(path, len > 1 ? len - 1 : len), *temporary;
	size_t size = strlen(text);

	/* /etc/cdi and /run/cdi exist only if something has made them. */
	if (*dir && mkdir(dir, 0755) && errno != EEXIST)
		return file_failed(dir, errno);
	if (asprintf(&temporary, "%.*s.%s.XXXXXX", len, path, path + len) < 0)
		return file_failed(path, ENOMEM);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		error = errno;
		free(temporary);
		return file_failed(path, error);
	}
	errno = EIO;
	if (write(fd, text, size) != (ssize_t)size || fchmod(fd, 0644) || fsync(fd) ||
	    rename(temporary, path))
		error = errno;
	close(fd);
	if (error)
		unlink(temporary);
	free(temporary);
	return error ? file_failed(path, error) : 0;
}

/* Without a device there is no specification, and an old one would name numbers of others. */
static int no_device(const char *path, bool is_guest)
{
	struct stat st;

	if (path && !lstat(path, &st) && S_ISREG(st.st_mode) && unlink(path))
		return file_failed(path, errno);
	if (!is_guest)
		return fail(EXIT_NO_VGPU,
			    "this machine is no guest (vgpu_guest is not loaded): 'modprobe vgpu_guest'");
	return fail(EXIT_NOTHING, "this guest has no device%s%s: 'vgpuctl list' says why",
		    path ? ", so there is no " : "", path ? path : "");
}

static int put_spec(const struct list *list, const char *path)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			  JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *spec = make_spec(list);
	const char *words = json_object_to_json_string_ext(spec, flags);
	char *text;
	int ret = 0;

	if (!words || asprintf(&text, "%s\n", words) < 0)
		text = NULL;
	if (!text)
		ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	else if (path)
		ret = write_file(path, text);
	else if (fputs(text, stdout) < 0 || fflush(stdout))
		ret = file_failed("standard output", errno);
	free(text);
	json_object_put(spec);
	return ret;
}

int cmd_cdi(const char *unused, const struct options *options)
{
	const char *path = options->values[OPT_OUTPUT], *root = options->values[OPT_ROOT];
	struct list list = { .nr = 0 };
	int ret;

	(void)unused;
	ret = root_init(&list.root, root);
	if (ret)
		return file_failed(root ? root : "/", -ret);
	ret = list_read(&list);
	if (ret && ret != -ENOENT)
		ret = fail(EXIT_FAILED, "%s", strerror(-ret));
	else
		ret = list.nr ? put_spec(&list, path) : no_device(path, !ret);
	free(list.entries);
	root_exit(&list.root);
	return ret;
}
