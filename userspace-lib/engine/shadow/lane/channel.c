// SPDX-License-Identifier: MIT
/* The connection to the engine: requests of lanes, and news for the engine. */
#include <asm/socket.h>
#include <linux/errno.h>
#include <linux/uio.h>

#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "shadow/layout.h"
#include "shadow/message.h"

/* Time in milliseconds between looks at a lane whose call waits for the control connection. */
#define LANE_LOOK_MS	500
/* Time in milliseconds that a send waits while too many files of the guest's shadows are unread. */
#define FILES_WAIT_MS	5000

int fd_engine = ESHADOW_FD_ENGINE;

static int channel_send(const struct eshadow_msg *msg, const void *more, u32 len, int fd)
{
	struct iovec iov[] = {
		{ .iov_base = (void *)(u64)msg, .iov_len = sizeof(*msg) },
		{ .iov_base = (void *)(u64)more, .iov_len = len },
	};
	struct fd_cmsg control = {
		.len = offsetof(struct fd_cmsg, pad),
		.level = SOL_SOCKET,
		.type = SCM_RIGHTS,
		.fd = fd,
	};
	struct user_msghdr header = {
		.iov = iov,
		.iovlen = len ? 2 : 1,
		.control = fd < 0 ? NULL : &control,
		.controllen = fd < 0 ? 0 : sizeof(control),
	};
	u64 end = now_ns() + FILES_WAIT_MS * NSEC_PER_MS;
	u32 never = 0;
	long ret;

	for (;;) {
		ret = sys3(__NR_sendmsg, fd_engine, (long)&header, MSG_NOSIGNAL);
		if (ret == -ETOOMANYREFS && now_ns() < end)
			word_wait(&never, 0, 1);
		else if (ret != -EINTR)
			return ret < 0 ? ret : 0;
	}
}

/*
 * Waits for the answer to SYNC, and ends the wait when the guest closes the lane: no other thread
 * watches the lane meanwhile.
 */
static void channel_look_after(struct lane *lane)
{
	const struct eshadow_msg unsync = { .type = ESHADOW_UNSYNC, .lane = lane->index };

	while (!__atomic_load_n(&lane->answered, __ATOMIC_ACQUIRE)) {
		word_wait(&lane->answered, 0, LANE_LOOK_MS);
		if (lane_is_down(lane)) {
			channel_send(&unsync, NULL, 0, -1);
			return;
		}
	}
}

int channel_ask(struct lane *lane, struct request *request)
{
	bool sync = request->msg.type == ESHADOW_SYNC;
	int fd = request->fd;
	int ret;

	request->msg.lane = lane->index;
	request->fd = -1;
	request->len = 0;
	lane->answered = 0;
	lane->request = request;
	ret = channel_send(&request->msg, request->more, request->nr_more, fd);
	if (ret)
		goto out;
	if (sync)
		channel_look_after(lane);
	/* The engine always answers, and this program ends when the engine ends. */
	while (!__atomic_load_n(&lane->answered, __ATOMIC_ACQUIRE))
		word_wait(&lane->answered, 0, -1);
	ret = request->msg.result;
out:
	lane->request = NULL;
	return ret;
}

int channel_ask_for(struct lane *lane, u32 type, u32 object, u64 value, u64 extra)
{
	struct request request = {
		.msg = { .type = type, .object = object, .value = value, .extra = extra },
		.fd = -1,
	};

	return channel_ask(lane, &request);
}

int channel_ask_turn(struct lane *lane, u32 device)
{
	const struct eshadow_msg unsubmit = { .type = ESHADOW_UNSUBMIT, .lane = lane->index };
	struct request request = {
		.msg = { .type = ESHADOW_SUBMIT, .lane = lane->index, .object = device },
		.fd = -1,
	};
	int ret;

	lane->answered = 0;
	lane->request = &request;
	ret = channel_send(&request.msg, NULL, 0, -1);
	if (ret)
		goto out;
	lane_set_queued(lane, true);
	while (!__atomic_load_n(&lane->answered, __ATOMIC_ACQUIRE))
		word_wait(&lane->answered, 0, -1);
	lane_set_queued(lane, false);
	/* The turn may come first, which is the answer then. */
	if (__atomic_load_n(&lane->answered, __ATOMIC_ACQUIRE) == LANE_CANCELLED &&
	    channel_send(&unsubmit, NULL, 0, -1))
		sys_exit_group(SHADOW_EXIT_OK);
	while (__atomic_load_n(&lane->answered, __ATOMIC_ACQUIRE) != 1)
		word_wait(&lane->answered, LANE_CANCELLED, -1);
	ret = request.msg.result;
out:
	lane->request = NULL;
	return ret;
}

void channel_tell_submitted(const struct lane *lane)
{
	const struct eshadow_msg submitted = { .type = ESHADOW_SUBMITTED, .lane = lane->index };

	/* Without this message other guests would wait for a turn that is over. */
	if (channel_send(&submitted, NULL, 0, -1))
		sys_exit_group(SHADOW_EXIT_OK);
}

void channel_tell(u32 type, u32 object, u64 value, u64 extra)
{
	const struct eshadow_msg msg = {
		.type = type, .object = object, .value = value, .extra = extra,
	};

	channel_send(&msg, NULL, 0, -1);
}

void channel_tell_surely(u32 type, u32 object, u64 value, u64 extra)
{
	const struct eshadow_msg msg = {
		.type = type, .object = object, .value = value, .extra = extra,
	};

	if (channel_send(&msg, NULL, 0, -1))
		sys_exit_group(SHADOW_EXIT_OK);
}

void channel_tell_acked(const struct lane *lane)
{
	const struct eshadow_msg acked = { .type = ESHADOW_ACKED, .lane = lane->index };

	/* Without this message the engine would take back references that the guest has. */
	if (channel_send(&acked, NULL, 0, -1))
		sys_exit_group(SHADOW_EXIT_OK);
}

void channel_tell_shown(const struct lane *lane)
{
	const struct eshadow_msg shown = { .type = ESHADOW_SHOWN, .lane = lane->index };

	channel_send(&shown, NULL, 0, -1);
}

void channel_tell_usage(s64 bytes, s32 maps, s32 lanes)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_USAGE,
		.value = bytes,
		.extra = (u64)(u32)lanes << 32 | (u32)maps,
	};

	channel_send(&msg, NULL, 0, -1);
}
