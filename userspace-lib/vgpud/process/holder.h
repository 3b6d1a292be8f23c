/* SPDX-License-Identifier: MIT */
/*
 * The holder: a process that keeps, for the next vgpud, what this one has of guests of user-space
 * engines. The host module does so for its own guests.
 *
 * What is held are notes: bytes and a file under a name, which the holder does not look into. It
 * listens on a socket that only root can reach. When vgpud has ended, the next one connects there,
 * and receives all notes. If none comes in the time of lasting-timeout-ms, the holder ends. As it was
 * the last to have the other ends of their connections, the engines end then, too.
 */
#ifndef VGPUD_HOLDER_H
#define VGPUD_HOLDER_H

#include <stdint.h>

#include <linux/vgpu_host.h>

#define HOLDER_SOCKET	"/run/vgpu/holder.sock"
/* Changes with struct holder_msg, and with the contents of notes. Others are not taken over. */
#define HOLDER_VERSION	1

enum holder_type {
	HOLDER_ADOPT	= 1,	/* the first message of a vgpud; @key: HOLDER_VERSION; @part: time in
				 * milliseconds for which notes are kept without a vgpud from now on
				 */
	HOLDER_NOTE	= 2,	/* a note, in both directions */
	HOLDER_FORGET	= 3,	/* forget all parts of the note @peer and @key */
	HOLDER_FORGET_ALL = 4,	/* forget all notes of @peer */
	HOLDER_END	= 5,	/* forget everything, and end */
	HOLDER_LAST	= 6,	/* of the holder: there are no more notes */
};

/* The part whose file is a control group. The holder kills its processes when it ends. */
#define HOLDER_PART_GROUP	8

/**
 * struct holder_msg - a message to or from the holder; a note may have a file
 * @type: enum holder_type
 * @peer: number of a peer; 0: the note belongs to none
 * @key: number of a session; 0: the note is the peer's
 * @part: number that tells apart the notes of a session or of a peer
 * @len: number of bytes in @data; only these are sent
 * @data: contents of the note
 */
struct holder_msg {
	uint32_t type;
	uint32_t peer;
	uint64_t key;
	uint32_t part;
	uint32_t len;
	uint8_t data[VGPU_HOST_NOTE_MAX];
};

/*
 * Be the holder, in a child of vgpud: never returns. @listen_fd: socket that is bound to
 * HOLDER_SOCKET and listens; @vgpud: connection to vgpud; @timeout_ms: as in HOLDER_ADOPT. All other
 * files are closed.
 */
void holder_run(int listen_fd, int vgpud, uint32_t timeout_ms) __attribute__((noreturn));

#endif /* VGPUD_HOLDER_H */
