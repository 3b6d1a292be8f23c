// SPDX-License-Identifier: MIT
/* The holder: keeps notes and files of guests for the next vgpud. See holder.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/packet.h"
#include "process/hierarchy.h"
#include "process/holder.h"
#include "shared/loop.h"

/* Files that the holder has from its start. */
enum { FD_LISTEN = 3, FD_VGPUD = 4, FD_OTHERS };

/* Time in milliseconds in which a vgpud has to send its first message, and to read a note. */
#define SAY_MS	5000

/**
 * struct note - a note
 * @node: entry of notes
 * @msg: the note as vgpud has sent it, @len bytes of its data alone
 * @fd: file; -1: none
 */
struct note {
	LIST_ENTRY(note) node;
	int fd;
	struct holder_msg msg;
};

static LIST_HEAD(, note) notes = LIST_HEAD_INITIALIZER(notes);
/* Time in milliseconds for which notes are kept without a vgpud. */
static uint32_t keep_ms;

static void note_free(struct note *note)
{
	LIST_REMOVE(note, node);
	if (note->fd >= 0)
		close(note->fd);
	free(note);
}

/* Kill what is left of guests, and end, which ends the engines. */
static void __attribute__((noreturn)) holder_end(void)
{
	struct note *note;

	LIST_FOREACH(note, &notes, node)
		if (note->msg.part == HOLDER_PART_GROUP)
			group_write(note->fd, "cgroup.kill", "1");
	_exit(EXIT_SUCCESS);
}

/* Forget notes of @msg's peer: of all keys, or of its key, and of that all parts or its part. */
static void notes_forget(const struct holder_msg *msg)
{
	struct note *note, *next;

	LIST_FOREACH_SAFE(note, &notes, node, next) {
		if (note->msg.peer != msg->peer)
			continue;
		if (msg->type != HOLDER_FORGET_ALL && note->msg.key != msg->key)
			continue;
		if (msg->type == HOLDER_NOTE && note->msg.part != msg->part)
			continue;
		note_free(note);
	}
}

static void peer_forget(uint32_t peer)
{
	const struct holder_msg all = { .type = HOLDER_FORGET_ALL, .peer = peer };

	notes_forget(&all);
}

/* Keep a note, in place of an earlier one of the same name. */
static void note_keep(const struct holder_msg *msg, int fd)
{
	struct note *note = malloc(offsetof(struct note, msg.data) + msg->len);

	/* A guest of which not all notes are there ends with vgpud. */
	if (!note) {
		if (fd >= 0)
			close(fd);
		peer_forget(msg->peer);
		return;
	}
	notes_forget(msg);
	memcpy(&note->msg, msg, offsetof(struct holder_msg, data) + msg->len);
	note->fd = fd;
	LIST_INSERT_HEAD(&notes, note, node);
}

/* Wait until something can be done with a file. Return: false if @ms are over before. */
static bool wait_for(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, ms) == 1;
}

/* Handle a message of vgpud. Return: false if the connection is over. */
static bool vgpud_hear(int vgpud)
{
	static struct holder_msg msg;
	ssize_t len;
	int fd;

	if (!wait_for(vgpud, POLLIN, -1))
		return true;
	len = packet_recv(vgpud, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return true;
	if (len < (ssize_t)offsetof(struct holder_msg, data) ||
	    len != (ssize_t)(offsetof(struct holder_msg, data) + msg.len)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	switch (msg.type) {
	case HOLDER_NOTE:
		note_keep(&msg, fd);
		return true;
	case HOLDER_FORGET:
	case HOLDER_FORGET_ALL:
		notes_forget(&msg);
		return true;
	case HOLDER_END:
		holder_end();
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static bool note_send(int vgpud, struct holder_msg *msg, int fd)
{
	struct iovec iov = {
		.iov_base = msg,
		.iov_len = offsetof(struct holder_msg, data) + msg->len,
	};
	int ret;

	while ((ret = packet_send(vgpud, &iov, 1, fd)) == -EAGAIN)
		if (!wait_for(vgpud, POLLOUT, SAY_MS))
			return false;
	return !ret;
}

/* Give a new vgpud all notes, if it asks for them. Return: true if it has them. */
static bool vgpud_welcome(int vgpud)
{
	struct holder_msg msg, last = { .type = HOLDER_LAST };
	struct note *note;
	struct ucred cred;
	socklen_t size = sizeof(cred);
	ssize_t len;
	int fd;

	if (getsockopt(vgpud, SOL_SOCKET, SO_PEERCRED, &cred, &size) || cred.uid ||
	    !wait_for(vgpud, POLLIN, SAY_MS))
		return false;
	len = packet_recv(vgpud, &msg, sizeof(msg), &fd);
	if (fd >= 0)
		close(fd);
	/* The peer only looks whether there is a holder. */
	if (len < (ssize_t)offsetof(struct holder_msg, data))
		return false;
	/* The settings, or the version, are such that nothing is taken over. */
	if (msg.type != HOLDER_ADOPT || msg.key != HOLDER_VERSION)
		holder_end();
	LIST_FOREACH(note, &notes, node)
		if (!note_send(vgpud, &note->msg, note->fd))
			return false;
	if (!note_send(vgpud, &last, -1))
		return false;
	keep_ms = msg.part;
	return true;
}

/* Wait for the next vgpud. Return: its connection. */
static int vgpud_await(void)
{
	const uint64_t end = now_ms() + keep_ms;
	uint64_t now;
	int fd;

	while ((now = now_ms()) < end) {
		if (!wait_for(FD_LISTEN, POLLIN, end - now))
			continue;
		fd = accept4(FD_LISTEN, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (vgpud_welcome(fd))
			return fd;
		close(fd);
	}
	holder_end();
}

/* Give up all rights but those to the files that are open, and to control groups. */
static void rights_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capset, &header, data))
		_exit(EXIT_FAILURE);
}

void holder_run(int listen_fd, int vgpud, uint32_t timeout_ms)
{
	sigset_t none;

	/* The number of each file may be the one that the other file is to get. */
	listen_fd = fcntl(listen_fd, F_DUPFD, FD_OTHERS);
	vgpud = fcntl(vgpud, F_DUPFD, FD_OTHERS);
	if (dup2(listen_fd, FD_LISTEN) < 0 || dup2(vgpud, FD_VGPUD) < 0 ||
	    syscall(SYS_close_range, FD_OTHERS, ~0U, 0))
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, "vgpu-holder", 0, 0, 0);
	rights_drop();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	vgpud = FD_VGPUD;
	keep_ms = timeout_ms;
	for (;;) {
		while (vgpud_hear(vgpud))
			;
		close(vgpud);
		vgpud = vgpud_await();
	}
}
