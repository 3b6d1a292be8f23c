/* SPDX-License-Identifier: MIT */
/*
 * Sessions: a guest process each, with its shadow.
 *
 * A session is over when its shadow died, when the host module ended it, or
 * when its guest is gone, whichever is noticed first; it is freed when its
 * shadow was reaped. That may be long after its death: see drivers/host/tgid.c.
 */
#ifndef VGPUD_SESSION_H
#define VGPUD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <linux/vgpu_wire.h>

#define SESSION_ENDED_MAX	256

struct peer;

/**
 * struct session - a guest process and its shadow
 * @peer: the guest
 * @number: as the guest chose it
 * @pid: the shadow
 * @dead: the shadow has ended
 * @may_be_reaped: nobody knows its number any more, as the module or the engine says
 * @lanes_fd: where the shadow gets its lanes; -1: over
 * @tgid: the process in the guest; hearsay
 * @comm: its name, made printable; hearsay
 */
struct session {
	LIST_ENTRY(session) node;
	struct peer *peer;
	uint64_t number;
	pid_t pid;
	bool dead;
	bool may_be_reaped;
	int lanes_fd;
	uint32_t tgid;
	char comm[VGPU_COMM_LEN];
};

/* How many shadows of a guest are zombies, or are none. */
unsigned int sessions_count(const struct peer *peer, bool dead);

/* The most shadows of a guest that may be zombies. */
unsigned int sessions_zombies_max(void);

/* A lane of this session would be its first, for which a shadow has to be made. */
bool session_is_new(const struct peer *peer, uint64_t number);

/*
 * Gives the lane to its session's shadow, which is made if it is the first. The
 * caller closes sock_fd. 0 or a negative errno for REFUSE.
 */
int session_take_lane(struct peer *peer, const struct vgpu_lane_hello *hello, int sock_fd);

/* The host module says so. */
void session_gone(struct peer *peer, uint64_t number);
/* The host module or the engine says that no driver knows the number of its shadow's process. */
void session_may_be_reaped(struct peer *peer, uint64_t number);
/* All sessions of a guest are over. */
void sessions_end(struct peer *peer);
/* Reaps a guest's dead shadows that may be. */
void sessions_reap(struct peer *peer);
/* Children ended. */
void children_reap(void);

#endif /* VGPUD_SESSION_H */
