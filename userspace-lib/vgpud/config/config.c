// SPDX-License-Identifier: MIT
/*
 * Settings: reader of vgpud.conf. Also the numbers of open files and of zombies that guests need,
 * which follow from the settings.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "base/answer.h"
#include "base/ini.h"
#include "base/sysfs.h"
#include "base/unixsock.h"
#include "config/config.h"
#include "config/guestfile.h"
#include "shared/log.h"
#include "shared/number.h"
#include "shared/word.h"

#ifndef LIBEXECDIR
#define LIBEXECDIR "/usr/libexec/vgpu"
#endif

/*
 * Number of files of an engine or its shadow beside two for each object. It must be larger than
 * FILES_OBJECTS (engine/shadow/thread/thread.h), from which a shadow numbers the files of objects.
 */
#define ENGINE_FILES	4096

/*
 * Number of files of a keeper: those of the guest's memory and of the mappings in its window, and
 * those that wait to be closed.
 */
#define KEEPER_FILES	4096

/* Number of files of vgpu-engine-master: its own, and one that the engine sent. */
#define MASTER_FILES	16

/*
 * Number of threads of a shadow beside its lanes: the main thread, the service thread (host
 * module) or the pager and the tracer (engine), and some to spare while lanes come and go.
 */
#define EXTRA_THREADS	16

/* Number of zombies that a guest may have for each session that its limit allows. */
#define ZOMBIES_OF_A_SESSION	4
/* Most seconds for which the shadow of a session that shared no file stays a zombie. */
#define ZOMBIE_S		4

struct settings settings = {
	.port = VGPU_WIRE_PORT,
	.vsock = true,
	.handshake_timeout_ms = 5000,
	.pending = 1024,
	.pending_per_guest = 256,
	.buffer_size = 1 << 20,
	.fetch_timeout_ms = 2000,
	.ping_timeout_ms = 10000,
	.lasting_timeout_ms = 60000,
	.limits = {
		.host = {
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
		.session_rate = 32,
		.device_weight = VGPU_HOST_WEIGHT_DEFAULT,
		.device_cap = 100,
	},
	.uid_base = 1879048192,
	.uid_count = SETTINGS_UIDS_MAX,
	.gid = 65534,
	.namespaces = true,
	.cgroups = CGROUPS_YES,
};

enum type { TYPE_UINT, TYPE_U64, TYPE_MEMORY, TYPE_BOOL, TYPE_CGROUPS, TYPE_STRING };

/*
 * Table of all settings except limits (limits.c): name in the file, place in struct settings, and
 * valid range.
 */
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
	KEY("agent", "control-group", TYPE_STRING, control_group, 0, 0),
	KEY("agent", "engine", TYPE_STRING, engine, 0, 0),
	KEY("agent", "exports-dir", TYPE_STRING, exports_dir, 0, 0),
	KEY("agent", "guests-dir", TYPE_STRING, guests_dir, 0, 0),
	KEY("agent", "handshake-timeout-ms", TYPE_UINT, handshake_timeout_ms, 1, 600000),
	KEY("agent", "pending", TYPE_UINT, pending, 1, 65536),
	KEY("agent", "pending-per-guest", TYPE_UINT, pending_per_guest, 1, 65536),
	KEY("agent", "buffer-size", TYPE_UINT, buffer_size, 65536, 64 << 20),
	KEY("agent", "fetch-timeout-ms", TYPE_UINT, fetch_timeout_ms, 1, 60000),
	KEY("agent", "patience-ms", TYPE_UINT, limits.patience_ms, 0, 3600000),
	KEY("agent", "ping-timeout-ms", TYPE_UINT, ping_timeout_ms, 0, 3600000),
	KEY("agent", "lasting", TYPE_BOOL, lasting, 0, 0),
	KEY("agent", "lasting-timeout-ms", TYPE_UINT, lasting_timeout_ms, 1, 60000),
	KEY("limits", "buffers", TYPE_MEMORY, buffers.guest, 0, 1ULL << 46),
	KEY("all-guests", "buffers", TYPE_MEMORY, buffers.all, 0, 1ULL << 46),
	KEY("all-guests", "memory", TYPE_MEMORY, all_groups.memory, 0, 1ULL << 46),
	KEY("all-guests", "swap", TYPE_MEMORY, swap, 0, 1ULL << 46),
	KEY("all-guests", "device-memory", TYPE_U64, all_groups.device_memory, 0, 1ULL << 46),
	KEY("all-guests", "tasks", TYPE_UINT, all_groups.tasks, 0, GROUP_TASKS_MAX),
	KEY("all-guests", "cpu-weight", TYPE_UINT, all_groups.cpu_weight, 1, 10000),
	KEY("all-guests", "io-weight", TYPE_UINT, all_groups.io_weight, 1, 10000),
	KEY("shadow", "program", TYPE_STRING, shadow, 0, 0),
	KEY("shadow", "uid-base", TYPE_UINT, uid_base, 1, UINT_MAX - 65537),
	KEY("shadow", "uid-count", TYPE_UINT, uid_count, 1, SETTINGS_UIDS_MAX),
	KEY("shadow", "gid", TYPE_UINT, gid, 1, UINT_MAX - 1),
	KEY("shadow", "namespaces", TYPE_BOOL, namespaces, 0, 0),
	KEY("shadow", "cgroups", TYPE_CGROUPS, cgroups, 0, 0),
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

int config_number(const char *text, unsigned long long min, unsigned long long max,
		  unsigned long long *value)
{
	if (!number_parse_size(text, value))
		return -EINVAL;
	return *value < min || *value > max ? -EINVAL : 0;
}

/* Parse the words of config_bool(), or "auto". Return: 0 or -EINVAL. */
static int config_cgroups(const char *text, enum cgroups *value)
{
	bool wanted;

	if (!strcmp(text, "auto"))
		*value = CGROUPS_AUTO;
	else if (!config_bool(text, &wanted))
		*value = wanted ? CGROUPS_YES : CGROUPS_NO;
	else
		return -EINVAL;
	return 0;
}

static int set_key(const struct key *key, const char *text, struct answer *words)
{
	void *member = (char *)&settings + key->offset;
	unsigned long long number;

	switch (key->type) {
	case TYPE_BOOL:
		if (!config_bool(text, member))
			return 0;
		return answer_say(words, -EINVAL, "'%s' is neither yes nor no", text);
	case TYPE_CGROUPS:
		if (!config_cgroups(text, member))
			return 0;
		return answer_say(words, -EINVAL, "'%s' is not yes, no or auto", text);
	case TYPE_STRING:
		free(*(char **)member);
		*(char **)member = strdup(text);
		return *(char **)member ? 0 : answer_say(words, -EINVAL, "out of memory");
	case TYPE_MEMORY:
		if (config_memory(text, key->min, key->max, &number))
			return answer_say(words, -EINVAL, "'%s' is neither a number from %llu to %llu nor a percentage of memory up to 100%%",
					  text, key->min, key->max);
		*(uint64_t *)member = number;
		return 0;
	default:
		if (config_number(text, key->min, key->max, &number))
			return answer_say(words, -EINVAL, "'%s' is not a number from %llu to %llu",
					  text, key->min, key->max);
		if (key->type == TYPE_U64)
			*(uint64_t *)member = number;
		else
			*(unsigned int *)member = number;
		return 0;
	}
}

/**
 * struct settings_file - vgpud.conf while it is read
 * @name: path of the file
 * @mistakes: number of mistakes found in it
 * @lines: line numbers of the settings that occurred, by their index in keys[]; 0: none yet
 * @limits: the same for limits, by their numbers
 * @owner: true if the owner of the guests' sockets has been set
 */
struct settings_file {
	const char *name;
	unsigned int mistakes;
	unsigned int lines[sizeof(keys) / sizeof(keys[0])];
	unsigned int limits[LIMITS_MAX];
	bool owner;
};

/* Handle a line of [sockets]: CID = PATH, or owner = USER. */
static int sockets_line(struct settings_file *file, const struct ini_line *line,
			struct answer *words)
{
	unsigned long long cid;
	const char *why;

	if (!strcmp(line->name, "owner")) {
		if (file->owner)
			return answer_say(words, -EINVAL, "this setting is given twice: remove one of the lines");
		file->owner = true;
		if (*line->value && !unixsock_owner(line->value))
			return 0;
		return answer_say(words, -EINVAL, "there is no user '%s': give the name or the UID of one", line->value);
	}
	/* CIDs 0 to 2 are the hypervisor, the machine itself and its host. */
	if (!number_parse(line->name, &cid) || cid < 3 || cid >= UINT_MAX)
		return answer_say(words, -EINVAL, "'%s' is not the context id of a guest: give a number such as 3",
				  line->name);
	if (!unixsock_add(cid, line->value, &why))
		return 0;
	return answer_say(words, -EINVAL, "'%s': %s", line->value, why);
}

/* Handle a line of [limits] about a limit that a guest may have for itself, too. */
static int limits_line(struct settings_file *file, const struct ini_line *line, int limit,
		       struct answer *words)
{
	if (file->limits[limit])
		return answer_say(words, -EINVAL, "this setting is given twice: remove one of the lines");
	file->limits[limit] = line->number;
	return limits_parse(&settings.limits, limit, line->value, words);
}

/* Say that there is no setting of this name, or no section, and which one may be meant. */
static int say_unknown(const struct ini_line *line, struct answer *words)
{
	static const char *const sections[] = { "agent", "limits", "shadow", "sockets", NULL };
	const char *names[sizeof(keys) / sizeof(keys[0]) + LIMITS_MAX + 1], *near;
	const bool limits = !strcmp(line->section, "limits");
	size_t i, nr = 0;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i].section, line->section))
			names[nr++] = keys[i].name;
	if (!nr) {
		near = word_near(line->section, sections);
		return answer_say(words, -EINVAL, "there is no setting of that name, as there is no section [%s]%s%s%s (vgpud(8) has all)",
				  line->section, near ? ": did you mean [" : "", near ? near : "",
				  near ? "]?" : "");
	}
	for (i = 0; limits && limits_name(i); i++)
		names[nr++] = limits_name(i);
	names[nr] = NULL;
	near = word_near(line->name, names);
	return answer_say(words, -EINVAL, "there is no setting of that name%s%s%s (vgpud(8) has all)",
			  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int settings_line(struct settings_file *file, const struct ini_line *line,
			 struct answer *words)
{
	int limit = limits_find(line->name);
	size_t i;

	if (!strcmp(line->section, "sockets"))
		return sockets_line(file, line, words);
	if (!strcmp(line->section, "limits") && limit >= 0 && strcmp(line->name, "patience-ms"))
		return limits_line(file, line, limit, words);
	/* Old files may have this setting. A "no" in it must not go unnoticed. */
	if (!strcmp(line->section, "shadow") && !strcmp(line->name, "seccomp"))
		return answer_say(words, -EINVAL, "this setting is gone, because system calls are always filtered: remove the line");
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].section, line->section) || strcmp(keys[i].name, line->name))
			continue;
		if (file->lines[i])
			return answer_say(words, -EINVAL, "this setting is given twice: remove one of the lines");
		file->lines[i] = line->number;
		return set_key(&keys[i], line->value, words);
	}
	return say_unknown(line, words);
}

static void read_line(void *data, const struct ini_line *line)
{
	struct settings_file *file = data;
	struct answer words;

	if (line->mistake) {
		log_error("%s:%u: not understood: %s", file->name, line->number, line->mistake);
		file->mistakes++;
	} else if (guestfile_has(line->section)) {
		if (!guestfile_conf_line(file->name, line, &words))
			return;
		log_error("%s:%u: [%s]: %s%s%s", file->name, line->number, line->section,
			  line->name ? line->name : "", line->name ? ": " : "", words.text);
		file->mistakes++;
	} else if (line->name && settings_line(file, line, &words)) {
		log_error("%s:%u: [%s]: %s: %s", file->name, line->number, line->section,
			  line->name, words.text);
		file->mistakes++;
	}
}

unsigned long long room_files(enum spawn_kind kind, const struct limits *limits)
{
	switch (kind) {
	case SPAWN_MASTER:
		return MASTER_FILES;
	case SPAWN_KEEPER:
		return KEEPER_FILES;
	case SPAWN_SHADOW:
		/*
		 * A file of the guest may have a number of its own in each of the guest's
		 * shadows.
		 */
		return VGPU_LANE_FDS + (unsigned long long)limits->host.objects;
	default:
		return ENGINE_FILES + 2 * (unsigned long long)limits->host.objects;
	}
}

unsigned int room_zombies(const struct limits *limits)
{
	unsigned int shared = ZOMBIES_OF_A_SESSION * limits->host.sessions;
	unsigned int paced = (PACE_BURST_S + ZOMBIE_S) * limits->session_rate;

	return shared > paced ? shared : paced;
}

unsigned long long room_threads(const struct limits *limits)
{
	return (unsigned long long)limits->host.sessions *
		(limits->host.lanes + EXTRA_THREADS) + room_zombies(limits);
}

int room_check(unsigned int objects, struct answer *words)
{
	const struct limits limits = { .host.objects = objects };
	const bool kernel = settings.engine && !strcmp(settings.engine, "kernel");
	const bool user = settings.engine && !strcmp(settings.engine, "user");
	unsigned long long need = user ? 0 : room_files(SPAWN_SHADOW, &limits), most;

	/* Engines may serve the guests if the module is not loaded. */
	if (!kernel && room_files(SPAWN_ENGINE, &limits) > need)
		need = room_files(SPAWN_ENGINE, &limits);
	if (!sysctl_read("/proc/sys/fs/nr_open", &most) || need <= most)
		return 0;
	return answer_say(words, -EINVAL, "objects: with %u, a program of a guest needs up to %llu open files%s, but fs.nr_open is %llu: lower 'objects' or raise fs.nr_open",
			  objects, need,
			  kernel || user ? "" : " (fewer with 'engine = kernel' in [agent])", most);
}

/* Check that the host has room for the limits, and that the guests differ. */
static void settings_check(struct settings_file *file)
{
	unsigned int line = file->limits[limits_find("objects")];
	struct text mistakes = { 0 };
	struct answer words;
	char at[16] = "";

	if (line)
		snprintf(at, sizeof(at), ":%u", line);
	if (room_check(settings.limits.host.objects, &words)) {
		log_error("%s%s: [limits]: %s", file->name, at, words.text);
		file->mistakes++;
	}
	file->mistakes += guestfile_check(&guests_by_conf, &mistakes);
	text_log(&mistakes, log_error);
	text_free(&mistakes);
}

static int set_default(char **member, const char *text)
{
	if (!*member)
		*member = strdup(text);
	return *member ? 0 : -ENOMEM;
}

int config_read(const char *path, bool must_exist)
{
	struct settings_file file = { .name = path };
	int ret;

	if (groups_default()) {
		log_error("/proc/meminfo: cannot be read, or there is no memory for it");
		return -EINVAL;
	}
	ret = ini_read(path, read_line, &file);
	if (ret && (ret != -ENOENT || must_exist)) {
		log_error("%s: cannot be read: %s: run vgpud as root, or give another file with --config",
			  path, strerror(-ret));
		return -EINVAL;
	}
	settings_check(&file);
	if (file.mistakes)
		return -EINVAL;
	groups_complete();
	settings.guests_dir_named = settings.guests_dir;
	if (set_default(&settings.socket, "/run/vgpu/vgpud.sock") ||
	    set_default(&settings.control_group, CONTROL_GROUP) ||
	    set_default(&settings.exports_dir, "/etc/vgpu/exports.d") ||
	    set_default(&settings.guests_dir, "/etc/vgpu/guests.d") ||
	    set_default(&settings.shadow, LIBEXECDIR "/vgpu-shadow"))
		return -ENOMEM;
	if (settings.cgroups == CGROUPS_NO && settings.limits.group.memory &&
	    file.limits[limits_find("memory")]) {
		log_error("the limit 'memory' needs control groups: remove 'cgroups = no' from [shadow]");
		return -EINVAL;
	}
	if (LIST_EMPTY(&unixsock_guests) && !settings.vsock) {
		log_error("'vsock = no' in [agent] admits only the guests in [sockets], which is empty: name a guest there, or set 'vsock = yes'");
		return -EINVAL;
	}
	if (!LIST_EMPTY(&unixsock_guests) && (!settings.engine || strcmp(settings.engine, "user"))) {
		log_error("[sockets] needs 'engine = user' in [agent]: the host module accepts only vsock connections");
		return -EINVAL;
	}
	return 0;
}
