// SPDX-License-Identifier: MIT
/* Sessions: how the shadows of the guest's processes come, go, and send messages. */
#include <errno.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/guest/control.h"
#include "engine/guest/grant.h"
#include "engine/memory/channel.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/event.h"
#include "engine/process/shadow.h"
#include "engine/process/tgid.h"
#include "engine/session/master.h"
#include "engine/session/reference.h"
#include "engine/session/request.h"
#include "engine/session/session.h"
#include "engine/session/submission.h"
#include "engine/session/sync.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Time in milliseconds that the lanes of a session have to end after the guest has closed it. */
#define CLOSE_WAIT_MS	1000
/* Time in milliseconds for which requests of a shadow that has to wait are not read. */
#define HOLD_MS		5
/*
 * Largest number of files sent to one shadow that it has not read yet. The kernel limits the
 * number of such files for all processes of a user together.
 */
#define UNREAD_MAX	64
/* Largest number of files with one message (SCM_MAX_FD). */
#define FILES_MAX	253

static uint32_t nr_sessions;

static struct shadow *shadow_find(uint64_t number)
{
	struct shadow *shadow;

	LIST_FOREACH(shadow, &shadows, node)
		if (shadow->number == number)
			return shadow;
	return NULL;
}

/* --- messages of a shadow that need no answer --------------------------------------------- */

/*
 * End a shadow that closes a file too slowly: calls of other programs wait until all shadows have
 * closed the file.
 */
static void shadow_drops_late(struct timer *timer)
{
	shadow_end(container_of(timer, struct shadow, drop_timer));
}

static void news_dropped(struct shadow *shadow, uint32_t object)
{
	if (!shadow_forget(shadow, object) || !object_dropped(object))
		return;
	shadow_dropped(shadow);
}

/* Handle a message that needs no answer. Return: false if the message is a request. */
static bool shadow_news(struct shadow *shadow, const struct eshadow_msg *msg)
{
	switch (msg->type) {
	case ESHADOW_TAKE_BACK:
		object_release(msg->object, msg->value, 0, NULL, 0);
		return true;
	case ESHADOW_ACKED:
		givens_acked(shadow, msg->lane);
		return true;
	case ESHADOW_UNEVENT:
		event_cancel(msg->object, msg->value);
		return true;
	case ESHADOW_DROPPED:
		news_dropped(shadow, msg->object);
		return true;
	case ESHADOW_USAGE:
		usage_change(shadow, msg);
		return true;
	case ESHADOW_UNSYNC:
		sync_cancel(shadow, msg);
		return true;
	case ESHADOW_UNSUBMIT:
		submission_cancel(shadow, msg);
		return true;
	case ESHADOW_SUBMITTED:
		submission_over(shadow, msg);
		return true;
	case ESHADOW_SHOWN:
		owner_shown(shadow, msg->lane);
		return true;
	case ESHADOW_RM_MADE:
		if (!channel_made(msg))
			shadow_end(shadow);
		return true;
	case ESHADOW_RM_FREED:
		channel_freed(msg);
		return true;
	case ESHADOW_RM_RUNS:
		channel_runs(msg);
		return true;
	case ESHADOW_RM_WISH:
		channel_wish(msg);
		return true;
	default:
		return false;
	}
}

/* --- the connection to a shadow ---------------------------------------------------------- */

static void shadow_gone(struct shadow *shadow)
{
	/*
	 * The shadow may have had a file of NVIDIA's driver that it did not report. The file may
	 * still be in the socket: the number of the process is in use until the socket is closed.
	 */
	bool nvidia = grants_had_nvidia();
	uint32_t object, reference;

	LIST_REMOVE(shadow, node);
	timer_cancel(&shadow->close_timer);
	timer_cancel(&shadow->drop_timer);
	timer_cancel(&shadow->hold_timer);
	/*
	 * Files may still wait in the socket, after an empty message that looked like the end. The
	 * kernel closes them with the socket, so the closer does that, after all files before it.
	 */
	source_del(&shadow->source);
	closer_close(shadow->source.fd, nvidia ? tgid_end : NULL, shadow->tgid);
	sync_shadow_gone(shadow);
	submission_shadow_gone(shadow);
	window_shadow_gone(shadow);
	owner_shadow_gone(shadow);
	master_shadow_gone(shadow);
	objects_shadow_gone(shadow);
	/* The end of the process has closed these files. */
	while (shadow->nr_files)
		object_dropped(shadow->files[--shadow->nr_files]);
	/*
	 * The guest may not have these references: the shadow has reported no ACK. The shadow's
	 * lanes are gone, so nothing else drops the references.
	 */
	while (given_take_back(shadow, &object, &reference))
		object_release(object, reference, 0, NULL, 0);
	/* A shadow that was killed has not given these back. */
	usage_shadow_gone(shadow);
	shared->nr_sessions = --nr_sessions;
	agent_say(ENGINE_CLOSED, shadow->number);
	if (!nvidia)
		tgid_end(shadow->tgid);
	free(shadow->files);
	free(shadow->exports);
	free(shadow);
	progress_notify();
}

/*
 * Return: true if requests of the shadow must not be read now: either the guest reads slowly, and
 * would have to be told of the results, or the shadow may have UNREAD_MAX files still to read.
 * @unread is only reset when the shadow's socket is found empty. With many lanes the socket is
 * seldom empty. Without new requests it becomes empty.
 */
static bool shadow_has_to_wait(struct shadow *shadow)
{
	int left;

	if (control_is_behind())
		return true;
	if (shadow->unread < UNREAD_MAX || shadow->ended)
		return false;
	if (ioctl(shadow->source.fd, SIOCOUTQ, &left) || left)
		return true;
	shadow->unread = 0;
	return false;
}

static void shadow_hold(struct shadow *shadow)
{
	source_set(&shadow->source, 0);
	timer_set(&shadow->hold_timer, HOLD_MS);
}

static void shadow_go_on(struct timer *timer)
{
	struct shadow *shadow = container_of(timer, struct shadow, hold_timer);

	source_set(&shadow->source, EPOLLIN);
}

/**
 * struct asked - a message of a shadow
 * @msg: the request
 * @more: data that follows the request
 * @fds: files that came with the message
 * @nr_fds: number of entries of @fds
 * @cut: true if the message or its list of files was cut off
 */
struct asked {
	struct {
		struct eshadow_msg msg;
		union more more;
	};
	int fds[FILES_MAX];
	size_t nr_fds;
	bool cut;
};

/*
 * Read a message. All of its files are taken: the kernel closes those that are not, and would do
 * so here in the loop.
 */
static ssize_t shadow_recv(struct shadow *shadow, struct asked *ask)
{
	static union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(FILES_MAX * sizeof(int))];
	} control;
	struct iovec iov = {
		.iov_base = &ask->msg,
		.iov_len = offsetof(struct asked, fds),
	};
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t len;

	ask->nr_fds = 0;
	len = recvmsg(shadow->source.fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&header);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
		ask->nr_fds = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ask->fds, CMSG_DATA(cmsg), ask->nr_fds * sizeof(int));
	}
	ask->cut = header.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	return len;
}

static void shadow_ready(struct source *source, uint32_t events)
{
	struct shadow *shadow = container_of(source, struct shadow, source);
	struct asked ask;
	ssize_t len;

	if (!(events & EPOLLHUP) && shadow_has_to_wait(shadow)) {
		shadow_hold(shadow);
		return;
	}
	len = shadow_recv(shadow, &ask);
	/*
	 * -ECONNRESET: the shadow has ended without reading all. Messages that it has sent come
	 * next.
	 */
	if (len == -EAGAIN || len == -EINTR || len == -ECONNRESET)
		return;
	/* An empty message looks like the end of the connection, unless files come with it. */
	if (len < 0 || (!len && !ask.nr_fds && events & EPOLLHUP)) {
		shadow_gone(shadow);
		return;
	}
	if (ask.cut || len < (ssize_t)sizeof(ask.msg) ||
	    len != (ssize_t)(sizeof(ask.msg) + request_more(ask.msg.type)) ||
	    ask.nr_fds > request_has_file(ask.msg.type))
		shadow_malformed(shadow);
	else if (shadow_news(shadow, &ask.msg))
		return;
	/* After the end of a shadow no lane reads the answer, nor uses what it gives. */
	else if (!shadow->ended && !(events & EPOLLHUP)) {
		request_handle(shadow, &ask.msg, &ask.more, ask.nr_fds ? ask.fds[0] : -1);
		return;
	}
	while (ask.nr_fds)
		closer_close(ask.fds[--ask.nr_fds], NULL, NULL);
}

/* --- requests of the guest and of vgpud --------------------------------------------------- */

/*
 * End the shadow of a closed session after CLOSE_WAIT_MS. The lanes and the control connection
 * are not ordered, so the shadow's threads get this time to read what was sent to them.
 */
static void session_close_look(struct timer *timer)
{
	struct shadow *shadow = container_of(timer, struct shadow, close_timer);

	shadow_end(shadow);
}

/*
 * Numbers of the sessions that the guest has closed and that had no shadow. vgpud may still be
 * making such a shadow, and messages of vgpud and of the guest are not ordered.
 */
#define CLOSED_EARLY	64
static uint64_t closed_early[CLOSED_EARLY];
static unsigned int closed_early_next;

static bool session_was_closed(uint64_t number)
{
	size_t i;

	for (i = 0; i < CLOSED_EARLY; i++)
		if (closed_early[i] == number)
			return true;
	return false;
}

void session_add(uint64_t number, int fd)
{
	struct shadow *shadow;

	/* The shadow has no connection to an engine, and ends. */
	if (fd < 0) {
		agent_say(ENGINE_CLOSED, number);
		agent_say(ENGINE_REAP, number);
		return;
	}
	shadow = calloc(1, sizeof(*shadow));
	if (shadow)
		shadow->tgid = tgid_new(number);
	if (!shadow || !shadow->tgid)
		engine_end("out of memory");
	shadow->number = number;
	shadow->source.fd = fd;
	shadow->source.ready = shadow_ready;
	shadow->close_timer.expired = session_close_look;
	shadow->drop_timer.expired = shadow_drops_late;
	shadow->hold_timer.expired = shadow_go_on;
	shadow->ends = submission_shadow_ends;
	LIST_INIT(&shadow->givens);
	if (source_add(&shadow->source, EPOLLIN))
		engine_end("cannot watch the connection to a new shadow");
	LIST_INSERT_HEAD(&shadows, shadow, node);
	shared->nr_sessions = ++nr_sessions;
	use_most32(&shared->most.sessions, nr_sessions);
	ram_tell(shadow);
	if (session_was_closed(number))
		session_close(number);
}

/* A missing session is no error: its shadow may have died. */
void session_unmap(uint64_t number, uint64_t addr, uint64_t len)
{
	const struct eshadow_msg msg = { .type = ESHADOW_UNMAP, .value = addr, .extra = len };
	struct shadow *shadow = shadow_find(number);

	if (shadow)
		shadow_send(shadow, &msg, NULL, 0, -1);
}

void session_check(uint64_t number)
{
	if (!shadow_find(number))
		agent_say(ENGINE_CLOSED, number);
}

void session_close(uint64_t number)
{
	const struct eshadow_msg end = { .type = ESHADOW_END };
	struct shadow *shadow = shadow_find(number);

	if (!shadow) {
		closed_early[closed_early_next++ % CLOSED_EARLY] = number;
		return;
	}
	if (shadow->closing)
		return;
	shadow->closing = true;
	shadow_send(shadow, &end, NULL, 0, -1);
	timer_set(&shadow->close_timer, CLOSE_WAIT_MS);
}
