// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest connects lanes whose sockets its shadow does not give back. The buffers of these
 * sockets are charged to no control group, so the host bounds the number of the sockets. The tests
 * run where those of hostile.h do.
 */
#include <signal.h>

#include "hostile_limits.h"

#define SESSION	1
/* The guest may have this many threads, and so this many connections. */
#define TASKS	24
/* The control connection, and the lane of HOST_BEGIN(). */
#define BEFORE	2
#define MANY	40

static bool set_limit(const char *limit)
{
	return !tool_run("vgpuctl limit %d:%d %s", LOOPBACK, PORT, limit)->status;
}

/* Asks for a lane, and does not wait for the answer. Return: the connection, or -1. */
static int ask(const struct peer *peer)
{
	struct vgpu_lane_hello hello = peer_lane_msg(peer, SESSION);
	int fd = peer_connect(peer->cid, peer->port, false);

	if (fd >= 0 && peer_send(fd, &hello, sizeof(hello)))
		return fd;
	close(fd);
	return -1;
}

static bool ask_many(const struct peer *peer, int *fds, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		fds[i] = ask(peer);
		if (fds[i] < 0)
			return false;
	}
	return true;
}

static void close_many(const int *fds, int nr)
{
	while (nr--)
		close(fds[nr]);
}

/**
 * struct answers - answers to requests for lanes
 * @fds: connections
 * @nr: number of connections
 * @refused: number of those that were refused with EMFILE
 * @expected: number of refusals to wait for
 */
struct answers {
	int fds[MANY];
	int nr;
	int refused;
	int expected;
};

static bool are_refused(void *data)
{
	struct answers *answers = data;
	struct vgpu_refuse refuse;
	int i;

	answers->refused = 0;
	for (i = 0; i < answers->nr; i++)
		answers->refused += recv(answers->fds[i], &refuse, sizeof(refuse),
					 MSG_PEEK | MSG_DONTWAIT) == sizeof(refuse) &&
				    peer_type(&refuse) == VGPU_MSG_REFUSE &&
				    le32toh(refuse.error) == EMFILE;
	return answers->refused >= answers->expected;
}

static bool lane_comes(void *data)
{
	int lane = peer_lane(data, SESSION);

	close(lane);
	return lane >= 0;
}

/*
 * A shadow that does not give sockets back has as many of them as the guest may have threads. It is
 * stopped, so the sockets stay in its queue, as those that another shadow keeps open would.
 */
TEST_F_TIMEOUT(limits, kept_lanes_are_few, 120)
{
	struct answers answers = { .nr = MANY, .expected = MANY - (TASKS - BEFORE) };
	uint32_t object;
	pid_t shadow;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("tasks=24"));
	shadow = tool_shadow_of("hostile");
	ASSERT_GT(shadow, 0);
	ASSERT_EQ(0, kill(shadow, SIGSTOP));
	ASSERT_TRUE(ask_many(&self->peer, answers.fds, MANY));
	EXPECT_TRUE(eventually(are_refused, &answers, SLACK_MS));
	EXPECT_EQ(answers.expected, answers.refused);

	/* The guest's end is closed, but the shadow has the sockets. */
	close_many(answers.fds, MANY);
	answers.nr = 4;
	answers.expected = 4;
	ASSERT_TRUE(ask_many(&self->peer, answers.fds, 4));
	EXPECT_TRUE(eventually(are_refused, &answers, SLACK_MS));
	close_many(answers.fds, 4);

	/* The shadow finds that these lanes have ended, and closes them. */
	ASSERT_EQ(0, kill(shadow, SIGCONT));
	EXPECT_TRUE(eventually(lane_comes, &self->peer, SLACK_MS));
	EXPECT_TRUE(set_limit("tasks="));
	close(lane);
}

/* Lanes that have ended do not count, however many there were. */
TEST_F_TIMEOUT(limits, ended_lanes_do_not_count, 120)
{
	uint32_t object;
	int lane, i;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("tasks=24"));
	for (i = 0; i < 4 * TASKS; i++) {
		EXPECT_TRUE(lane_comes(&self->peer));
		EXPECT_TRUE(peer_ping(&self->peer));
	}
	EXPECT_TRUE(set_limit("tasks="));
	close(lane);
}

TEST_HARNESS_MAIN
