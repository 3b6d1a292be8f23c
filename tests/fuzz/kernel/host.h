/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of the fuzzer of the guest, whose host lies. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

#define HOST_PORT	22602
#define HOST_PATCHES	6
/* Name of the device that the host exports. */
#define HOST_EXPORT	"fuzz-host"
#define HOST_FILES	2

enum host_step {
	HOST_SEND,		/* the host sends the control message in the data */
	HOST_KILL,		/* the host ends its lanes, or with position 1 all connections */
	HOST_OPEN,		/* the program opens the device */
	HOST_CLOSE,
	HOST_READ,		/* number: length */
	HOST_WRITE,
	HOST_SEEK,		/* position: offset; number: whence */
	HOST_IOCTL,		/* number: command */
	HOST_POLL,		/* number: events */
	HOST_MMAP,		/* position: offset; number: pages, protection */
	HOST_STEPS,
};

/* Flags of steps that make calls: the host does not reply, and ends the lane after a while ... */
#define HOST_NO_REPLY	1
/* ... or gives objects for all files that the call may return. */
#define HOST_GIVE	2

/**
 * struct host_patch - change of a reply
 * @at: offset of the number, in the message
 * @size: size of the number: 2, 4 or 8
 * @value: number
 */
struct host_patch {
	uint32_t at;
	uint32_t size;
	uint64_t value;
};

/**
 * struct host_args - data of a step that makes a call, followed by an upcall that comes before the
 *	reply, if there are bytes
 * @number: see enum host_step
 * @nr_patches: number of entries of @patches
 * @position: see enum host_step
 * @patches: changes of the reply
 */
struct host_args {
	uint32_t number;
	uint32_t nr_patches;
	uint64_t position;
	struct host_patch patches[HOST_PATCHES];
};

/* Starts the host's thread, which takes the guest's connections. */
bool host_start(void);
/* Has the host follow a step in its answers; NULL: it answers honestly. */
void host_follow(const struct step *step);
/* Sends a message on the control connection. */
void host_send(const void *msg, size_t len);
/* Ends the lanes, or all connections. */
void host_kill(bool all);
/*
 * As host_kill(false), but later, by the host's thread. @honest: also answer honestly, until
 * host_follow() is called again. Context: a signal handler, too.
 */
void host_kill_later(bool honest);

/* Adds a step to an input. */
void host_make(struct input *input);
/* Changes the data of a step. Return: its new length. */
size_t host_change(struct step *step, size_t room);

#endif /* HOST_H */
