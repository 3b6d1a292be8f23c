/* SPDX-License-Identifier: MIT */
/*
 * Settings from vgpud.conf, and the syntax of values in all files. Also the numbers of open files
 * and of process IDs that the programs of guests need, which follow from the limits of a guest.
 */
#ifndef VGPUD_CONFIG_H
#define VGPUD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"

/* Most user IDs of the processes that serve guests. */
#define SETTINGS_UIDS_MAX	65536

/* Group whose members may change things, unless a setting names another one. It need not exist. */
#define CONTROL_GROUP	"vgpu"

/**
 * enum cgroups - use of control groups of guests (process/cgroup.h)
 * @CGROUPS_NO: no groups are made
 * @CGROUPS_YES: groups are made, or vgpud does not start
 * @CGROUPS_AUTO: groups are made if there is a place for them (process/hierarchy.h)
 */
enum cgroups { CGROUPS_NO, CGROUPS_YES, CGROUPS_AUTO };

/**
 * struct settings - settings of vgpud.conf
 * @port: vsock port for guests that are not given another one
 * @vsock: true to listen on vsock
 * @socket: path of the control socket
 * @control_group: name of the group whose members may change things as root may; "": none
 * @engine: name of the engine, "kernel" or "user"; NULL: "kernel" if the module is loaded, or else
 *	"user"
 * @exports_dir: directory of the files of exports
 * @guests_dir: directory of the files of guests
 * @guests_dir_named: true if the file names @guests_dir, which has to exist then
 * @handshake_timeout_ms: time after which a connection whose handshake (handshake.h) is not over is
 *	closed
 * @pending: most connections in their handshake, of all guests
 * @pending_per_guest: most of these connections of one guest
 * @buffer_size: size of a large vsock buffer of a connection in bytes (guest/buffer.h)
 * @fetch_timeout_ms: see struct vgpu_host_agent
 * @ping_timeout_ms: see struct vgpu_host_agent
 * @lasting_timeout_ms: time in milliseconds for which guests go on without a vgpud, with @lasting
 * @limits: limits of a guest for which nothing else is said (guests.h)
 * @shadow: path of vgpu-shadow; the programs of engines are in the same directory
 * @uid_base: first user ID of the processes that serve guests (confine.h)
 * @uid_count: number of these user IDs; each guest and each keeper has one of its own
 * @gid: group ID of these processes
 * @namespaces: true to run them in namespaces other than the host's
 * @cgroups: use of a control group for each guest
 * @lasting: true if guests of the host module go on without vgpud for a while (host/hostdev.h);
 *	main.c and hostdev.c make it false where that cannot be
 * @all_groups: limits of the group that has the groups of all guests and keepers
 * @swap: bytes of swap that all guests together may have (memory.swap.max)
 * @buffers: bytes of large vsock buffers that the lanes of a guest, and of all guests, may have
 */
struct settings {
	unsigned int port;
	bool vsock;
	char *socket;
	char *control_group;
	char *engine;
	char *exports_dir;
	char *guests_dir;
	bool guests_dir_named;
	unsigned int handshake_timeout_ms;
	unsigned int pending;
	unsigned int pending_per_guest;
	unsigned int buffer_size;
	struct {
		unsigned int fetch_timeout_ms;
		unsigned int ping_timeout_ms;
		unsigned int lasting_timeout_ms;
	};
	struct limits limits;
	char *shadow;
	unsigned int uid_base;
	unsigned int uid_count;
	unsigned int gid;
	bool namespaces;
	enum cgroups cgroups;
	bool lasting;
	struct group_limits all_groups;
	uint64_t swap;
	struct {
		uint64_t guest;
		uint64_t all;
	} buffers;
};

extern struct settings settings;

/*
 * Read the settings. A missing file is an error only if @must_exist. Mistakes are logged.
 * Return: 0 or a negative errno.
 */
int config_read(const char *path, bool must_exist);

/* Parse "yes", "no" and similar words. Return: 0 or -EINVAL. */
int config_bool(const char *text, bool *value);

/*
 * Parse a size in bytes, or a percentage ("25%") of the memory that this machine has beside huge
 * pages. Return: 0 or -EINVAL.
 */
int config_memory(const char *text, unsigned long long min, unsigned long long max,
		  unsigned long long *value);

/* Parse a number with an optional K, M, G or T (powers of 1024). Return: 0 or -EINVAL. */
int config_number(const char *text, unsigned long long min, unsigned long long max,
		  unsigned long long *value);

/* Kinds of the programs of guests, which vgpud starts (process/spawn.h). */
enum spawn_kind {
	SPAWN_SHADOW,		/* a shadow of the host module */
	SPAWN_ENGINE,		/* a guest's engine */
	SPAWN_ENGINE_SHADOW,	/* a shadow of an engine */
	SPAWN_KEEPER,		/* the keeper of a guest's window, also beside the host module */
	SPAWN_MASTER,		/* vgpu-engine-master, with CAP_SYS_ADMIN */
	SPAWN_KINDS
};

/* Seconds' worth of sessions and connections that a guest may begin at once (pace.h). */
#define PACE_BURST_S	4

struct answer;

/* Return the number of files that a program of this kind may have open, by its guest's limits. */
unsigned long long room_files(enum spawn_kind kind, const struct limits *limits);

/*
 * Check that fs.nr_open allows as many open files as a program with @objects objects may need.
 * Return: 0, or -EINVAL with words in @words.
 */
int room_check(unsigned int objects, struct answer *words);

/*
 * Return the largest number of zombies that a guest with these limits may have.
 *
 * Zombies occupy process IDs of the host. A shadow stays a zombie while files are open that its
 * session shared with other processes of the guest. Without such files a shadow is a zombie for
 * some seconds (engine/process/tgid.c). The guest can begin sessions at its rate in these seconds,
 * and PACE_BURST_S seconds' worth of them at once before.
 */
unsigned int room_zombies(const struct limits *limits);

/* Return the largest number of threads and zombies that the shadows of a guest may have. */
unsigned long long room_threads(const struct limits *limits);

/*
 * Set the limits of groups to their defaults, before the file is read. They depend on the size of
 * this machine. Return: 0, or -ENOMEM if the size cannot be read.
 */
int groups_default(void);
/* Compute the limits of the group of all guests that the file has left to vgpud. */
void groups_complete(void);
/* Return the limits of a guest's group, with those computed that are left to vgpud. */
struct group_limits group_limits_of(const struct limits *limits);

#endif /* VGPUD_CONFIG_H */
