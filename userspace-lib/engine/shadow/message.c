// SPDX-License-Identifier: MIT
/* Messages of the engine: answers to requests of lanes, and what the engine tells by itself. */
#include <linux/errno.h>
#include <linux/uio.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/serve.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/memory/ram.h"
#include "engine/shadow/message.h"
#include "engine/shadow/thread/fd.h"
#include "shadow/layout.h"
#include "shadow/message.h"

static void message_answer(const struct eshadow_msg *msg, const u8 *extra, u32 len, int fd)
{
	struct lane *lane = lane_by_index(msg->lane);
	struct request *request = lane ? lane->request : NULL;

	if (!request) {
		if (fd >= 0)
			fd_close(fd);
		return;
	}
	/* Add the file here, in order with a later DROP of the same object. */
	if (request->msg.type == ESHADOW_FIND && fd >= 0 && len >= sizeof(struct eshadow_policy)) {
		request->file = file_arrives(request->msg.object, (const void *)extra, fd);
		fd = -1;
		len = 0;
	}
	request->msg = *msg;
	request->fd = fd;
	request->len = min(len, request->room);
	if (request->len)
		memcpy(request->extra, extra, request->len);
	__atomic_store_n(&lane->answered, 1, __ATOMIC_RELEASE);
	word_wake(&lane->answered);
}

void message_hear(void)
{
	static u8 buf[ESHADOW_MSG_MAX] __attribute__((aligned(8)));
	const struct eshadow_msg *msg = (const void *)buf;
	const struct eshadow_ram *ram = (const void *)(msg + 1);
	struct iovec iov = { .iov_base = buf, .iov_len = sizeof(buf) };
	struct fd_cmsg control = {};
	struct user_msghdr header = {
		.iov = &iov,
		.iovlen = 1,
		.control = &control,
		.controllen = sizeof(control),
	};
	long ret;
	int fd;

	ret = files_receive(fd_engine, &header, &control, FILES_OBJECTS, &fd);
	if (ret == -EINTR || ret == -EAGAIN)
		return;
	if (ret < (long)sizeof(*msg))
		sys_exit_group(SHADOW_EXIT_OK);
	switch (msg->type) {
	case ESHADOW_ANSWER:
		message_answer(msg, buf + sizeof(*msg), ret - sizeof(*msg), fd);
		break;
	case ESHADOW_DROP:
		file_drop(msg->object);
		break;
	case ESHADOW_END:
		lanes_end();
		break;
	case ESHADOW_RAM:
		if (fd >= 0)
			ram_add(ram->addr, ram->len, ram->offset, fd);
		else
			ram_remove(ram->addr, ram->len);
		break;
	case ESHADOW_UNMAP:
		mapping_unmap(msg->value, msg->extra);
		break;
	}
}
