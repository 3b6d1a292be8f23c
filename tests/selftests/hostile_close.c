// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest closes files: twice, by messages and calls, and while their drivers wait. Its
 * shadows are killed meanwhile.
 */
#include <signal.h>
#include <stddef.h>

#include "hostile.h"

/* --- references ------------------------------------------------------------ */

/*
 * A CLOSE call is not lost if its thread is killed while the call waits for a control message,
 * even if the guest sends no other CLOSE.
 */
TEST_F(hostile, close_killed_while_it_waits)
{
	struct peer_call call;
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(self->files + 1, open_files());
	peer_call_init(&call, VGPU_OP_CLOSE, object, 2);
	call.msg.control_seq = htole64(3);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	usleep(200000);
	EXPECT_EQ(self->files + 1, open_files());
	close(lane);
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	/* The guest is still connected: the file was not closed by the guest's end. */
	EXPECT_GE(peer_lane(&self->peer, 1), 0);
}

/*
 * Makes the driver of @object keep the file of @in, or give back the file that it has if @in is
 * 0.
 */
static bool hold_send(int lane, uint32_t object, uint64_t seq, uint32_t in)
{
	const struct vgpu_mock_fd_swap swap = {
		.flags = in ? VGPU_MOCK_FD_HAS_IN : VGPU_MOCK_FD_WANT_OUT,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(in ? VGPU_FIXUP_FD_IN : VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_fd_swap, fd)),
		.target = htole32(in),
	};

	return fixup_send(lane, object, seq, VGPU_MOCK_IOC_FD_HOLD, &fixup, &swap, sizeof(swap));
}

/* Gets one more reference of @object, through @device. Return: the reference's number, or -1. */
static int64_t refer_once_more(int lane, uint32_t device, uint32_t object, uint64_t *seq)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
		char bytes[64];
	} answer;
	struct vgpu_hdr ack = { .len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK) };

	if (!hold_send(lane, device, ++*seq, object) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ||
	    !hold_send(lane, device, ++*seq, 0) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ||
	    le16toh(answer.reply.nr_objects) != 1 || le32toh(answer.object.object) != object)
		return -1;
	ack.seq = htole64(*seq);
	return peer_send(lane, &ack, sizeof(ack)) ? le32toh(answer.object.reference) : -1;
}

static int64_t close_by_call(int lane, uint64_t seq, uint32_t object, uint32_t reference)
{
	struct peer_call call;
	char answer[512];

	peer_call_init(&call, VGPU_OP_CLOSE, object, seq);
	call.msg.args.close.reference = htole32(reference);
	return peer_call_send(lane, &call, 0, 0) ?
		peer_reply(lane, answer, sizeof(answer), SLACK_MS) : -1;
}

/* Sends a CLOSE on the control connection. Return: true if the host has read it and lives. */
static bool say_close(const struct peer *peer, uint64_t seq, uint32_t object, uint32_t reference)
{
	const struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.hdr.seq = htole64(seq),
		.object = htole32(object),
		.reference = htole32(reference),
	};
	char answer[VGPU_CONTROL_MSG_MAX];

	return peer_send(peer->control, &msg, sizeof(msg)) && peer_ping(peer) &&
		control_next(peer->control, VGPU_MSG_PONG, answer, sizeof(answer));
}

/*
 * A guest that does not know whether its CLOSE call was executed sends a CLOSE message as well.
 * The first of the two drops the reference, and the second drops none.
 */
TEST_F(hostile, a_reference_goes_back_once)
{
	uint32_t device, object;
	char answer[512];
	uint64_t files, seq = 1;
	int lane;

	HOST_BEGIN(&self->peer, lane, device);
	object = peer_open_device(&self->peer, lane, ++seq);
	ASSERT_NE(0, object);
	ASSERT_EQ(self->files + 2, open_files());
	ASSERT_EQ(1, refer_once_more(lane, device, object, &seq));
	ASSERT_EQ(2, refer_once_more(lane, device, object, &seq));

	/* The call comes first for reference 1, and the message for reference 0. */
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 1));
	EXPECT_TRUE(say_close(&self->peer, 1, object, 1));
	EXPECT_TRUE(say_close(&self->peer, 2, object, 0));
	EXPECT_EQ(-EBADF, close_by_call(lane, ++seq, object, 0));
	/* The guest never had a reference 3. */
	EXPECT_TRUE(say_close(&self->peer, 3, object, 3));
	EXPECT_EQ(self->files + 2, open_files());
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));

	/* A reference's number is not used again while the object has any reference. */
	EXPECT_EQ(3, refer_once_more(lane, device, object, &seq));
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 3));
	files = self->files + 1;
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 2));
	EXPECT_TRUE(eventually(files_are, &files, SLACK_MS));
	EXPECT_TRUE(say_close(&self->peer, 4, object, 2));
	EXPECT_EQ(files, open_files());
	close(lane);
}

/* The program's shadow has a name of its own, so that it is not taken for the witness's. */
#define KILLED		"killed"

/*
 * Pings the host as well, which would otherwise end the connection. Return: true if the host
 * knows that the session is gone.
 */
static bool session_is_gone(void *peer)
{
	struct vgpu_guest_info now = guest();

	return peer_ping(peer) && now.port == PORT && !now.counters.sessions;
}

/*
 * A shadow is killed before the guest has sent the ACK of its last call. The host drops that
 * call's reference, which no one else would drop. A reference with an ACK stays.
 */
TEST_F_TIMEOUT(hostile, shadow_killed_before_the_ack, 120)
{
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK), .seq = htole64(1),
	};
	char answer[512];
	uint32_t object;
	uint64_t end;
	int lane, i;
	pid_t pid;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 2; i++) {
		lane = peer_lane_of(&self->peer, 1 + i, KILLED);
		ASSERT_GE(lane, 0);
		object = peer_open_unacked(&self->peer, lane, 1, O_RDWR);
		ASSERT_NE(0, object) TH_LOG("round %d", i);
		EXPECT_EQ(self->files + 1, open_files());
		if (i) {
			ASSERT_TRUE(peer_send(lane, &ack, sizeof(ack)));
			/* The host reads the ACK before the next call. */
			ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_NOOP, NULL, 0,
						    0));
			ASSERT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
		}
		pid = tool_shadow_of(KILLED);
		ASSERT_NE(0, pid);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		/* The host drops such references when it ends the session. */
		ASSERT_TRUE(eventually(session_is_gone, &self->peer, SLACK_MS));
		close(lane);
		for (end = peer_now_ms() + SLACK_MS; peer_now_ms() < end; usleep(100000)) {
			ASSERT_TRUE(peer_ping(&self->peer));
			if (i || open_files() == self->files)
				break;
		}
		EXPECT_EQ(self->files + i, open_files());
	}
	/* Another process of the guest has the file too, for example by SCM_RIGHTS. */
	lane = peer_lane(&self->peer, 3);
	ASSERT_GE(lane, 0);
	ASSERT_TRUE(peer_ioctl_send(lane, object, 1, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(0, close_by_call(lane, 2, object, 0));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	close(lane);
}

/* --- files whose drivers wait ---------------------------------------------- */

#define FLUSH_FILES	4
#define MANY_FLUSH_FILES	20
/* The mock's wait in ->flush ends after this time if nothing else ends it. */
#define FLUSH_MS	60000

static bool no_objects(void *unused)
{
	(void)unused;
	return !guest().counters.objects;
}

/* Opens @nr files whose ->flush waits as @flush says. Return: @nr, or 0 if it failed. */
static uint32_t open_flushing(const struct peer *peer, int lane, unsigned int nr, uint32_t flush,
			      uint32_t *objects)
{
	char answer[512];
	struct peer_call call;
	uint64_t seq = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		objects[i] = peer_open_device(peer, lane, ++seq);
		if (!objects[i])
			return 0;
		peer_call_init(&call, VGPU_OP_IOCTL, objects[i], ++seq);
		call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_FLUSH);
		call.msg.args.ioctl.arg = htole64(flush);
		if (!peer_call_send(lane, &call, 0, 0) ||
		    peer_reply(lane, answer, sizeof(answer), SLACK_MS))
			return 0;
	}
	return nr;
}

/*
 * Closes files by messages, as for a process that has ended, so no thread waits. Return: true
 * if the host has read the messages.
 */
static bool close_by_message(const struct peer *peer, unsigned int nr, const uint32_t *objects)
{
	char answer[VGPU_CONTROL_MSG_MAX];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct vgpu_close msg = {
			.hdr.len = htole32(sizeof(msg)),
			.hdr.type = htole16(VGPU_MSG_CLOSE),
			.hdr.seq = htole64(i + 1),
			.object = htole32(objects[i]),
		};

		if (!peer_send(peer->control, &msg, sizeof(msg)))
			return false;
	}
	return peer_ping(peer) &&
	       control_next(peer->control, VGPU_MSG_PONG, answer, sizeof(answer));
}

/* Files that a driver has yet to release count against the limit of open files. */
TEST_F(hostile, closed_files_count_until_they_are_released)
{
	uint32_t objects[FLUSH_FILES];
	uint64_t counted, open;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(FLUSH_FILES, open_flushing(&self->peer, lane, FLUSH_FILES, FLUSH_MS, objects));
	EXPECT_EQ(FLUSH_FILES, guest().counters.objects);
	ASSERT_TRUE(close_by_message(&self->peer, FLUSH_FILES, objects));
	counted = guest().counters.objects;
	open = open_files() - self->files;
	EXPECT_GE(counted, open);
	/* The driver has only begun to flush the first file. */
	EXPECT_GT(open, 0);
	/*
	 * The module does not wait for ->flush without limit: the guest's other processes go
	 * on. With a user-space engine the process that had the file closes it, and only that
	 * process waits.
	 */
	if (!tool_user_engine()) {
		EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
		EXPECT_TRUE(eventually(no_objects, NULL, SLACK_MS));
	}
	close(lane);
}

/*
 * A later call waits for all earlier closes together, and not for each file: less than half a
 * second a file with the module, and 30 seconds in all with a user-space engine, which then
 * kills the process that had the files.
 */
TEST_F_TIMEOUT(hostile, many_closed_files_are_waited_for_once, 240)
{
	const unsigned int each_ms = tool_user_engine() ? 30000 / 4 : 500;
	uint32_t objects[MANY_FLUSH_FILES];
	uint64_t start;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(MANY_FLUSH_FILES,
		  open_flushing(&self->peer, lane, MANY_FLUSH_FILES, FLUSH_MS, objects));
	start = peer_now_ms();
	ASSERT_TRUE(close_by_message(&self->peer, MANY_FLUSH_FILES, objects));
	EXPECT_TRUE(eventually(no_objects, NULL, MANY_FLUSH_FILES * each_ms));
	EXPECT_LT(peer_now_ms() - start, MANY_FLUSH_FILES * each_ms);
	close(lane);
	/* A killed process still closes its files one after the other. */
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL,
			       SLACK_MS + MANY_FLUSH_FILES * VGPU_MOCK_FLUSH_ENDING_MS));
}

/* The host does not wait for work that a dead guest has submitted on its files. */
TEST_F_TIMEOUT(hostile, files_of_a_dead_guest_are_not_waited_for, 120)
{
	uint32_t objects[FLUSH_FILES];
	uint64_t start, before = unflushed();
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(FLUSH_FILES, open_flushing(&self->peer, lane, FLUSH_FILES, FLUSH_MS, objects));
	/* Half of the files are being closed, and the others are open still. */
	ASSERT_TRUE(close_by_message(&self->peer, FLUSH_FILES / 2, objects));
	start = peer_now_ms();
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(files_are, &self->files, FLUSH_MS / 2));
	EXPECT_TRUE(eventually(no_guest, NULL, FLUSH_MS / 2));
	EXPECT_LT(peer_now_ms() - start, FLUSH_MS / 2);
	/*
	 * The driver's ->flush is called all the same: some rely on it when they release a
	 * file.
	 */
	EXPECT_EQ(before, unflushed());
	close(lane);
}

/* These threads work for all guests and live longer than any guest; they are not shadows. */
#define HOST_THREADS	"vgpu-peer/[0-9]+|kworker/[^)]*vgpu_host[^)]*|vgpud"
/*
 * An engine ends with its guest. Its last thread closes what the engine has open and waits for
 * the drivers. While the guest lives, the engine's main thread waits for no driver.
 */
#define GUEST_THREADS	HOST_THREADS "|vgpu-engine"

/* Return: true if one of these threads is in one of these states. */
static bool host_is_in(const char *threads, const char *states)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -qsE '^[0-9]+ \\((%s)\\) %s ' /proc/[0-9]*/stat",
		 threads, states);
	return !system(command);
}

/*
 * Looks every 100 ms at these threads, as long as @open files are open. Return: the most looks
 * in a row that found one in state D.
 */
static uint32_t host_waited_deaf(const char *threads, uint64_t open)
{
	uint32_t times = 0, most = 0;

	while (open_files() == open) {
		times = host_is_in(threads, "D") ? times + 1 : 0;
		if (times > most)
			most = times;
		usleep(100000);
	}
	return most;
}

/* Closes a file whose driver ignores signals for @ms. Return: the lane, or -1. */
static int close_deaf_file(FIXTURE_DATA(hostile) *self, uint32_t ms, const char *engine)
{
	int lane = peer_open(&self->peer, LOOPBACK, PORT) ? -1 : peer_lane(&self->peer, 1);
	uint32_t object;

	/* The processes that host_waited_deaf() looks for exist. */
	if (lane < 0 ||
	    !open_flushing(&self->peer, lane, 1, VGPU_MOCK_FLUSH_DEAF | ms, &object) ||
	    !host_is_in(tool_user_engine() ? engine : "vgpu-peer/[0-9]+", "[A-Z]") ||
	    !close_by_message(&self->peer, 1, &object) || open_files() != self->files + 1)
		return -1;
	return lane;
}

/* Only the threads that are in a driver wait in state D while the driver ignores signals. */
TEST_F_TIMEOUT(hostile, close_waits_idly, 120)
{
	int lane = close_deaf_file(self, 4000, "vgpu-engine");

	ASSERT_GE(lane, 0);
	/* A lock is waited for in state D as well, but only for a short time. */
	EXPECT_LT(host_waited_deaf(GUEST_THREADS, self->files + 1), 10);
	close(lane);
}

/* The end of a guest does not wait in state D for a driver that ignores signals. */
TEST_F_TIMEOUT(hostile, end_of_a_guest_waits_idly, 120)
{
	int lane = close_deaf_file(self, 8000, "vgpud");

	ASSERT_GE(lane, 0);
	peer_close(&self->peer);
	close(lane);
	EXPECT_LT(host_waited_deaf(HOST_THREADS, self->files + 1), 10);
}

/* The driver ignores signals for this time, in which a shadow can end even on a slow machine. */
#define DEAF_MS		15000

/* Return: true if all threads of the process have ended. The process may be a zombie. */
static bool process_is_gone(void *pid)
{
	char command[96];

	snprintf(command, sizeof(command), "! grep -qsvE '\\) Z ' /proc/%d/task/*/stat",
		 *(pid_t *)pid);
	return !system(command);
}

/* Return: true if a thread of the process is in state D. */
static bool waits_in_kernel(void *pid)
{
	char command[96];

	snprintf(command, sizeof(command), "grep -qsE '\\) D ' /proc/%d/task/*/stat", *(pid_t *)pid);
	return !system(command);
}

/* A lane can be killed while it waits for an earlier close, whose driver ignores signals. */
TEST_F_TIMEOUT(hostile, lane_behind_a_deaf_close_is_killed, 120)
{
	uint64_t open = self->files + 2;
	uint32_t object, device;
	struct peer_call call;
	pid_t pid;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane_of(&self->peer, 1, KILLED);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(1, open_flushing(&self->peer, lane, 1, VGPU_MOCK_FLUSH_DEAF | DEAF_MS, &object));
	device = peer_open_device(&self->peer, lane, 3);
	ASSERT_NE(0, device);
	pid = tool_shadow_of(KILLED);
	ASSERT_NE(0, pid);
	ASSERT_TRUE(close_by_message(&self->peer, 1, &object));
	peer_call_init(&call, VGPU_OP_IOCTL, device, 4);
	call.msg.control_seq = htole64(1);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_NOOP);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	/* Lanes of a user-space engine wait outside the kernel. */
	if (!tool_user_engine())
		EXPECT_TRUE(eventually(waits_in_kernel, &pid, SLACK_MS));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_TRUE(eventually(process_is_gone, &pid, SLACK_MS));
	/* The shadow has not waited for the driver. */
	EXPECT_EQ(open, open_files());
	close(lane);
}

TEST_HARNESS_MAIN
