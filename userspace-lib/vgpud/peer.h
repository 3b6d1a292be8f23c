/* SPDX-License-Identifier: MIT */
/*
 * Peers: guests with a control connection.
 *
 * A peer is UP from WELCOME until it is dropped or the host module says that it
 * is gone. It stays in the list until its last process was reaped: until then
 * its user id must not become another guest's.
 */
#ifndef VGPUD_PEER_H
#define VGPUD_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <linux/vgpu_wire.h>

#include "session.h"

enum peer_state {
	PEER_NEW,	/* WELCOME is not sent, or not handed over yet */
	PEER_UP,
	PEER_GOING,	/* the module was told to end it */
	PEER_GONE,	/* the module has ended it; shadows are to be reaped */
};

#define PEER_NAMESPACES	3	/* net, ipc, uts */

/**
 * struct peer - a guest
 * @cid: who
 * @port: the port of ours by which it came
 * @trusted_port: its own port shows that its kernel or root opened it
 * @state: see above
 * @number: the host module's; valid while UP or GOING
 * @secret: what lanes prove themselves with
 * @keeper: this is not a guest, but what the keeper of its window is confined as (keeper.c)
 * @uid: user that its shadows run as
 * @since: CLOCK_REALTIME, seconds
 * @namespaces: those that its shadows share; -1: none yet
 * @cgroup_fd: their control group; -1: none yet
 * @sessions: its shadows that are not reaped
 * @nr_sessions: those among them that are not over
 * @ended: numbers of sessions that are over; a late lane must not begin one anew
 * @ended_next: where the next goes
 */
struct peer {
	LIST_ENTRY(peer) node;
	uint32_t cid;
	uint32_t port;
	bool trusted_port;
	bool keeper;
	enum peer_state state;
	uint32_t number;
	uint8_t secret[VGPU_SECRET_LEN];
	unsigned int uid;
	uint64_t since;
	int namespaces[PEER_NAMESPACES];
	int cgroup_fd;
	LIST_HEAD(, session) sessions;
	unsigned int nr_sessions;
	uint64_t ended[SESSION_ENDED_MAX];
	unsigned int ended_next;
};

LIST_HEAD(peer_list, peer);
extern struct peer_list peers;

/* The lowest user id that no guest has, nor a keeper; 0: all are taken. */
unsigned int peer_free_uid(void);
struct peer *peer_new(uint32_t cid, uint32_t port, bool trusted_port);
/* Hands the connection to the host module, and grants exports. 0 or errno. */
int peer_start(struct peer *peer, int sock_fd, uint64_t features);
/* Ends it; peer_gone() comes later. */
void peer_drop(struct peer *peer);
/* The module has ended it. */
void peer_gone(struct peer *peer);
/* Frees it if nothing of it is left; only then may the guest come again. */
void peer_reaped(struct peer *peer);
void peer_free(struct peer *peer);

struct peer *peer_find(uint32_t cid, uint32_t port);
struct peer *peer_by_number(uint32_t number);
/* Takes as long for a wrong secret as for the right one. */
struct peer *peer_by_secret(uint32_t cid, uint32_t port, const uint8_t *secret);

#endif /* VGPUD_PEER_H */
