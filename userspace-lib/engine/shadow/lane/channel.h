/* SPDX-License-Identifier: MIT */
/* The connection to the engine: see channel.c. */
#ifndef ESHADOW_CHANNEL_H
#define ESHADOW_CHANNEL_H

#include "engine/shadow/base/lib.h"

struct file_entry;
struct lane;

/**
 * struct request - a lane's request to the engine, and the answer
 * @msg: in: the request; out: the answer
 * @more: in: data that follows the request
 * @nr_more: in: length of @more in bytes
 * @fd: in: file to be sent, or -1; out: file that came with the answer, or -1
 * @extra: buffer for data that follows the answer
 * @room: size of @extra in bytes
 * @len: out: number of bytes in @extra
 * @file: out: file of ESHADOW_FIND, for which the caller must call file_put()
 */
struct request {
	struct eshadow_msg msg;
	const void *more;
	u32 nr_more;
	int fd;
	void *extra;
	u32 room;
	u32 len;
	struct file_entry *file;
};

/* Sends a request and waits for the answer. Return: result of the answer, or a negative errno. */
int channel_ask(struct lane *lane, struct request *request);
/* Makes a request as channel_ask() does, without a file or data that follow either message. */
int channel_ask_for(struct lane *lane, u32 type, u32 object, u64 value, u64 extra);
/*
 * Waits for a turn to give a device work. Return: 0; -EINTR: a CANCEL, or the end of the lane, came
 * first; or another negative errno.
 */
int channel_ask_turn(struct lane *lane, u32 device);
/* Tells the engine that the lane's turn is over. Ends the program on failure. */
void channel_tell_submitted(const struct lane *lane);
/* Sends a message that has no answer. */
void channel_tell(u32 type, u32 object, u64 value, u64 extra);
/* Sends a message that has no answer, which the engine must get. Ends the program on failure. */
void channel_tell_surely(u32 type, u32 object, u64 value, u64 extra);
/*
 * Tells the engine that the guest has all that the lane's last call gave it. Ends the program on
 * failure.
 */
void channel_tell_acked(const struct lane *lane);
/*
 * Tells the engine that the lane has mapped the file that ESHADOW_SHOW gave it, or will not map
 * it.
 */
void channel_tell_shown(const struct lane *lane);
/* Tells the engine by how much this shadow's mappings and lanes change. */
void channel_tell_usage(s64 bytes, s32 maps, s32 lanes);

/* Number of the socket to the engine. */
extern int fd_engine;

#endif /* ESHADOW_CHANNEL_H */
