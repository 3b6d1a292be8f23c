// SPDX-License-Identifier: MIT
/* vgpud's side of the holder: notes for the next vgpud, and those of the earlier one. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "engine/base/packet.h"
#include "process/cgroup.h"
#include "process/held.h"
#include "process/hierarchy.h"
#include "process/holder.h"
#include "shared/log.h"

/* Connections that look whether there is a holder, and wait in its queue meanwhile. */
#define BACKLOG		16
/* Time in milliseconds for an answer of the holder. */
#define ANSWER_MS	10000

/* Connection to the holder; -1: none. */
static int holder = -1;

/* Notes of the earlier vgpud, in the order of their names. */
static struct held *notes;
static size_t nr_notes, max_notes;

static int compare(const void *one, const void *other)
{
	const struct held *a = one, *b = other;

	if (a->peer != b->peer)
		return a->peer < b->peer ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

static bool wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, ANSWER_MS) == 1;
}

static void holder_close(void)
{
	if (holder >= 0)
		close(holder);
	holder = -1;
}

/* Send a message to the holder. If that fails, guests end with this vgpud. */
static void holder_say(const struct holder_msg *head, const void *data, int fd)
{
	struct iovec iov[] = {
		{ (void *)(uintptr_t)head, offsetof(struct holder_msg, data) },
		{ (void *)(uintptr_t)data, head->len },
	};
	int ret;

	if (holder < 0)
		return;
	do
		ret = packet_send(holder, iov, 2, fd);
	while (ret == -EAGAIN && wait_for(holder, POLLOUT));
	if (!ret)
		return;
	log_warning("the process that keeps guests for another vgpud is lost (%s): guests will end with this one",
		    strerror(-ret));
	holder_close();
}

void held_keep(uint32_t peer, uint64_t key, uint32_t part, const void *data, size_t len, int fd)
{
	const struct holder_msg head = {
		.type = HOLDER_NOTE, .peer = peer, .key = key, .part = part, .len = len,
	};

	holder_say(&head, data, fd);
}

void held_forget(uint32_t peer, uint64_t key)
{
	holder_say(&(struct holder_msg){ .type = HOLDER_FORGET, .peer = peer, .key = key }, "", -1);
}

void held_forget_all(uint32_t peer)
{
	holder_say(&(struct holder_msg){ .type = HOLDER_FORGET_ALL, .peer = peer }, "", -1);
}

void held_end(void)
{
	holder_say(&(struct holder_msg){ .type = HOLDER_END }, "", -1);
	/* The guests' ends, and 'vgpud --clear', must not find it. */
	if (holder >= 0)
		wait_for(holder, POLLHUP);
	holder_close();
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	strcpy(addr.sun_path, HOLDER_SOCKET);
	return addr;
}

/* Connect to the holder of an earlier vgpud. Return: the connection or a negative errno. */
static int holder_connect(void)
{
	const struct sockaddr_un addr = address();
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret;
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (fd < 0)
		return -errno;
	ret = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	/* Only root can make the socket; but what comes from there is trusted. */
	if (!ret && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) || cred.uid))
		ret = -EPERM;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

bool held_is_there(void)
{
	int fd = holder_connect();

	if (fd >= 0)
		close(fd);
	/* -EAGAIN: its queue is full. */
	return fd >= 0 || fd == -EAGAIN;
}

void held_drop(void)
{
	holder = holder_connect();
	held_end();
}

static bool note_take(const struct holder_msg *msg, int fd)
{
	size_t max = max_notes ? 2 * max_notes : 64;
	struct held *more;

	if (nr_notes == max_notes) {
		more = reallocarray(notes, max, sizeof(*notes));
		if (!more)
			return false;
		notes = more;
		max_notes = max;
	}
	more = &notes[nr_notes];
	*more = (struct held) {
		.peer = msg->peer, .key = msg->key, .part = msg->part, .len = msg->len, .fd = fd,
		.data = malloc(msg->len + 1),
	};
	if (!more->data)
		return false;
	memcpy(more->data, msg->data, msg->len);
	nr_notes++;
	return true;
}

/* Receive all notes of the earlier vgpud. Return: 0 or a negative errno. */
static int notes_receive(void)
{
	const struct holder_msg adopt = {
		.type = HOLDER_ADOPT, .key = HOLDER_VERSION, .part = settings.lasting_timeout_ms,
	};
	static struct holder_msg msg;
	ssize_t len;
	int fd;

	holder_say(&adopt, "", -1);
	for (;;) {
		if (holder < 0 || !wait_for(holder, POLLIN))
			return -ETIMEDOUT;
		len = packet_recv(holder, &msg, sizeof(msg), &fd);
		if (len == -EAGAIN || len == -EINTR)
			continue;
		if (len < (ssize_t)offsetof(struct holder_msg, data) ||
		    len != (ssize_t)(offsetof(struct holder_msg, data) + msg.len))
			return -EPROTO;
		if (msg.type == HOLDER_LAST)
			break;
		if (!note_take(&msg, fd)) {
			if (fd >= 0)
				close(fd);
			return -ENOMEM;
		}
	}
	if (nr_notes)
		qsort(notes, nr_notes, sizeof(*notes), compare);
	return 0;
}

/*
 * Have the holder be in a group of its own: 'vgpud --clear' ends the processes of vgpud's group.
 * Without groups of guests, it stays where it is.
 */
static void enter_group(void)
{
	if (cgroup_used())
		hierarchy_enter(cgroup_all(), CGROUP_HOLDER);
}

/* Fork twice, so that the holder is no child of vgpud's. Return: 0 or a negative errno. */
static int holder_fork(int listen_fd, int pair[2])
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		pid = fork();
		if (pid)
			_exit(pid < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
		setpgid(0, 0);
		enter_group();
		holder_run(listen_fd, pair[0], settings.lasting_timeout_ms);
	}
	return waitpid(pid, &(int){ 0 }, 0) == pid ? 0 : -errno;
}

/* Start a holder. Return: 0 or a negative errno. */
static int holder_start(void)
{
	const struct sockaddr_un addr = address();
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), pair[2], ret = 0;

	if (fd < 0)
		return -errno;
	unlink(HOLDER_SOCKET);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(HOLDER_SOCKET, 0600) || listen(fd, BACKLOG) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		ret = -errno;
	if (!ret) {
		ret = holder_fork(fd, pair);
		close(pair[0]);
		holder = pair[1];
		if (ret)
			holder_close();
	}
	close(fd);
	return ret;
}

int held_open(void)
{
	int ret;

	holder = holder_connect();
	if (holder >= 0) {
		ret = notes_receive();
		if (!ret)
			return 0;
		log_warning("guests of an earlier vgpud are not taken over: %s", strerror(-ret));
		held_let_go();
		held_end();
	}
	return holder_start();
}

bool held_any(void)
{
	return nr_notes;
}

struct held *held_next(uint32_t peer, uint64_t key, uint32_t part)
{
	const struct held name = { .peer = peer, .key = key, .part = part };
	size_t low = 0, high = nr_notes, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (compare(&notes[at], &name) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low < nr_notes ? &notes[low] : NULL;
}

struct held *held_find(uint32_t peer, uint64_t key, uint32_t part)
{
	struct held *held = held_next(peer, key, part);

	return held && held->peer == peer && held->key == key && held->part == part ? held : NULL;
}

int held_take(struct held *held)
{
	int fd = held ? held->fd : -1;

	if (held)
		held->fd = -1;
	return fd;
}

void held_let_go(void)
{
	while (nr_notes) {
		nr_notes--;
		if (notes[nr_notes].fd >= 0)
			close(notes[nr_notes].fd);
		explicit_bzero(notes[nr_notes].data, notes[nr_notes].len);
		free(notes[nr_notes].data);
	}
	free(notes);
	notes = NULL;
	max_notes = 0;
}
