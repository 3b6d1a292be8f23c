// SPDX-License-Identifier: MIT
/*
 * The vhost-user connection by which the hypervisor sends requests. The hypervisor waits for each
 * answer. A message that breaks the protocol ends the keeper.
 *
 * The device's only queue is never used. But the hypervisor enables this queue when the guest's
 * driver has set up the device, and disables it when the driver stops the device, or when the
 * machine is paused. That tells the keeper whether the driver is there, as QEMU 11.1 does not
 * report the device's status.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/closer.h"
#include "engine/keeper/keeper.h"
#include "engine/keeper/qemu.h"
#include "engine/keeper/ram.h"
#include "engine/keeper/region.h"
#include "engine/keeper/vhost.h"
#include "shared/loop.h"
#include "wire.h"

/* Largest number of files with a message, by the protocol. */
#define FILES_MAX	8
/* Largest number of bytes after a message's header; the longest is a configuration space of 256. */
#define PAYLOAD_MAX	512U

#define FEATURES	(VHOST_FEATURE_PROTOCOL | VHOST_FEATURE_VERSION_1)
/* Features that QEMU 11.1 offers if the device's line on the command line has a config_size. */
#define NEEDED		(VHOST_PROTOCOL_REPLY_ACK | VHOST_PROTOCOL_BACKEND_REQ | \
			 VHOST_PROTOCOL_CONFIG | VHOST_PROTOCOL_BACKEND_SEND_FD | \
			 VHOST_PROTOCOL_MEM_SLOTS | VHOST_PROTOCOL_SHMEM)
static void qemu_ready(struct source *source, uint32_t events);

static struct source qemu = { .fd = KEEPER_FD_QEMU, .ready = qemu_ready };

/**
 * struct qemu_msg - the message that is being received
 * @align: padding, so that @payload begins where @hdr ends
 * @hdr: header of the message
 * @payload: bytes after the header
 * @have: number of bytes of @hdr and @payload that were received
 * @fds: files that came with the message; a function that keeps a file removes it here
 * @nr_fds: number of entries of @fds
 */
static struct qemu_msg {
	uint32_t align;
	struct vhost_hdr hdr;
	union {
		uint64_t u64;
		uint32_t state[2];
		struct vhost_config config;
		struct vhost_mem_reg region;
		uint8_t bytes[PAYLOAD_MAX];
	} payload;
	size_t have;
	int fds[FILES_MAX];
	unsigned int nr_fds;
} in;

static void need(bool ok)
{
	if (!ok)
		exit(KEEPER_EXIT_PROTOCOL);
}

/* --- answers ---------------------------------------------------------------------- */

/* Answer a request. The hypervisor waits for each answer, so the socket has room. */
static void reply(const void *payload, uint32_t size)
{
	struct vhost_hdr hdr = {
		.request = in.hdr.request,
		.flags = VHOST_VERSION | VHOST_REPLY,
		.size = size,
	};
	struct iovec iov[] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)(uintptr_t)payload, .iov_len = size },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (sendmsg(qemu.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(sizeof(hdr) + size))
		exit(KEEPER_EXIT_SILENT);
}

static void reply_u64(uint64_t value)
{
	reply(&value, sizeof(value));
}

_Static_assert(offsetof(struct vgpu_window_header, reserved2) == VGPU_WINDOW_CONFIG_LEN,
	       "the configuration space is what the header begins with");
_Static_assert(offsetof(struct qemu_msg, payload) ==
	       offsetof(struct qemu_msg, hdr) + sizeof(struct vhost_hdr),
	       "a message is received in one piece");

static void reply_config(void)
{
	struct vgpu_window_header header = {
		.version = cpu_to_le32(VGPU_WINDOW_VERSION),
		.window = cpu_to_le64(window.id),
		.size = cpu_to_le64(window.len),
	};
	struct vhost_config *config = &in.payload.config;
	uint8_t bytes[sizeof(config->bytes)] = {};

	need(in.hdr.size >= offsetof(struct vhost_config, bytes) &&
	     config->size == in.hdr.size - offsetof(struct vhost_config, bytes) &&
	     config->offset <= sizeof(bytes) && config->size <= sizeof(bytes) - config->offset);
	memcpy(header.magic, VGPU_WINDOW_MAGIC, sizeof(header.magic));
	memcpy(bytes, &header, VGPU_WINDOW_CONFIG_LEN);
	memcpy(config->bytes, bytes + config->offset, config->size);
	reply(config, in.hdr.size);
}

static void reply_shmem_config(void)
{
	const struct vhost_shmem_config config = { .nr = 1, .sizes = { window.len } };

	reply(&config, sizeof(config));
}

/* --- requests ----------------------------------------------------------------------- */

static struct ram_part part_told(void)
{
	const struct vhost_mem_reg *region = &in.payload.region;

	need(in.hdr.size == sizeof(*region));
	return (struct ram_part) {
		.addr = region->guest_addr, .len = region->size, .place = region->user_addr,
		.offset = region->mmap_offset,
	};
}

static void add_region(void)
{
	const struct ram_part part = part_told();

	need(in.nr_fds == 1);
	if (region_appeared(&part, in.fds[0]))
		return;
	ram_appeared(&part, in.fds[0]);
	in.nr_fds = 0;
}

static void remove_region(void)
{
	const struct ram_part part = part_told();

	if (!region_vanished(&part))
		ram_vanished(part.addr, part.len);
}

static void set_channel(void)
{
	need(in.nr_fds == 1);
	region_channel(in.fds[0]);
	in.nr_fds = 0;
}

/* Answer a request that has an answer of its own. Return: false if it is no such request. */
static bool answer(void)
{
	switch (in.hdr.request) {
	case VHOST_GET_FEATURES:
		reply_u64(FEATURES);
		return true;
	case VHOST_GET_PROTOCOL_FEATURES:
		reply_u64(NEEDED | VHOST_PROTOCOL_MQ);
		return true;
	case VHOST_GET_QUEUE_NUM:
		reply_u64(1);
		return true;
	case VHOST_GET_MAX_MEM_SLOTS:
		reply_u64(KEEPER_MEM_SLOTS);
		return true;
	case VHOST_GET_CONFIG:
		reply_config();
		return true;
	case VHOST_GET_SHMEM_CONFIG:
		reply_shmem_config();
		return true;
	case VHOST_GET_VRING_BASE:
		need(in.hdr.size == sizeof(in.payload.state));
		region_set_ready(false);
		in.payload.state[1] = 0;
		reply(in.payload.state, sizeof(in.payload.state));
		return true;
	}
	return false;
}

/* Handle a request that needs no answer, unless the hypervisor asks for one. */
static void handle(void)
{
	switch (in.hdr.request) {
	case VHOST_SET_PROTOCOL_FEATURES:
		need(in.hdr.size == sizeof(in.payload.u64));
		if ((in.payload.u64 & NEEDED) != NEEDED)
			exit(KEEPER_EXIT_FEATURES);
		break;
	case VHOST_SET_BACKEND_REQ_FD:
		set_channel();
		break;
	case VHOST_ADD_MEM_REG:
		add_region();
		break;
	case VHOST_REM_MEM_REG:
		remove_region();
		break;
	case VHOST_SET_VRING_ENABLE:
		need(in.hdr.size == sizeof(in.payload.state));
		region_set_ready(in.payload.state[1]);
		break;
	case VHOST_RESET_OWNER:
		region_set_ready(false);
		break;
	case VHOST_SET_FEATURES:
	case VHOST_SET_OWNER:
	case VHOST_SET_VRING_NUM:
	case VHOST_SET_VRING_ADDR:
	case VHOST_SET_VRING_BASE:
	case VHOST_SET_VRING_KICK:
	case VHOST_SET_VRING_CALL:
	case VHOST_SET_VRING_ERR:
	case VHOST_SET_CONFIG:
		/* Ignore requests that set up the queue, which is not used. */
		break;
	default:
		need(false);
	}
}

/* --- the connection ------------------------------------------------------------------ */

static void files_take(struct msghdr *msg)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		unsigned int nr, i;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			if (in.nr_fds < FILES_MAX)
				in.fds[in.nr_fds++] = fd;
			else
				closer_close(fd, NULL, NULL);
		}
	}
}

/* Receive the next part of a message. Return: true if the message is complete. */
static bool receive(void)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int) * FILES_MAX)];
	} control;
	size_t want = sizeof(in.hdr);
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len;

	if (in.have >= sizeof(in.hdr))
		want += in.hdr.size;
	iov.iov_base = (uint8_t *)&in.hdr + in.have;
	iov.iov_len = want - in.have;
	len = recvmsg(qemu.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (len <= 0)
		exit(EXIT_SUCCESS);
	files_take(&msg);
	in.have += len;
	if (in.have < sizeof(in.hdr))
		return false;
	need((in.hdr.flags & VHOST_VERSION_MASK) == VHOST_VERSION && in.hdr.size <= PAYLOAD_MAX);
	return in.have == sizeof(in.hdr) + in.hdr.size;
}

static void qemu_ready(struct source *source, uint32_t events)
{
	(void)source;
	(void)events;
	if (!receive())
		return;
	if (!answer()) {
		handle();
		if (in.hdr.flags & VHOST_NEED_REPLY)
			reply_u64(0);
	}
	/*
	 * Let the closer close files that were not kept. Some belong to engines, as the
	 * hypervisor also reports memory of the window.
	 */
	while (in.nr_fds)
		closer_close(in.fds[--in.nr_fds], NULL, NULL);
	memset(&in, 0, sizeof(in));
	region_look();
}

int qemu_init(void)
{
	return source_add(&qemu, EPOLLIN);
}
