/* SPDX-License-Identifier: MIT */
/*
 * Settings (vgpud.conf), and how values are written in all files.
 */
#ifndef VGPUD_CONFIG_H
#define VGPUD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/vgpu_host.h>

/**
 * enum cgroups - control groups of guests (cgroup.h)
 * @CGROUPS_NO: none are made
 * @CGROUPS_YES: they are made, or vgpud does not start
 * @CGROUPS_AUTO: they are made where the group that vgpud runs in was delegated to it
 */
enum cgroups { CGROUPS_NO, CGROUPS_YES, CGROUPS_AUTO };

/**
 * struct settings - what vgpud.conf can say
 * @port: vsock port for guests that have none of their own
 * @vsock: listen on vsock
 * @socket: path of the control socket
 * @exports_dir: where the files of exports are
 * @handshake_timeout_ms: a connection that has not said what it is by then is
 *	closed
 * @pending: connections in that state, all together
 * @pending_per_guest: of one CID
 * @buffer_size: vsock buffer of each connection, bytes
 * @fetch_timeout_ms: see struct vgpu_host_agent
 * @patience_ms: likewise
 * @ping_timeout_ms: likewise
 * @session_rate: sessions and connections that a guest may begin each second, beyond a burst
 *	(pace.h)
 * @limits: of one guest; no member is 0
 * @engine: "kernel" or "user"; NULL: the first, where it is there
 * @shadow: path of vgpu-shadow; programs of engines are beside it
 * @uid_base: first of the user ids that guests' shadows run as
 * @uid_count: guests at once
 * @gid: their group
 * @namespaces: put them into namespaces of their own
 * @cgroups: whether each guest's resources are counted in a control group
 * @memory_max: of such a group, bytes; 0: no limit
 */
struct settings {
	unsigned int port;
	bool vsock;
	char *socket;
	char *engine;
	char *exports_dir;
	unsigned int handshake_timeout_ms;
	unsigned int pending;
	unsigned int pending_per_guest;
	unsigned int buffer_size;
	unsigned int fetch_timeout_ms;
	unsigned int patience_ms;
	unsigned int ping_timeout_ms;
	unsigned int session_rate;
	struct vgpu_host_limits limits;
	char *shadow;
	unsigned int uid_base;
	unsigned int uid_count;
	unsigned int gid;
	bool namespaces;
	enum cgroups cgroups;
	uint64_t memory_max;
};

extern struct settings settings;

/*
 * Reads the file; a missing one is an error only if @must_exist. Says what is
 * wrong by itself. 0 or -EINVAL.
 */
int config_read(const char *path, bool must_exist);

/* "yes", "no" and the like. 0 or -EINVAL. */
int config_bool(const char *text, bool *value);

/* A number, perhaps with K, M, G or T (powers of 1024) behind it. 0 or -EINVAL. */
int config_number(const char *text, unsigned long long min, unsigned long long max,
		  unsigned long long *value);

/* CID[:PORT]; the port is 0 if not given. 0 or -EINVAL. */
int config_guest(const char *text, uint32_t *cid, uint32_t *port);

#endif /* VGPUD_CONFIG_H */
