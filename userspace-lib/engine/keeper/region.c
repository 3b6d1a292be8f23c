// SPDX-License-Identifier: MIT
/*
 * The window's memory: requests to the hypervisor to map files there, and to unmap them.
 *
 * The hypervisor gets one request at a time. It answers before its guest can see what was mapped,
 * and while its guest can still see what is unmapped. After the answer it reports to all of its
 * back-ends, including the keeper, which memory its guest has now. So a request to map is over
 * when both the answer and this report have come. A request to unmap is over when, in addition,
 * one more request was answered (channel_ask_settled()).
 *
 * A guest may turn the device's memory off. The hypervisor then agrees to map a file, but the file
 * does not become its guest's memory, and no report comes. So if the report is late, the keeper
 * makes that further request here, too. If the report has not come by its answer, the mapping is
 * undone, and the engine's request fails: the guest would see the file at any later time at which
 * it turns the memory on.
 *
 * QEMU 11.1 ends if it gets a request while the guest's driver is not there, so it gets none
 * then. Mappings that were shown when the driver went may still be visible: a guest that resets
 * the device removes them, but a guest that only stops the device, or a paused machine, does not.
 * When the driver is there again, the hypervisor is asked to unmap all of them, before engines
 * are told that there is a window.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "engine/base/closer.h"
#include "engine/keeper/channel.h"
#include "engine/keeper/keeper.h"
#include "engine/keeper/ram.h"
#include "engine/keeper/region.h"
#include "engine/keeper/vhost.h"
#include "shared/loop.h"

#define PAGE_MASK		4095ULL
/*
 * Time in milliseconds that the hypervisor has for the report of a mapping before it is asked
 * whether there will be one. The answer decides, not the time.
 */
#define REPORT_LATE_MS		3000

/**
 * struct file_id - identity of a file
 * @dev: device number of the file system
 * @ino: inode number
 */
struct file_id {
	dev_t dev;
	uint64_t ino;
};

enum showing_state {
	SHOWING_NEW,	/* the hypervisor has to map the file */
	SHOWING_THERE,	/* the guest sees the file */
	SHOWING_OLD,	/* the hypervisor has to unmap the file */
};

/**
 * struct showing - a mapping of a part of a file in the window
 * @node: list entry of showings, which has all of them
 * @turn: list entry of turns, which has those in the states NEW and OLD in the order of requests
 * @state: next request to the hypervisor for the mapping, if any
 * @tag: number of the engine's request that waits for an answer; meaningless if @abandoned
 * @offset: place in the window, in bytes
 * @len: length in bytes
 * @file_offset: place in the file, in bytes
 * @fd: file, until the hypervisor is asked to map the file; -1 afterwards
 * @file: identity of the file, by which the hypervisor's first report of the mapping is recognized
 * @place: address at which the hypervisor has mapped @offset, if @placed. Later reports are
 *	recognized by this address, as all files of a card have the same identity
 * @parts: number of pieces of the mapping that the guest has, as the hypervisor has reported; more
 *	than one if the guest has put other memory over the mapping
 * @asked: true if the request was sent to the hypervisor and is not over
 * @answered: true if the hypervisor has agreed, and channel_ask_settled() asks whether the request
 *	is complete
 * @settled: true if the hypervisor has given its last answer to the request
 * @placed: true if the hypervisor has reported the mapping
 * @abandoned: true if no engine waits for the mapping, which is unmapped as soon as it is mapped
 * @outlived: true if the driver has gone since the hypervisor was asked for the mapping. A reset of
 *	the device may have removed the mapping meanwhile
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
	struct file_id file;
	uint64_t place;
	unsigned int parts;
	bool asked;
	bool answered;
	bool settled;
	bool placed;
	bool abandoned;
	bool outlived;
};

static LIST_HEAD(, showing) showings = LIST_HEAD_INITIALIZER(showings);
static TAILQ_HEAD(, showing) turns = TAILQ_HEAD_INITIALIZER(turns);
static unsigned int nr_showings;
static bool driver_ready;

static void tell_done(uint64_t tag, int result)
{
	const struct keeper_msg msg = { .type = KEEPER_DONE, .tag = tag, .result = result };

	keeper_tell(&msg, -1);
}

/*
 * Find out the identity of a file. The file system is not asked, as it may be in user space and
 * never answer. Return: 0, or a negative errno.
 */
static int file_id_get(int fd, struct file_id *file)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	file->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	file->ino = st.stx_ino;
	return 0;
}

/* --- showings ---------------------------------------------------------------------- */

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
		closer_close(showing->fd, NULL, NULL);
	free(showing);
}

/* Have the hypervisor unmap what it has mapped. */
static void showing_end(struct showing *showing)
{
	showing->state = SHOWING_OLD;
	showing->asked = false;
	showing->answered = false;
	showing->settled = false;
	TAILQ_INSERT_TAIL(&turns, showing, turn);
}

static bool is_ready(void)
{
	return driver_ready && channel_is_there();
}

void region_look(void)
{
	keeper_look(is_ready(), nr_showings);
}

/* --- requests to the hypervisor --------------------------------------------------------- */

static void report_late(struct timer *timer);

/* Timer that is set by the answer to a request to map, if there is no report of the mapping yet. */
static struct timer report = { .expired = report_late };

static void ask(struct showing *showing)
{
	const struct vhost_mmap mmap = {
		.fd_offset = showing->file_offset,
		.shm_offset = showing->offset,
		.len = showing->len,
		.flags = VHOST_MMAP_WRITE,
	};

	timer_cancel(&report);
	channel_ask(showing->state == SHOWING_NEW ? VHOST_BACKEND_SHMEM_MAP :
		    VHOST_BACKEND_SHMEM_UNMAP, &mmap, showing->fd);
	if (showing->fd >= 0)
		closer_close(showing->fd, NULL, NULL);
	showing->fd = -1;
	showing->asked = true;
}

/* Return: the showing whose request was sent and is not over, or NULL. It is the first of turns. */
static struct showing *being_asked(void)
{
	struct showing *showing = TAILQ_FIRST(&turns);

	return showing && showing->asked ? showing : NULL;
}

static void ask_next(void)
{
	struct showing *showing = TAILQ_FIRST(&turns);

	if (showing && !showing->asked && is_ready())
		ask(showing);
	region_look();
}

/* End the request for @showing. */
static void asked_over(struct showing *showing, int result)
{
	channel_excuse();
	if (showing->state == SHOWING_OLD || result) {
		if (!showing->abandoned)
			tell_done(showing->tag, result);
		showing_free(showing);
	} else {
		TAILQ_REMOVE(&turns, showing, turn);
		showing->state = SHOWING_THERE;
		showing->asked = false;
		if (showing->abandoned)
			showing_end(showing);
		else
			tell_done(showing->tag, 0);
	}
	ask_next();
}

/* End the request if the hypervisor has agreed, and its guest's memory has changed accordingly. */
static void asked_look(struct showing *showing)
{
	if (showing->settled && !!showing->parts == (showing->state == SHOWING_NEW))
		asked_over(showing, 0);
}

/* Ask whether the guest will see what the hypervisor has agreed to map. */
static void report_late(struct timer *timer)
{
	struct showing *showing = being_asked();

	(void)timer;
	/* If the driver is gone, nothing may be asked: its return ends the request. */
	if (!showing || showing->state != SHOWING_NEW || !showing->settled || !driver_ready)
		return;
	showing->settled = false;
	showing->answered = true;
	channel_ask_settled();
}

/* Undo a mapping that the guest does not see, as it has turned the device's memory off. */
static void asked_hidden(struct showing *showing)
{
	channel_excuse();
	if (!showing->abandoned)
		tell_done(showing->tag, -ENXIO);
	showing->abandoned = true;
	TAILQ_REMOVE(&turns, showing, turn);
	showing_end(showing);
	ask_next();
}

static void region_answer(uint64_t value)
{
	struct showing *showing = being_asked();

	if (!showing || showing->settled)
		exit(KEEPER_EXIT_PROTOCOL);
	if (!value && showing->state == SHOWING_OLD && !showing->answered) {
		showing->answered = true;
		channel_ask_settled();
	} else if (!value || showing->answered) {
		/* Any answer will do: the hypervisor may report that the object does not exist. */
		showing->settled = true;
		/*
		 * Wait without a deadline if the driver is gone, as reports of memory come only
		 * while it is there.
		 */
		if (!driver_ready) {
			channel_excuse();
		} else if (showing->state == SHOWING_NEW && !showing->parts) {
			if (showing->answered) {
				asked_hidden(showing);
				return;
			}
			timer_set(&report, REPORT_LATE_MS);
		}
		asked_look(showing);
	} else if (showing->state == SHOWING_NEW) {
		asked_over(showing, -ENXIO);
	} else if (showing->outlived) {
		/* The device was reset, so there is nothing to unmap. */
		asked_over(showing, 0);
	} else {
		/* It is unknown whether the guest still sees the memory. */
		exit(KEEPER_EXIT_PROTOCOL);
	}
}

void region_channel(int fd)
{
	/* Requests on the earlier channel may or may not have been done, which cannot be known. */
	if (nr_showings)
		exit(KEEPER_EXIT_PROTOCOL);
	channel_use(fd, region_answer);
}

/* --- reports of the hypervisor ------------------------------------------------------------ */

/*
 * Check whether @part can belong to @showing. It must be in the same part of the file and, if the
 * hypervisor has reported the showing before, at the address that fits. Without a report before,
 * the hypervisor must have been asked to map the showing.
 */
static bool showing_has(const struct showing *showing, const struct ram_part *part,
			const struct file_id *file)
{
	uint64_t begin = part->offset - showing->file_offset;

	if (showing->file.dev != file->dev || showing->file.ino != file->ino ||
	    begin >= showing->len || part->len > showing->len - begin)
		return false;
	return showing->placed ? part->place - begin == showing->place :
		showing->asked || showing->state != SHOWING_NEW;
}

bool region_appeared(const struct ram_part *part, int fd)
{
	struct showing *showing;
	struct file_id file;

	if (file_id_get(fd, &file))
		return true;
	LIST_FOREACH(showing, &showings, node)
		if (showing->placed && showing_has(showing, part, &file))
			break;
	if (!showing)
		LIST_FOREACH(showing, &showings, node)
			if (showing_has(showing, part, &file))
				break;
	if (!showing)
		return false;
	showing->place = part->place - (part->offset - showing->file_offset);
	showing->placed = true;
	showing->parts++;
	if (showing->asked)
		asked_look(showing);
	return true;
}

bool region_vanished(const struct ram_part *part)
{
	struct showing *showing;

	LIST_FOREACH(showing, &showings, node)
		if (showing->parts && part->place - showing->place < showing->len)
			break;
	if (!showing)
		return false;
	showing->parts--;
	if (showing->asked)
		asked_look(showing);
	return true;
}

/* Handle the end of the driver: no engine waits for what was shown to it. */
static void driver_gone(void)
{
	struct showing *showing, *next;

	LIST_FOREACH_SAFE(showing, &showings, node, next) {
		showing->abandoned = true;
		showing->outlived = true;
		if (showing->state == SHOWING_NEW && !showing->asked)
			showing_free(showing);
		else if (showing->asked && showing->settled)
			channel_excuse();
	}
}

/*
 * Handle the start of the driver, perhaps not the first one. All that the hypervisor was asked to
 * map is unmapped, whatever the guest can see of it now: the guest may have turned the device's
 * memory off, and may turn it on again.
 */
static void driver_came(void)
{
	struct showing *showing;

	LIST_FOREACH(showing, &showings, node) {
		/* Leave the decision to the answer that has not come yet. */
		if (showing->asked && !showing->settled)
			continue;
		if (showing->state != SHOWING_THERE)
			TAILQ_REMOVE(&turns, showing, turn);
		showing_end(showing);
	}
}

void region_set_ready(bool ready)
{
	if (ready == driver_ready)
		return;
	driver_ready = ready;
	if (ready)
		driver_came();
	else
		driver_gone();
	ask_next();
}

/* --- requests of the engine ---------------------------------------------------------------- */

static int map_check(const struct keeper_msg *msg, int fd, struct file_id *file)
{
	if (!keeper_may_map(msg->id))
		return -ENODEV;
	if (fd < 0 || file_id_get(fd, file) || !msg->len || !msg->offset ||
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
	struct file_id file;
	int ret = map_check(msg, fd, &file);

	if (!ret) {
		showing = calloc(1, sizeof(*showing));
		ret = showing ? 0 : -ENOMEM;
	}
	if (ret) {
		if (fd >= 0)
			closer_close(fd, NULL, NULL);
		tell_done(msg->tag, ret);
		return;
	}
	showing->state = SHOWING_NEW;
	showing->tag = msg->tag;
	showing->offset = msg->offset;
	showing->len = msg->len;
	showing->file_offset = msg->file_offset;
	showing->fd = fd;
	showing->file = file;
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

	LIST_FOREACH_SAFE(showing, &showings, node, next) {
		showing->abandoned = true;
		if (showing->state == SHOWING_NEW && !showing->asked)
			showing_free(showing);
		else if (showing->state == SHOWING_THERE)
			showing_end(showing);
	}
	ask_next();
}
