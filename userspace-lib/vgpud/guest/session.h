/* SPDX-License-Identifier: MIT */
/*
 * Sessions: each is a process of a guest, with its shadow on the host.
 *
 * A session is over when its shadow has died, the host module has ended it, or its guest is
 * gone, whichever vgpud notices first. It is freed when its shadow is reaped, which may be long
 * after the shadow's death: see drivers/host/object/tgid.c.
 */
#ifndef VGPUD_SESSION_H
#define VGPUD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <linux/vgpu_wire.h>

#include "shared/loop.h"

#define SESSION_ENDED_MAX	256

struct peer;

/**
 * struct session - a guest process and its shadow
 * @node: entry of struct peer's list of sessions
 * @peer: guest that has the session
 * @number: number that the guest chose
 * @pid: process ID of the shadow
 * @dead: true if the shadow has ended
 * @may_be_reaped: true if the module or the engine has reported that no driver knows @pid
 * @lanes_fd: socket by which the shadow gets its lanes; -1: the session is over
 * @end: pidfd of a shadow that an earlier vgpud has made; its fd is -1 if the shadow is a child
 * @tgid: process ID in the guest, as the guest says
 * @comm: name of the program, as the guest says, made printable
 */
struct session {
	LIST_ENTRY(session) node;
	struct peer *peer;
	uint64_t number;
	pid_t pid;
	bool dead;
	bool may_be_reaped;
	int lanes_fd;
	struct source end;
	uint32_t tgid;
	char comm[VGPU_COMM_LEN];
};

#define SESSION_NOTE_VERSION	1

/**
 * struct session_note - what the next vgpud has to know of a session; the note's file is @lanes_fd
 *	of struct session, if the session is not over
 * @version: SESSION_NOTE_VERSION
 * @pid: as in struct session, like the members below
 * @tgid: see @pid
 * @comm: see @pid
 */
struct session_note {
	uint32_t version;
	int32_t pid;
	uint32_t tgid;
	char comm[VGPU_COMM_LEN];
};

/* Count the shadows of a guest that are zombies (@dead), or those that are not. */
unsigned int sessions_count(const struct peer *peer, bool dead);

/* Check whether a lane of this session would be its first, for which a shadow has to be made. */
bool session_is_new(const struct peer *peer, uint64_t number);

/*
 * Give a lane to its session's shadow, which is made for the first lane. The caller closes
 * @sock_fd. Return: 0, or a negative errno for REFUSE.
 */
int session_take_lane(struct peer *peer, const struct vgpu_lane_hello *hello, int sock_fd);

/*
 * Take over a session of an earlier vgpud, and @lanes_fd, the note's file (-1: none). Return: 0, or
 * a negative errno if the shadow has ended or cannot be taken over.
 */
int session_adopt(struct peer *peer, uint64_t number, const struct session_note *note,
		  int lanes_fd);

/* End a session, which the host module or the engine has ended or wants to end. */
void session_gone(struct peer *peer, uint64_t number);
/* Note that no driver knows the process ID of the session's shadow. */
void session_may_be_reaped(struct peer *peer, uint64_t number);
/* End all sessions of a guest. */
void sessions_end(struct peer *peer);
/* Reap the dead shadows of a guest that may be reaped. */
void sessions_reap(struct peer *peer);
/*
 * Check whether a shadow has just ended; its session is over then. waitpid(0) does not see it: its
 * process group is its own.
 */
bool session_died(struct session *session);

#endif /* VGPUD_SESSION_H */
