/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host of session_pins.c. It answers the guest's calls without a driver, delays the answers of
 * some, and counts the releases of pinned memory.
 */
#ifndef PINS_HOST_H
#define PINS_HOST_H

#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include "host_played.h"

#define PATIENCE_MS	30000

/* No schema describes these ioctls. The host delays its answer to the second one. */
#define IOCTL_UNKNOWN	_IO('F', 0xd4)
#define IOCTL_SLOW	_IO('F', 0xd5)

#define LANES	64
#define ROOM	(64UL << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/*
 * The lock protects these: number of the last object opened, of the last object closed by a
 * message, and number of RELEASEs.
 */
static uint32_t opened, closed;
static unsigned int released;
/*
 * The lock protects these, too: the open lanes, the newest session, the session whose shadow
 * has died, and the states of calls. slow: IOCTL_SLOW has come; answers_slow: it may be
 * answered; maps: an MMAP has come, which is never answered.
 */
static struct {
	uint64_t session;
	int fd;
} lanes[LANES];
static uint64_t newest, ended;
static bool slow, answers_slow, maps;

/* Receives in parts, as vsock waits for no more bytes than a socket has room for. */
static inline bool receive(int fd, char *data, size_t len)
{
	size_t part;

	for (; len; data += part, len -= part) {
		part = len < ROOM ? len : ROOM;
		if (recv(fd, data, part, MSG_WAITALL) != (ssize_t)part)
			return false;
	}
	return true;
}

static inline void answer_call(int lane, const struct vgpu_call *call)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
	} answer = {};
	size_t len = sizeof(answer.reply);
	struct vgpu_hdr ack;

	answer.reply.hdr.type = htole16(VGPU_MSG_REPLY);
	answer.reply.hdr.seq = call->hdr.seq;
	switch (le16toh(call->op)) {
	case VGPU_OP_OPEN:
		len = sizeof(answer);
		answer.reply.nr_objects = htole16(1);
		pthread_mutex_lock(&lock);
		answer.object.object = htole32(++opened);
		pthread_mutex_unlock(&lock);
		answer.object.kind = htole32(VGPU_OBJECT_DEVICE);
		answer.object.fops = htole32(VGPU_FOP_IOCTL | VGPU_FOP_MMAP);
		answer.object.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
		answer.object.f_flags = htole32(O_RDWR);
		break;
	case VGPU_OP_IOCTL:
		pthread_mutex_lock(&lock);
		if (le32toh(call->args.ioctl.cmd) == IOCTL_SLOW) {
			slow = true;
			pthread_cond_broadcast(&changed);
			while (!answers_slow)
				pthread_cond_wait(&changed, &lock);
		}
		pthread_mutex_unlock(&lock);
		answer.reply.flags = htole32(VGPU_REPLY_REFUSED);
		answer.reply.result = htole64(-EOPNOTSUPP);
		break;
	case VGPU_OP_MMAP:
		pthread_mutex_lock(&lock);
		maps = true;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		return;
	}
	answer.reply.hdr.len = htole32(len);
	if (send(lane, &answer, len, MSG_NOSIGNAL) == (ssize_t)len && answer.reply.nr_objects)
		receive(lane, (char *)&ack, sizeof(ack));
}

/* Adds a lane of the session. Return: 0, or the error of the REFUSE. */
static inline int lane_add(uint64_t session, int fd)
{
	int error = EMFILE;
	size_t i = 0;

	pthread_mutex_lock(&lock);
	newest = session > newest ? session : newest;
	while (i < LANES && lanes[i].session)
		i++;
	if (session == ended) {
		error = ENODEV;
	} else if (i < LANES) {
		lanes[i].session = session;
		lanes[i].fd = fd;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static inline void lane_close(int fd)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < LANES; i++)
		if (lanes[i].fd == fd)
			lanes[i].session = 0;
	close(fd);
	pthread_mutex_unlock(&lock);
}

/* Ends the lanes of a session, as if its shadow had died. */
static inline void end_session(uint64_t session)
{
	size_t i;

	pthread_mutex_lock(&lock);
	ended = session;
	for (i = 0; i < LANES; i++)
		if (lanes[i].session == session)
			shutdown(lanes[i].fd, SHUT_RDWR);
	pthread_mutex_unlock(&lock);
}

/* Serves one lane until the guest closes it. */
static inline void *serve_lane(void *data)
{
	struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	struct vgpu_refuse refuse = {
		.hdr.len = htole32(sizeof(refuse)), .hdr.type = htole16(VGPU_MSG_REFUSE),
	};
	int lane = (intptr_t)data, error;
	struct vgpu_lane_hello hello;
	struct vgpu_call call;
	char rest[VGPU_CALL_BYTES_MIN];
	size_t len;

	if (!receive(lane, (char *)&hello, sizeof(hello)))
		goto out;
	error = lane_add(le64toh(hello.session), lane);
	if (error) {
		refuse.error = htole32(error);
		send(lane, &refuse, sizeof(refuse), MSG_NOSIGNAL);
		goto out;
	}
	if (send(lane, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
		goto out;
	while (receive(lane, (char *)&call, sizeof(call))) {
		len = le32toh(call.hdr.len) - sizeof(call);
		if (len > sizeof(rest) || (len && !receive(lane, rest, len)))
			break;
		answer_call(lane, &call);
	}
out:
	lane_close(lane);
	return NULL;
}

static inline void *accept_lanes(void *unused)
{
	pthread_t thread;
	int lane;

	for (;;) {
		lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		/* The listener's timeout is no reason to stop. */
		if (lane < 0 && errno != EAGAIN)
			return NULL;
		if (lane >= 0 &&
		    pthread_create(&thread, NULL, serve_lane, (void *)(intptr_t)lane))
			close(lane);
	}
}

/* Receives the guest's messages on the control connection. */
static inline void *serve_control(void *unused)
{
	union {
		struct vgpu_hdr hdr;
		struct vgpu_close close;
		struct vgpu_release release;
		char bytes[4096];
	} msg;
	size_t len;

	for (;;) {
		/* The guest may send nothing for any time. */
		while (recv(control, &msg.hdr, 1, MSG_PEEK) < 0 && errno == EAGAIN)
			;
		if (!receive(control, msg.bytes, sizeof(msg.hdr)))
			return NULL;
		len = le32toh(msg.hdr.len) - sizeof(msg.hdr);
		if (len > sizeof(msg) - sizeof(msg.hdr) ||
		    !receive(control, msg.bytes + sizeof(msg.hdr), len))
			return NULL;
		pthread_mutex_lock(&lock);
		if (le16toh(msg.hdr.type) == VGPU_MSG_CLOSE) {
			closed = le32toh(msg.close.object);
		} else if (le16toh(msg.hdr.type) == VGPU_MSG_RELEASE) {
			released++;
			send_all(&msg, sizeof(msg.release));
		}
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
}

static inline void until(const bool *happened)
{
	pthread_mutex_lock(&lock);
	while (!*happened)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static inline void answer_slow(void)
{
	pthread_mutex_lock(&lock);
	answers_slow = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static inline void time_out(struct timespec *end)
{
	clock_gettime(CLOCK_REALTIME, end);
	end->tv_sec += PATIENCE_MS / 1000;
}

/*
 * Waits until @number RELEASEs have come, as long as more of them come. Return: true if exactly
 * so many have.
 */
static inline bool releases(unsigned int number)
{
	unsigned int last = 0;
	struct timespec end;
	bool right;

	time_out(&end);
	pthread_mutex_lock(&lock);
	while (released < number && !pthread_cond_timedwait(&changed, &lock, &end)) {
		if (released != last)
			time_out(&end);
		last = released;
	}
	right = released == number;
	pthread_mutex_unlock(&lock);
	return right;
}

#endif /* PINS_HOST_H */
