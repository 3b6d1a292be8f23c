// SPDX-License-Identifier: MIT
/*
 * Things that the pager waits for: the sockets of lanes whose calls run, the userfaultfd, and
 * threads that have something for the pager to look at.
 */
#include <linux/errno.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>

#include "engine/shadow/lane/lane.h"
#include "engine/shadow/lane/watch.h"
#include "engine/shadow/thread/thread.h"

static int fd_poll, fd_kick;

static int poll_control(int op, int fd, u32 events, u64 key)
{
	struct epoll_event event = { .events = events, .data = key };

	return sys4(__NR_epoll_ctl, fd_poll, op, fd, (long)&event);
}

int watch_lane(struct lane *lane)
{
	return poll_control(EPOLL_CTL_ADD, lane->sock, EPOLLONESHOT, lane->index);
}

void watch_arm(struct lane *lane, bool armed)
{
	poll_control(EPOLL_CTL_MOD, lane->sock,
		     armed ? EPOLLIN | EPOLLRDHUP | EPOLLONESHOT : EPOLLONESHOT, lane->index);
}

void watch_kick(void)
{
	const u64 one = 1;

	sys3(__NR_write, fd_kick, (long)&one, sizeof(one));
}

void watch_kicked(void)
{
	u64 value;

	sys3(__NR_read, fd_kick, (long)&value, sizeof(value));
}

long watch_wait(struct epoll_event *events, u32 nr, int ms)
{
	return sys6(__NR_epoll_pwait, fd_poll, (long)events, nr, ms, 0, 0);
}

int watch_init(int faults)
{
	fd_poll = fd_up(sys2(__NR_epoll_create1, O_CLOEXEC, 0), FILES_OWN);
	fd_kick = fd_up(sys2(__NR_eventfd2, 0, O_CLOEXEC | O_NONBLOCK), FILES_OWN);
	if (fd_poll < 0 || fd_kick < 0 ||
	    poll_control(EPOLL_CTL_ADD, faults, EPOLLIN, WATCH_FAULTS) ||
	    poll_control(EPOLL_CTL_ADD, fd_kick, EPOLLIN, WATCH_KICK))
		return -ENOMEM;
	return 0;
}
