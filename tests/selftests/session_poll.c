// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest gets answers about readiness from its host unasked, with wakeups and with replies to
 * ioctls. It uses an answer that is newer than every call, and asks the host where a call may
 * have come in between. The test is the host, as a real host could not be made late.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "host_played.h"

#include "kselftest_harness.h"

#define OBJECT		7
#define PATIENCE_MS	20000

/* The host answers these ioctls in different ways. */
#define PLAIN		_IO('t', 1)	/* with a plain reply */
#define ANSWER		_IO('t', 2)	/* with a reply that says POLLIN */
#define HELD		_IO('t', 3)	/* with POLLIN in its reply, after another ioctl */
#define WOKEN		_IO('t', 4)	/* with a reply that says 0, after an event with POLLIN */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* The lock protects these, and @control. */
static unsigned int polls, ioctls, held;
static uint32_t poll_number;
/*
 * number of the event that is sent with the next POLL, or 0: no event is sent. The POLL after
 * that one comes with the same number, and gets an event with that number, the last event.
 */
static uint32_t late_number;
/* True if each POLL is answered with -EINTR: the host's thread was interrupted. */
static bool interrupted;

/* Sends a POLL_EVENT. Context: the lock is held. */
static void send_event(uint32_t number, uint32_t flags, uint32_t revents)
{
	struct vgpu_poll_event event = {
		.hdr.len = htole32(sizeof(event)),
		.hdr.type = htole16(VGPU_MSG_POLL_EVENT),
		.object = htole32(OBJECT),
		.revents = htole32(revents),
		.number = htole32(number),
		.flags = htole32(flags),
	};

	send_all(&event, sizeof(event));
}

/* Waits until @what is @number at least. Context: the lock is held. */
static void await(const unsigned int *what, unsigned int number)
{
	while (*what < number)
		pthread_cond_wait(&changed, &lock);
}

static void serve_poll(const struct vgpu_call *call, struct vgpu_reply *reply)
{
	polls++;
	if (interrupted)
		reply->result = htole64(-EINTR);
	poll_number = le32toh(call->args.poll.number);
	if (!late_number)
		return;
	send_event(late_number, VGPU_POLL_ANSWER, POLLIN);
	late_number = late_number == poll_number ? 0 : poll_number;
}

static void serve_ioctl(const struct vgpu_call *call, struct vgpu_reply *reply)
{
	switch (le32toh(call->args.ioctl.cmd)) {
	case HELD:
		held++;
		pthread_cond_broadcast(&changed);
		await(&ioctls, 1);
		break;
	case WOKEN:
		/*
		 * The event makes the waiting thread send a POLL, once the guest has handled
		 * it.
		 */
		send_event(poll_number, 0, POLLIN);
		await(&polls, polls + 1);
		reply->out.ioctl.flags = htole32(VGPU_POLL_ANSWER);
		return;
	case PLAIN:
		return;
	}
	reply->out.ioctl.flags = htole32(VGPU_POLL_ANSWER);
	reply->out.ioctl.revents = htole32(POLLIN);
}

/* Serves one lane until the guest closes it. */
static void *serve(void *data)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
	} opened;
	struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	struct vgpu_lane_hello hello;
	struct vgpu_call call;
	int lane = (intptr_t)data;
	struct vgpu_hdr ack;
	size_t len;

	if (recv(lane, &hello, sizeof(hello), MSG_WAITALL) != sizeof(hello) ||
	    send(lane, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
		goto out;
	while (recv(lane, &call, sizeof(call), MSG_WAITALL) == sizeof(call) &&
	       le32toh(call.hdr.len) == sizeof(call)) {
		memset(&opened, 0, sizeof(opened));
		len = sizeof(opened.reply);
		pthread_mutex_lock(&lock);
		switch (le16toh(call.op)) {
		case VGPU_OP_OPEN:
			len = sizeof(opened);
			opened.reply.nr_objects = htole16(1);
			opened.object.object = htole32(OBJECT);
			opened.object.kind = htole32(VGPU_OBJECT_DEVICE);
			opened.object.fops = htole32(VGPU_FOP_POLL | VGPU_FOP_IOCTL);
			opened.object.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
			opened.object.f_flags = htole32(O_RDWR);
			break;
		case VGPU_OP_POLL:
			serve_poll(&call, &opened.reply);
			break;
		case VGPU_OP_IOCTL:
			serve_ioctl(&call, &opened.reply);
			break;
		}
		opened.reply.hdr.len = htole32(len);
		opened.reply.hdr.type = htole16(VGPU_MSG_REPLY);
		opened.reply.hdr.seq = call.hdr.seq;
		if (send(lane, &opened, len, MSG_NOSIGNAL) != (ssize_t)len)
			call.hdr.len = 0;
		if (le16toh(call.op) == VGPU_OP_OPEN &&
		    recv(lane, &ack, sizeof(ack), MSG_WAITALL) != sizeof(ack))
			call.hdr.len = 0;
		ioctls += le16toh(call.op) == VGPU_OP_IOCTL;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
out:
	close(lane);
	return NULL;
}

static void *accept_lanes(void *unused)
{
	pthread_t thread;
	int lane;

	while ((lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)lane))
			close(lane);
	}
	return NULL;
}

FIXTURE(answers) {
	int fd;
};

FIXTURE_SETUP(answers)
{
	struct vgpu_export_add add;
	pthread_t thread;

	self->fd = -1;
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin(), 0);
	fill_export(&add, "played", NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	ASSERT_EQ(pthread_create(&thread, NULL, accept_lanes, NULL), 0);
	self->fd = tool_open_export("played");
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(answers)
{
	close(self->fd);
	host_end();
}

static short look(int fd, int patience)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, patience) < 0 ? -1 : pollfd.revents;
}

static void tell(uint32_t number, uint32_t flags, uint32_t revents)
{
	pthread_mutex_lock(&lock);
	send_event(number, flags, revents);
	pthread_mutex_unlock(&lock);
}

/* An answer with the number of the last call makes a POLL call needless. */
TEST_F_TIMEOUT(answers, of_the_last_call, 60)
{
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 1);
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 1);
	tell(poll_number, VGPU_POLL_ANSWER, POLLIN);
	EXPECT_EQ(look(self->fd, PATIENCE_MS), POLLIN);
	EXPECT_EQ(polls, 1);
	/* An answer is not valid any more after another call. */
	EXPECT_EQ(ioctl(self->fd, PLAIN, 0), 0);
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 2);
}

/* An answer with the number of an earlier call is only a wakeup. */
TEST_F_TIMEOUT(answers, that_comes_late, 60)
{
	EXPECT_EQ(ioctl(self->fd, PLAIN, 0), 0);
	EXPECT_EQ(look(self->fd, 0), 0);
	late_number = poll_number;
	EXPECT_NE(late_number, 0);
	EXPECT_EQ(ioctl(self->fd, PLAIN, 0), 0);
	EXPECT_EQ(look(self->fd, PATIENCE_MS), POLLIN);
	EXPECT_EQ(polls, 3);
	EXPECT_EQ(late_number, 0);
}

/* An answer in the reply to an ioctl makes a POLL call needless, too. */
TEST_F_TIMEOUT(answers, of_an_ioctl, 60)
{
	EXPECT_EQ(ioctl(self->fd, ANSWER, 0), 0);
	EXPECT_EQ(look(self->fd, 0), POLLIN);
	EXPECT_EQ(polls, 0);
	EXPECT_EQ(ioctl(self->fd, PLAIN, 0), 0);
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 1);
}

static void *make_ioctl(void *data)
{
	int *arg = data;

	arg[0] = ioctl(arg[0], arg[1], 0);
	return NULL;
}

/* The answer of an ioctl is not used if another ioctl has ended meanwhile. */
TEST_F_TIMEOUT(answers, of_one_ioctl_of_two, 60)
{
	int arg[2] = { self->fd, HELD };
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, make_ioctl, arg), 0);
	pthread_mutex_lock(&lock);
	await(&held, 1);
	pthread_mutex_unlock(&lock);
	EXPECT_EQ(ioctl(self->fd, PLAIN, 0), 0);
	pthread_join(thread, NULL);
	EXPECT_EQ(arg[0], 0);
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 1);
}

static void *wait_readable(void *data)
{
	int *fd = data;

	*fd = look(*fd, PATIENCE_MS);
	return NULL;
}

/* The answer of an ioctl is not used if an event came before its reply. */
TEST_F_TIMEOUT(answers, of_an_ioctl_before_an_event, 60)
{
	int arg = self->fd;
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, wait_readable, &arg), 0);
	pthread_mutex_lock(&lock);
	await(&polls, 1);
	pthread_mutex_unlock(&lock);
	EXPECT_EQ(ioctl(self->fd, WOKEN, 0), 0);
	EXPECT_EQ(polls, 2);
	EXPECT_EQ(look(self->fd, 0), 0);
	EXPECT_EQ(polls, 3);
	tell(poll_number, VGPU_POLL_ANSWER, POLLIN);
	pthread_join(thread, NULL);
	EXPECT_EQ(arg, POLLIN);
}

static void on_alarm(int signr)
{
}

/* A host says for ever that it was interrupted. The program's poll asks again until a signal. */
TEST_F_TIMEOUT(answers, that_it_was_interrupted, 60)
{
	const struct itimerval often = { { 0, 100000 }, { 0, 100000 } }, never = { };
	const struct sigaction action = { .sa_handler = on_alarm };

	interrupted = true;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	EXPECT_EQ(look(self->fd, 0), -1);
	EXPECT_EQ(errno, EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_mutex_lock(&lock);
	EXPECT_GT(polls, 1);
	interrupted = false;
	pthread_mutex_unlock(&lock);
	EXPECT_EQ(look(self->fd, 0), 0);
}

PLAYED_MAIN
