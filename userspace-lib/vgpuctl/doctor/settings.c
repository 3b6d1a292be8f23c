// SPDX-License-Identifier: MIT
/* Settings of vgpud, as its files say. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/number.h"
#include "vgpuctl/doctor/settings.h"
#include "vgpud/base/confs.h"
#include "vgpud/base/ini.h"

/* Defaults of uid-base and uid-count. */
#define UID_BASE	1879048192
#define UID_COUNT	65536

/**
 * struct reader - a file that is being read
 * @root: root directory of the system
 * @settings: settings so far
 * @path: path of the file
 * @export: the export whose section is being read; NULL: none
 * @fn: function for a line
 */
struct reader {
	const struct root *root;
	struct settings *settings;
	const char *path;
	struct wanted *export;
	void (*fn)(void *data, const struct ini_line *line);
};

static void *list_more(struct settings *settings, void *list, size_t nr, size_t size)
{
	char *more = reallocarray(list, nr + 1, size);

	if (more)
		memset(more + nr * size, 0, size);
	else
		settings->no_memory = true;
	return more;
}

static bool is(const struct ini_line *line, const char *section, const char *name)
{
	return line->name && !strcmp(line->section, section) && !strcmp(line->name, name);
}

/* --- settings and guests --------------------------------------------------- */

static void named_line(struct settings *settings, const struct ini_line *line)
{
	struct named *named;
	uint32_t cid, port;
	char name[32];

	if (sscanf(line->section, "guest %31s", name) != 1 || !line->name ||
	    strcmp(line->name, "cid") || !number_parse_guest(line->value, &cid, &port))
		return;
	named = list_more(settings, settings->named, settings->nr_named, sizeof(*named));
	if (!named)
		return;
	settings->named = named;
	snprintf(named[settings->nr_named].name, sizeof(named->name), "%s", name);
	named[settings->nr_named++].cid = cid;
}

static void socket_line(struct reader *reader, const struct ini_line *line)
{
	struct settings *settings = reader->settings;
	char dir[256];
	char *slash;

	if (!line->name || strcmp(line->section, "sockets") || !strcmp(line->name, "owner"))
		return;
	settings->socket_dirs++;
	snprintf(dir, sizeof(dir), "%s", line->value);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	if (!root_exists(reader->root, dir))
		snprintf(settings->socket_dir, sizeof(settings->socket_dir), "%s", dir);
}

static void settings_line(void *data, const struct ini_line *line)
{
	struct reader *reader = data;
	struct settings *settings = reader->settings;

	if (line->mistake)
		return;
	named_line(settings, line);
	socket_line(reader, line);
	if (is(line, "agent", "engine"))
		snprintf(settings->engine, sizeof(settings->engine), "%s", line->value);
	else if (is(line, "agent", "vsock"))
		settings->vsock = strcmp(line->value, "no");
	else if (is(line, "agent", "exports-dir"))
		snprintf(settings->exports_dir, sizeof(settings->exports_dir), "%s", line->value);
	else if (is(line, "agent", "socket"))
		snprintf(settings->socket, sizeof(settings->socket), "%s", line->value);
	else if (is(line, "shadow", "cgroups"))
		snprintf(settings->cgroups, sizeof(settings->cgroups), "%s", line->value);
	else if (is(line, "shadow", "program"))
		snprintf(settings->program, sizeof(settings->program), "%s", line->value);
	else if (is(line, "shadow", "namespaces"))
		settings->namespaces = strcmp(line->value, "no");
	else if (is(line, "agent", "port"))
		number_parse(line->value, &settings->port);
	else if (is(line, "shadow", "uid-base"))
		number_parse(line->value, &settings->uid_base);
	else if (is(line, "shadow", "uid-count"))
		number_parse(line->value, &settings->uid_count);
	if (is(line, "agent", "control-group")) {
		snprintf(settings->group, sizeof(settings->group), "%s", line->value);
		settings->group_given = true;
	}
}

/* --- exports --------------------------------------------------------------- */

static void add_guest(struct reader *reader, const char *word)
{
	const struct settings *settings = reader->settings;
	struct wanted *export = reader->export;
	uint32_t cid = 0, port;
	size_t i;

	if (!number_parse_guest(word, &cid, &port))
		for (i = 0; i < settings->nr_named; i++)
			if (!strcmp(settings->named[i].name, word))
				cid = settings->named[i].cid;
	/* vgpud says so if a word is neither a number nor the name of a guest. */
	if (cid && export->nr_guests < WANTED_GUESTS)
		export->guests[export->nr_guests++] = cid;
}

static void begin_export(struct reader *reader, const char *name)
{
	struct settings *settings = reader->settings;
	struct wanted *exports = list_more(settings, settings->exports, settings->nr_exports,
					   sizeof(*exports));
	struct wanted *export;

	reader->export = NULL;
	if (!exports)
		return;
	settings->exports = exports;
	export = &exports[settings->nr_exports];
	export->file = strdup(reader->path);
	export->name = strdup(name);
	if (!export->file || !export->name) {
		free(export->file);
		free(export->name);
		settings->no_memory = true;
		return;
	}
	settings->nr_exports++;
	reader->export = export;
}

static void export_line(void *data, const struct ini_line *line)
{
	struct reader *reader = data;
	char *words, *word, *rest;

	if (line->mistake)
		return;
	if (!line->name) {
		begin_export(reader, line->section);
		return;
	}
	if (!reader->export)
		return;
	if (!strcmp(line->name, "path")) {
		snprintf(reader->export->path, sizeof(reader->export->path), "%s", line->value);
	} else if (!strcmp(line->name, "nvidia")) {
		reader->export->nvidia = true;
	} else if (!strcmp(line->name, "any-port")) {
		reader->export->any_port = !strcmp(line->value, "yes");
	} else if (!strcmp(line->name, "window")) {
		number_parse_size(line->value, &reader->export->window);
	} else if (!strcmp(line->name, "to")) {
		words = strdup(line->value);
		reader->settings->no_memory |= !words;
		for (word = words ? strtok_r(words, ", \t", &rest) : NULL; word;
		     word = strtok_r(NULL, ", \t", &rest))
			add_guest(reader, word);
		free(words);
	}
}

/* --- files ----------------------------------------------------------------- */

/* Read a file of the system, by an fd: the reader of files takes a path. */
static int read_file(struct reader *reader, const char *path)
{
	int fd = root_open(reader->root, path, O_RDONLY);
	struct stat st;
	char link[32];

	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	reader->path = path;
	reader->export = NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		reader->settings->no_memory |= ini_read(link, reader->fn, reader) == -ENOMEM;
	close(fd);
	return 0;
}

static int read_found(void *data, const char *found)
{
	struct reader *reader = data;
	char path[512];

	/* confs_each() was given a directory of /proc, and the file's name is needed only. */
	snprintf(path, sizeof(path), "%s/%s", reader->path, strrchr(found, '/') + 1);
	return read_file(&(struct reader){ reader->root, reader->settings, NULL, NULL, reader->fn },
			 path);
}

static void read_dir(struct reader *reader, const char *dir)
{
	int fd = root_open(reader->root, dir, O_RDONLY | O_DIRECTORY);
	char link[32];

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	reader->path = dir;
	confs_each(link, read_found, reader);
	close(fd);
}

void settings_read(const struct root *root, struct settings *settings)
{
	struct reader reader = { .root = root, .settings = settings, .fn = settings_line };

	memset(settings, 0, sizeof(*settings));
	settings->vsock = true;
	settings->namespaces = true;
	settings->uid_base = UID_BASE;
	settings->uid_count = UID_COUNT;
	strcpy(settings->group, "vgpu");
	strcpy(settings->cgroups, "yes");
	strcpy(settings->exports_dir, "/etc/vgpu/exports.d");
	snprintf(settings->program, sizeof(settings->program), "%s/vgpu-shadow", LIBEXECDIR);
	read_file(&reader, VGPUD_CONF);
	read_dir(&reader, GUESTS_DIR);
	reader.fn = export_line;
	read_dir(&reader, settings->exports_dir);
}

void settings_free(struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->nr_exports; i++) {
		free(settings->exports[i].file);
		free(settings->exports[i].name);
	}
	free(settings->exports);
	free(settings->named);
}

bool wanted_has(const struct wanted *wanted, uint32_t cid)
{
	size_t i;

	for (i = 0; i < wanted->nr_guests; i++)
		if (wanted->guests[i] == cid)
			return true;
	return false;
}

unsigned long long settings_window(const struct settings *settings, uint32_t cid)
{
	size_t i;

	for (i = 0; i < settings->nr_exports; i++)
		if (settings->exports[i].window && wanted_has(&settings->exports[i], cid))
			return settings->exports[i].window;
	return 0;
}
