// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "cards.h"
#include "config.h"
#include "export.h"
#include "log.h"
#include "number.h"
#include "nvidia_ioctls.h"
#include "unixsock.h"
#include "wanted.h"
#include "window.h"

#ifndef LIBEXECDIR
#define LIBEXECDIR "/usr/libexec/vgpu"
#endif

struct settings settings = {
	.port = VGPU_WIRE_PORT,
	.vsock = true,
	.handshake_timeout_ms = 5000,
	.pending = 1024,
	.pending_per_guest = 256,
	.buffer_size = 1 << 20,
	.fetch_timeout_ms = 2000,
	.ping_timeout_ms = 10000,
	.limits = {
		.sessions = 256,
		.lanes = 128,
		.objects = 16384,
		.fds_per_call = VGPU_FDS_MAX,
		.call_bytes = 16 << 20,
		.pages = 4096,
		.mappings = 8192,
		.mapped_bytes = 64ULL << 30,
		.kept_bytes = 16ULL << 30,
	},
	.uid_base = 1879048192,
	.uid_count = 65536,
	.gid = 65534,
	.namespaces = true,
	.seccomp = true,
};

enum type { TYPE_UINT, TYPE_U64, TYPE_BOOL, TYPE_STRING };

/* Every setting: where it is in the file and in memory, and what it may be. */
static const struct key {
	const char *section;
	const char *name;
	enum type type;
	size_t offset;
	unsigned long long min, max;
} keys[] = {
#define KEY(section, name, type, member, min, max) \
	{ section, name, type, offsetof(struct settings, member), min, max }
	KEY("agent", "port", TYPE_UINT, port, 1, UINT_MAX - 1),
	KEY("agent", "vsock", TYPE_BOOL, vsock, 0, 0),
	KEY("agent", "socket", TYPE_STRING, socket, 0, 0),
	KEY("agent", "engine", TYPE_STRING, engine, 0, 0),
	KEY("agent", "exports-dir", TYPE_STRING, exports_dir, 0, 0),
	KEY("agent", "handshake-timeout-ms", TYPE_UINT, handshake_timeout_ms, 1, 600000),
	KEY("agent", "pending", TYPE_UINT, pending, 1, 65536),
	KEY("agent", "pending-per-guest", TYPE_UINT, pending_per_guest, 1, 65536),
	KEY("agent", "buffer-size", TYPE_UINT, buffer_size, 65536, 64 << 20),
	KEY("agent", "fetch-timeout-ms", TYPE_UINT, fetch_timeout_ms, 1, 60000),
	KEY("agent", "ping-timeout-ms", TYPE_UINT, ping_timeout_ms, 0, 3600000),
	KEY("limits", "sessions", TYPE_UINT, limits.sessions, 1, 65536),
	KEY("limits", "lanes", TYPE_UINT, limits.lanes, 2, 512),
	KEY("limits", "objects", TYPE_UINT, limits.objects, 1, 1 << 20),
	KEY("limits", "fds-per-call", TYPE_UINT, limits.fds_per_call, 1, VGPU_FDS_MAX),
	KEY("limits", "call-bytes", TYPE_UINT, limits.call_bytes, VGPU_CALL_BYTES_MIN,
	    VGPU_CALL_BYTES_MAX),
	KEY("limits", "pages", TYPE_UINT, limits.pages, 16, 1 << 20),
	KEY("limits", "mappings", TYPE_UINT, limits.mappings, 1, 32768),
	KEY("limits", "mapped-bytes", TYPE_U64, limits.mapped_bytes, 4096, 1ULL << 46),
	KEY("limits", "kept-bytes", TYPE_U64, limits.kept_bytes, 4096, 1ULL << 46),
	KEY("limits", "memory", TYPE_U64, memory_max, 0, 1ULL << 46),
	KEY("shadow", "program", TYPE_STRING, shadow, 0, 0),
	KEY("shadow", "uid-base", TYPE_UINT, uid_base, 1, UINT_MAX - 65537),
	KEY("shadow", "uid-count", TYPE_UINT, uid_count, 1, 65536),
	KEY("shadow", "gid", TYPE_UINT, gid, 1, UINT_MAX - 1),
	KEY("shadow", "namespaces", TYPE_BOOL, namespaces, 0, 0),
	KEY("shadow", "seccomp", TYPE_BOOL, seccomp, 0, 0),
	KEY("shadow", "cgroups", TYPE_BOOL, cgroups, 0, 0),
#undef KEY
};

int config_bool(const char *text, bool *value)
{
	static const char *const words[2][4] = {
		{ "no", "false", "off", "0" }, { "yes", "true", "on", "1" },
	};
	unsigned int i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 4; j++)
			if (!strcmp(text, words[i][j])) {
				*value = i;
				return 0;
			}
	return -EINVAL;
}

/* A number with an optional K, M, G or T (powers of 1024). */
static int parse_number(const char *text, unsigned long long min, unsigned long long max,
			unsigned long long *value)
{
	if (!number_parse_size(text, value))
		return -EINVAL;
	return *value < min || *value > max ? -EINVAL : 0;
}

int config_guest(const char *text, uint32_t *cid, uint32_t *port)
{
	return number_parse_guest(text, cid, port) ? 0 : -EINVAL;
}

static int set_key(const struct key *key, const char *text)
{
	void *member = (char *)&settings + key->offset;
	unsigned long long number;

	switch (key->type) {
	case TYPE_BOOL:
		if (!config_bool(text, member))
			return 0;
		log_error("%s: '%s' is neither yes nor no", key->name, text);
		return -EINVAL;
	case TYPE_STRING:
		free(*(char **)member);
		*(char **)member = strdup(text);
		return *(char **)member ? 0 : -ENOMEM;
	default:
		if (parse_number(text, key->min, key->max, &number)) {
			log_error("%s: '%s' is no number from %llu to %llu", key->name, text,
				  key->min, key->max);
			return -EINVAL;
		}
		if (key->type == TYPE_U64)
			*(uint64_t *)member = number;
		else
			*(unsigned int *)member = number;
		return 0;
	}
}

/* A guest's line, CID = PATH, or owner = USER. */
static int sockets_line(const char *name, const char *value)
{
	unsigned long long cid;
	const char *words;

	if (!strcmp(name, "owner")) {
		if (*value && !unixsock_owner(value))
			return 0;
		log_error("owner: there is no user '%s'", value);
		return -EINVAL;
	}
	/* 0 to 2 are machines' names for themselves and their hosts. */
	if (!number_parse(name, &cid) || cid < 3 || cid >= UINT_MAX) {
		log_error("[sockets]: '%s' is no context ID of a guest", name);
		return -EINVAL;
	}
	if (!unixsock_add(cid, value, &words))
		return 0;
	log_error("[sockets]: %s = %s: %s", name, value, words);
	return -EINVAL;
}

static int settings_line(void *unused, const char *section, const char *name, const char *value)
{
	size_t i;

	(void)unused;
	if (!strcmp(section, "sockets"))
		return !sockets_line(name, value);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i].section, section) && !strcmp(keys[i].name, name))
			return !set_key(&keys[i], value);
	log_error("there is no setting '%s' in a section [%s]", name, section);
	return 0;
}

static int set_default(char **member, const char *text)
{
	if (!*member)
		*member = strdup(text);
	return *member ? 0 : -ENOMEM;
}

int config_read(const char *path, bool must_exist)
{
	int line = ini_parse(path, settings_line, NULL);

	if (line > 0) {
		log_error("%s:%d: not understood", path, line);
		return -EINVAL;
	}
	if (line < 0 && must_exist) {
		log_error("%s: cannot be read", path);
		return -EINVAL;
	}
	if (set_default(&settings.socket, "/run/vgpu/vgpud.sock") ||
	    set_default(&settings.exports_dir, "/etc/vgpu/exports.d") ||
	    set_default(&settings.shadow, LIBEXECDIR "/vgpu-shadow"))
		return -ENOMEM;
	if (settings.memory_max && !settings.cgroups) {
		log_error("the limit 'memory' needs 'cgroups = yes' in [shadow]");
		return -EINVAL;
	}
	if (LIST_EMPTY(&unixsock_guests) && !settings.vsock) {
		log_error("'vsock = no' in [agent] leaves guests no way but [sockets], which names none");
		return -EINVAL;
	}
	if (!LIST_EMPTY(&unixsock_guests) && (!settings.engine || strcmp(settings.engine, "user"))) {
		log_error("[sockets] needs 'engine = user': the host module takes vsock connections only");
		return -EINVAL;
	}
	return 0;
}

/* --- exports.d ------------------------------------------------------------ */

/* One file's exports, as far as it was read. */
struct exports_file {
	const char *name;
	FILE *stream;
	/* That was read last, and whether all of it was. */
	unsigned int line;
	bool line_ended;
	unsigned int mistakes;
	struct export_spec *specs;
	size_t nr;
};

static void __attribute__((format(printf, 4, 5)))
exports_mistake(struct exports_file *file, unsigned int line, const char *section,
		const char *fmt, ...)
{
	struct answer words;
	va_list args;

	va_start(args, fmt);
	vsnprintf(words.text, sizeof(words.text), fmt, args);
	va_end(args);
	file->mistakes++;
	log_error("%s:%u: [%s]: %s", file->name, line, section, words.text);
}

static struct export_spec *file_spec(struct exports_file *file, const char *section)
{
	struct export_spec *spec;
	size_t i;

	for (i = 0; i < file->nr; i++)
		if (!strcmp(file->specs[i].name, section))
			return &file->specs[i];

	if (!export_name_ok(section)) {
		exports_mistake(file, file->line, section,
				"a name has 1 to 31 of A-Z a-z 0-9 . _ -");
		return NULL;
	}
	spec = realloc(file->specs, (file->nr + 1) * sizeof(*spec));
	if (!spec)
		return NULL;
	file->specs = spec;
	spec += file->nr++;
	memset(spec, 0, sizeof(*spec));
	snprintf(spec->name, sizeof(spec->name), "%s", section);
	spec->line = file->line;
	return spec;
}

/* Calls fn for each word of a list separated by commas or spaces. */
static int for_each_word(const char *text, int (*fn)(struct export_spec *spec, const char *word),
			 struct export_spec *spec)
{
	char *copy = strdup(text), *rest = copy, *word;
	int ret = copy ? 0 : -ENOMEM;

	while (!ret && (word = strsep(&rest, ", \t\n")))
		if (*word)
			ret = fn(spec, word);
	free(copy);
	return ret;
}

static int add_guest(struct export_spec *spec, const char *word)
{
	uint32_t cid, port;

	if (config_guest(word, &cid, &port))
		return -EINVAL;
	return export_spec_add_guest(spec, cid, port);
}

static int add_card(struct export_spec *spec, const char *word)
{
	unsigned long long card;

	if (parse_number(word, 0, NVIDIA_CARDS - 1, &card))
		return -EINVAL;
	cards_add(&spec->cards, card);
	return 0;
}

static int add_ioctl(struct export_spec *spec, const char *word)
{
	unsigned long long value;
	uint32_t i;

	for (i = 0; i < vgpu_nvidia_nr_ioctls; i++)
		if (!strcmp(vgpu_nvidia_ioctls[i].name, word))
			return export_spec_add_ioctl(spec, vgpu_nvidia_ioctls[i].key);
	if (parse_number(word, 0, UINT_MAX, &value))
		return -EINVAL;
	return export_spec_add_ioctl(spec, value);
}

/* These two say in @words what is wrong. */
static int set_window(struct export_spec *spec, const char *text, struct answer *words)
{
	unsigned long long size;
	const char *mistake;

	if (parse_number(text, 0, ULLONG_MAX, &size)) {
		snprintf(words->text, sizeof(words->text),
			 "'%s' is no size: give bytes, or a number with K, M, G or T", text);
		return -EINVAL;
	}
	mistake = window_size_mistake(size);
	if (mistake) {
		snprintf(words->text, sizeof(words->text), "'%s': %s", text, mistake);
		return -EINVAL;
	}
	spec->window.size = size;
	return 0;
}

static int set_window_user(struct export_spec *spec, const char *text, struct answer *words)
{
	uint32_t uid, gid;

	if (!*text || strlen(text) >= sizeof(spec->window.user) ||
	    window_owner(text, &uid, &gid)) {
		snprintf(words->text, sizeof(words->text), "there is no user '%s'", text);
		return -EINVAL;
	}
	strcpy(spec->window.user, text);
	return 0;
}

static int exports_key(struct export_spec *spec, const char *name, const char *value,
		       struct answer *words)
{
	bool deny = !strcmp(name, "deny-ioctls");

	if (!strcmp(name, "path")) {
		if (strlen(value) >= sizeof(spec->path))
			return -EINVAL;
		strcpy(spec->path, value);
		return 0;
	}
	if (!strcmp(name, "nvidia"))
		return for_each_word(value, add_card, spec);
	if (!strcmp(name, "to"))
		return for_each_word(value, add_guest, spec);
	if (!strcmp(name, "any-port"))
		return config_bool(value, &spec->any_port);
	if (!strcmp(name, "read-only"))
		return config_bool(value, &spec->read_only);
	if (!strcmp(name, "master"))
		return config_bool(value, &spec->master);
	if (deny || !strcmp(name, "allow-ioctls")) {
		if (spec->nr_ioctls && spec->ioctls_deny != deny)
			return -EINVAL;
		spec->ioctls_deny = deny;
		return for_each_word(value, add_ioctl, spec);
	}
	if (!strcmp(name, "window"))
		return set_window(spec, value, words);
	if (!strcmp(name, "window-user"))
		return set_window_user(spec, value, words);
	snprintf(words->text, sizeof(words->text), "there is no such setting");
	return -EINVAL;
}

static int exports_line(void *data, const char *section, const char *name, const char *value)
{
	struct exports_file *file = data;
	struct export_spec *spec = file_spec(file, section);
	struct answer words = { "wrong value" };
	int ret;

	if (!spec)
		return 0;
	ret = exports_key(spec, name, value, &words);
	if (ret)
		exports_mistake(file, file->line, section, "%s: %s", name, words.text);
	else if (!strncmp(name, "window", strlen("window")))
		spec->window.line = file->line;
	return !ret;
}

/* What is missing shows at the end only. */
static void exports_check(struct exports_file *file)
{
	struct export_spec *spec;

	for (spec = file->specs; spec < file->specs + file->nr; spec++) {
		if ((!spec->path[0] && !spec->cards.any) || !spec->nr_guests)
			exports_mistake(file, spec->line, spec->name,
					"needs path= or nvidia=, and to=");
		if (spec->cards.any && (spec->path[0] || spec->master || spec->read_only ||
					spec->nr_ioctls))
			exports_mistake(file, spec->line, spec->name,
					"nvidia= goes with to=, any-port= and window= only");
		if (spec->window.user[0] && !spec->window.size)
			exports_mistake(file, spec->window.line, spec->name,
					"window-user= needs window=");
	}
}

/* fgets(), counting lines: a long one comes in pieces. */
static char *exports_gets(char *text, int size, void *data)
{
	struct exports_file *file = data;
	char *got = fgets(text, size, file->stream);

	if (!got)
		return NULL;
	if (file->line_ended)
		file->line++;
	file->line_ended = strchr(text, '\n');
	return got;
}

static int parse_exports_file(struct exports_file *file)
{
	int line;

	file->line_ended = true;
	file->stream = fopen(file->name, "re");
	if (!file->stream) {
		log_error("%s: %s", file->name, strerror(errno));
		return -EINVAL;
	}
	line = ini_parse_stream(exports_gets, file, exports_line, file);
	fclose(file->stream);
	/* The first one; the others have been said. */
	if (line && !file->mistakes) {
		log_error("%s:%d: not understood", file->name, line);
		return -EINVAL;
	}
	exports_check(file);
	return file->mistakes ? -EINVAL : 0;
}

/* @broken: becomes true if nothing is known of what it says */
static int read_exports_file(const char *path, bool check, bool *broken)
{
	struct exports_file file = { .name = path };
	int ret = parse_exports_file(&file);
	size_t i;

	if (ret) {
		log_error("%s: not used because of its mistakes", path);
		exports_keep(path);
		wanted_keep(path);
		*broken = true;
	}
	for (i = 0; !ret && i < file.nr; i++) {
		if (wanted_add(&file.specs[i], path))
			ret = -EINVAL;
		if (file.specs[i].cards.any ? cards_sync(&file.specs[i], path) :
		    !check && exports_sync(&file.specs[i], path))
			ret = -EINVAL;
	}
	for (i = 0; i < file.nr; i++)
		export_spec_free(&file.specs[i]);
	free(file.specs);
	return ret;
}

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".conf");
}

static int read_exports(bool check)
{
	struct dirent **entries = NULL;
	char path[PATH_MAX];
	bool broken = false;
	int i, nr, ret = 0;

	nr = scandir(settings.exports_dir, &entries, is_conf, alphasort);
	if (nr < 0) {
		log_error("%s: %s", settings.exports_dir, strerror(errno));
		/* Not there is as good as empty. */
		if (errno != ENOENT)
			return -EINVAL;
	}
	exports_sync_begin();
	wanted_begin();
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", settings.exports_dir, entries[i]->d_name);
		if (read_exports_file(path, check, &broken))
			ret = -EINVAL;
		free(entries[i]);
	}
	free(entries);
	if (cards_sync_end(settings.exports_dir, broken, check))
		ret = -EINVAL;
	wanted_end();
	exports_sync_end();
	return ret;
}

int config_check_exports(void)
{
	return read_exports(true);
}

int config_read_exports(void)
{
	int ret = read_exports(false);

	wanted_sync();
	return ret;
}
