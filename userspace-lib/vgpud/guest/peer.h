/* SPDX-License-Identifier: MIT */
/*
 * Peers: guests with a control connection.
 *
 * A peer is UP from WELCOME until it is dropped, or the host module or the engine reports its end.
 * It stays in the list until its last process is reaped, since another guest must not get its user
 * ID before.
 */
#ifndef VGPUD_PEER_H
#define VGPUD_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <linux/vgpu_wire.h>

#include "guest/session.h"
#include "guest/sockets.h"
#include "process/sandbox.h"
#include "shared/loop.h"

enum peer_state {
	PEER_NEW,	/* WELCOME not sent, or connection not handed over yet */
	PEER_UP,
	PEER_GOING,	/* the module was asked to end the peer */
	PEER_GONE,	/* the module has ended the peer; shadows are to be reaped */
};

/**
 * struct peer - a guest
 * @node: entry of peers
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @trusted_port: true if the guest's kernel or root connected, as shown by its port
 * @state: state of the peer, enum peer_state
 * @number: number that the host module or engine.c gave the peer, which knows it while UP or GOING
 * @noted: @number while there may be notes of the peer, which may be longer (hostdev_note())
 * @secret: bytes that a LANE has to repeat
 * @since: time of the connection, CLOCK_REALTIME in seconds
 * @limits_changed: true while a reload changes the guest's limits
 * @sandbox: user, namespaces and control group of the guest's programs
 * @freed: function that is called when the peer was freed and the guest may return
 * @sessions: list of the sessions whose shadows are not reaped
 * @nr_sessions: number of those that are not over
 * @ended: ring of the numbers of sessions that are over, which a late lane must not begin anew
 * @ended_next: number of entries written to @ended so far
 * @sockets: sockets of its connections that the host module, the engine or shadows have
 * @rest: file that tells when the last process of its control group has ended; fd -1: not needed
 */
struct peer {
	LIST_ENTRY(peer) node;
	uint32_t cid;
	uint32_t port;
	bool trusted_port;
	enum peer_state state;
	uint32_t number;
	uint32_t noted;
	uint8_t secret[VGPU_SECRET_LEN];
	uint64_t since;
	bool limits_changed;
	struct sandbox sandbox;
	void (*freed)(uint32_t cid, uint32_t port);
	LIST_HEAD(, session) sessions;
	unsigned int nr_sessions;
	uint64_t ended[SESSION_ENDED_MAX];
	unsigned int ended_next;
	struct sockets sockets;
	struct source rest;
};

#define PEER_NOTE_VERSION	1

/**
 * struct peer_note - what the next vgpud has to know of a peer; the note's file is that of struct
 *	sockets
 * @version: PEER_NOTE_VERSION; a vgpud that does not know the version ends the peer
 * @cid: as in struct peer, like the members below
 * @port: see @cid
 * @trusted_port: see @cid
 * @uid: user ID of the guest's programs
 * @reserved: 0
 * @since: see @cid
 * @secret: see @cid
 */
struct peer_note {
	uint32_t version;
	uint32_t cid;
	uint32_t port;
	uint32_t trusted_port;
	uint32_t uid;
	uint32_t reserved;
	uint64_t since;
	uint8_t secret[VGPU_SECRET_LEN];
};

LIST_HEAD(peer_list, peer);
extern struct peer_list peers;

/*
 * Make a peer; see struct peer for the arguments. @made: set to the peer. Return: 0, -EMFILE (no
 * user ID is free), or another negative errno.
 */
int peer_new(uint32_t cid, uint32_t port, bool trusted_port,
	     void (*freed)(uint32_t cid, uint32_t port), struct peer **made);
/*
 * Take over a peer of an earlier vgpud. @number: its number in the host module; @epoll_fd: the
 * note's file. Return: NULL: no memory, or the user ID is taken; @epoll_fd stays the caller's then.
 */
struct peer *peer_adopt(uint32_t number, const struct peer_note *note, int epoll_fd,
			void (*freed)(uint32_t cid, uint32_t port));
/*
 * Make a peer of which only processes are left, in a control group of an earlier vgpud, and kill
 * them. The guest may return, and its user is another guest's, when they have ended. @left: guest
 * and user; @group_fd: the group's file, which stays the caller's. Return: false: no memory.
 */
bool peer_of_rest(const struct sandbox *left, int group_fd,
		  void (*freed)(uint32_t cid, uint32_t port));
/* Hand the connection to the host module or an engine. Return: 0 or a negative errno. */
int peer_start(struct peer *peer, int sock_fd, uint64_t features);
/*
 * Count a socket of the guest's that is about to be handed to others. Return: 0; -EMFILE: the
 * guest, or all guests together, have too many; or another negative errno.
 */
int peer_count_socket(struct peer *peer, int sock_fd);
/* Ask the module to end the peer. peer_gone() is called later. */
void peer_drop(struct peer *peer);
/* Handle the end of a peer, which the module has reported. */
void peer_gone(struct peer *peer);
/* Free a peer that is gone if none of its processes is left; only then may the guest return. */
void peer_reaped(struct peer *peer);
void peer_free(struct peer *peer);

struct peer *peer_find(uint32_t cid, uint32_t port);
struct peer *peer_by_number(uint32_t number);
/* Find a peer by its secret. A wrong secret takes as long as the right one. */
struct peer *peer_by_secret(uint32_t cid, uint32_t port, const uint8_t *secret);

#endif /* VGPUD_PEER_H */
