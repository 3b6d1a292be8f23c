// SPDX-License-Identifier: MIT
/*
 * The shared memory region: files that the hypervisor maps there.
 *
 * It is asked for one thing at a time. Its answer comes before its guest can see what was mapped,
 * and while it can still see what was unmapped. That is over when it tells of its new memory, the
 * region's included, as it tells all of its back-ends.
 *
 * It is asked for nothing while the guest's driver is not there: QEMU 11.1 ends then.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper.h"
#include "vgpud/loop.h"
#include "vhost.h"

/* Of a hypervisor that is asked. Longer than its guest may be silent. */
#define ANSWER_TIMEOUT_MS	20000
#define PAGE_MASK		4095ULL

enum showing_state {
	SHOWING_NEW,	/* it is to be mapped */
	SHOWING_THERE,
	SHOWING_OLD,	/* it is to be unmapped */
};

/**
 * struct showing - a file in the window
 * @node: of all
 * @turn: of those for which the hypervisor is asked, in that order
 * @state: see there
 * @tag: of the engine's request that is not answered
 * @offset: in the window
 * @len: bytes
 * @file_offset: in the file
 * @fd: the file, until it is sent; else -1
 * @st: what file it is
 * @addr: where the guest has it
 * @asked: the hypervisor is being asked
 * @abandoned: nobody waits for it, and it is to be unmapped
 * @answered: it has answered
 * @changed: its memory has changed so
 */
struct showing {
	LIST_ENTRY(showing) node;
	TAILQ_ENTRY(showing) turn;
	enum showing_state state;
	uint64_t tag;
	uint64_t offset;
	uint64_t len;
	uint64_t file_offset;
	int fd;
	struct stat st;
	uint64_t addr;
	bool asked;
	bool abandoned;
	bool answered;
	bool changed;
};

static LIST_HEAD(, showing) showings = LIST_HEAD_INITIALIZER(showings);
static TAILQ_HEAD(, showing) turns = TAILQ_HEAD_INITIALIZER(turns);
static unsigned int nr_showings;
static bool driver_ready;
/* An answer of the hypervisor is to come. */
static bool answer_due;

static void channel_ready(struct source *source, uint32_t events);
static void channel_silent(struct timer *timer);

static struct source channel = { .fd = -1, .ready = channel_ready };
static struct timer silence = { .expired = channel_silent };

static struct {
	struct vhost_hdr hdr;
	uint8_t value[sizeof(uint64_t)];
} in;
static size_t in_have;

static void channel_silent(struct timer *timer)
{
	(void)timer;
	keeper_end(KEEPER_EXIT_SILENT);
}

static void tell_done(uint64_t tag, int result)
{
	const struct keeper_msg msg = { .type = KEEPER_DONE, .tag = tag, .result = result };

	keeper_tell(&msg, -1);
}

/* --- what is shown ------------------------------------------------------------------ */

static struct showing *showing_at(uint64_t offset, uint64_t len)
{
	struct showing *showing;

	LIST_FOREACH(showing, &showings, node)
		if (offset < showing->offset + showing->len && showing->offset < offset + len)
			return showing;
	return NULL;
}

static void showing_free(struct showing *showing)
{
	if (showing->state != SHOWING_THERE)
		TAILQ_REMOVE(&turns, showing, turn);
	LIST_REMOVE(showing, node);
	nr_showings--;
	if (showing->fd >= 0)
		close(showing->fd);
	free(showing);
}

bool region_is_ready(void)
{
	return driver_ready && channel.fd >= 0;
}

bool region_is_used(void)
{
	return nr_showings || answer_due;
}

/* --- the hypervisor is asked --------------------------------------------------------- */

static void ask(struct showing *showing)
{
	struct {
		struct vhost_hdr hdr;
		uint8_t payload[sizeof(struct vhost_mmap)];
	} msg = {
		.hdr = {
			.request = showing->state == SHOWING_NEW ? VHOST_BACKEND_SHMEM_MAP :
				VHOST_BACKEND_SHMEM_UNMAP,
			.flags = VHOST_VERSION | VHOST_NEED_REPLY,
			.size = sizeof(msg.payload),
		},
	};
	const struct vhost_mmap mmap = {
		.fd_offset = showing->file_offset,
		.shm_offset = showing->offset,
		.len = showing->len,
		.flags = VHOST_MMAP_WRITE,
	};
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {
		.hdr = {
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec iov = { .iov_base = &msg, .iov_len = sizeof(msg) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(msg.payload, &mmap, sizeof(mmap));
	if (showing->fd >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &showing->fd, sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	/* It has answered all that it was asked before, so there is room. */
	if (sendmsg(channel.fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(msg))
		keeper_end(KEEPER_EXIT_SILENT);
	if (showing->fd >= 0)
		close(showing->fd);
	showing->fd = -1;
	showing->asked = true;
	showing->answered = false;
	showing->changed = false;
	answer_due = true;
	timer_set(&silence, ANSWER_TIMEOUT_MS);
}

static void ask_next(void)
{
	struct showing *showing = TAILQ_FIRST(&turns);

	if (showing && !showing->asked && !answer_due && region_is_ready())
		ask(showing);
	keeper_look();
}

static void showing_end(struct showing *showing)
{
	showing->state = SHOWING_OLD;
	showing->asked = false;
	TAILQ_INSERT_TAIL(&turns, showing, turn);
}

/* All of it has happened, or has failed. */
static void asked_over(struct showing *showing, int result)
{
	timer_cancel(&silence);
	if (showing->state == SHOWING_OLD || result) {
		if (!showing->abandoned)
			tell_done(showing->tag, result);
		showing_free(showing);
	} else {
		TAILQ_REMOVE(&turns, showing, turn);
		showing->state = SHOWING_THERE;
		if (showing->abandoned)
			showing_end(showing);
		else
			tell_done(showing->tag, 0);
	}
	ask_next();
}

static struct showing *being_asked(void)
{
	struct showing *showing = TAILQ_FIRST(&turns);

	return showing && showing->asked ? showing : NULL;
}

static void channel_answer(uint64_t value)
{
	struct showing *showing = being_asked();

	if (!answer_due)
		keeper_end(KEEPER_EXIT_PROTOCOL);
	answer_due = false;
	if (!showing) {
		/* It was asked before a reset of the device. */
		timer_cancel(&silence);
		ask_next();
	} else if (value && showing->state == SHOWING_OLD) {
		/* Whether it is still seen cannot be known. */
		keeper_end(KEEPER_EXIT_PROTOCOL);
	} else if (value) {
		asked_over(showing, -ENXIO);
	} else {
		showing->answered = true;
		if (showing->changed)
			asked_over(showing, 0);
	}
}

static void channel_ready(struct source *source, uint32_t events)
{
	const size_t want = sizeof(in.hdr) + sizeof(in.value);
	uint64_t value;
	ssize_t len;

	(void)events;
	len = recv(source->fd, (uint8_t *)&in + in_have, want - in_have, MSG_DONTWAIT);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0)
		keeper_end(EXIT_SUCCESS);
	in_have += len;
	if (in_have < want)
		return;
	in_have = 0;
	if (in.hdr.size != sizeof(in.value))
		keeper_end(KEEPER_EXIT_PROTOCOL);
	memcpy(&value, in.value, sizeof(value));
	channel_answer(value);
}

void region_channel(int fd)
{
	source_close(&channel);
	/* What was asked by the one before is not answered any more. */
	answer_due = false;
	in_have = 0;
	channel.fd = fd;
	if (source_add(&channel, EPOLLIN))
		keeper_end(KEEPER_EXIT_START);
}

/* --- what the hypervisor tells --------------------------------------------------------- */

bool region_appeared(uint64_t addr, uint64_t len, uint64_t offset, const struct stat *st)
{
	struct showing *showing = being_asked();

	if (!showing || showing->state != SHOWING_NEW || showing->changed || showing->len != len ||
	    showing->file_offset != offset || showing->st.st_dev != st->st_dev ||
	    showing->st.st_ino != st->st_ino)
		return false;
	showing->addr = addr;
	showing->changed = true;
	if (showing->answered)
		asked_over(showing, 0);
	return true;
}

void region_vanished(uint64_t addr, uint64_t len)
{
	struct showing *showing = being_asked();

	if (!showing || showing->state != SHOWING_OLD || showing->addr != addr ||
	    showing->len != len)
		return;
	showing->changed = true;
	if (showing->answered)
		asked_over(showing, 0);
}

void region_set_ready(bool ready)
{
	if (driver_ready && !ready)
		while (!LIST_EMPTY(&showings))
			showing_free(LIST_FIRST(&showings));
	driver_ready = ready;
}

/* --- the engine -------------------------------------------------------------------------- */

static int map_check(const struct keeper_msg *msg, int fd, struct stat *st)
{
	if (!region_is_ready())
		return -ENODEV;
	if (fd < 0 || fstat(fd, st) || !msg->len || !msg->offset ||
	    (msg->offset | msg->len | msg->file_offset) & PAGE_MASK ||
	    msg->offset > window.len || msg->len > window.len - msg->offset)
		return -EINVAL;
	if (nr_showings >= KEEPER_MAPPINGS_MAX)
		return -ENOSPC;
	return showing_at(msg->offset, msg->len) ? -EBUSY : 0;
}

void region_map(const struct keeper_msg *msg, int fd)
{
	struct showing *showing = NULL;
	struct stat st;
	int ret = map_check(msg, fd, &st);

	if (!ret) {
		showing = calloc(1, sizeof(*showing));
		ret = showing ? 0 : -ENOMEM;
	}
	if (ret) {
		if (fd >= 0)
			close(fd);
		tell_done(msg->tag, ret);
		return;
	}
	showing->state = SHOWING_NEW;
	showing->tag = msg->tag;
	showing->offset = msg->offset;
	showing->len = msg->len;
	showing->file_offset = msg->file_offset;
	showing->fd = fd;
	showing->st = st;
	LIST_INSERT_HEAD(&showings, showing, node);
	nr_showings++;
	TAILQ_INSERT_TAIL(&turns, showing, turn);
	ask_next();
}

void region_unmap(const struct keeper_msg *msg)
{
	struct showing *showing = showing_at(msg->offset, msg->len);

	if (!showing || showing->offset != msg->offset || showing->len != msg->len ||
	    showing->state != SHOWING_THERE) {
		tell_done(msg->tag, -ENOENT);
		return;
	}
	showing->tag = msg->tag;
	showing_end(showing);
	ask_next();
}

void region_abandon(void)
{
	struct showing *showing, *next;

	for (showing = LIST_FIRST(&showings); showing; showing = next) {
		next = LIST_NEXT(showing, node);
		showing->abandoned = true;
		if (showing->state == SHOWING_NEW && !showing->asked)
			showing_free(showing);
		else if (showing->state == SHOWING_THERE)
			showing_end(showing);
	}
	ask_next();
}
