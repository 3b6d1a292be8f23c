// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest has devices keep memory and takes it back: more often than there are numbers,
 * in the wrong order, beside other calls, and where lanes have no protection keys.
 */
#include <sys/mman.h>

#include "hostile_kept.h"

/* The sleep is longer than any test. */
#define SLEEP_MS	60000

/*
 * Begins a call that keeps the file from being closed for two seconds. Return: true if the call
 * is in the driver.
 */
static bool sleep_begin(FIXTURE_DATA(kept) *self)
{
	const struct vgpu_mock_sleep arg = { .ms = 2000 };
	uint32_t before = sleeps();

	return peer_ioctl_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_SLEEP, &arg,
			       ADDR - PAGE, sizeof(arg)) &&
	       eventually(more_sleeps, &before, SLACK_MS);
}

/* Return: true if the answer to RELEASE comes within @ms. */
static bool release_comes(FIXTURE_DATA(kept) *self, uint64_t number, uint64_t ms)
{
	uint64_t end = peer_now_ms() + ms, now;
	union {
		struct vgpu_release msg;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;

	while ((now = peer_now_ms()) < end) {
		still_here(self);
		if (peer_recv(self->peer.control, &answer, sizeof(answer),
			      end - now < 200 ? end - now : 200) > 0 &&
		    peer_type(&answer) == VGPU_MSG_RELEASE)
			return le64toh(answer.msg.number) == number;
	}
	return false;
}

/* Return: true if the host has ended the connection, so that no PONG comes. */
static bool has_ended(FIXTURE_DATA(kept) *self)
{
	char answer[VGPU_CONTROL_MSG_MAX];

	peer_ping(&self->peer);
	return !control_next(self->peer.control, VGPU_MSG_PONG, answer, sizeof(answer));
}

TEST_F_TIMEOUT(kept, more_numbers_than_there_are, 300)
{
	struct kept kept = scattered(1, 1);
	unsigned int i;

	guest_begin(_metadata, self);
	for (i = 0; i < VGPU_KEPT_NUMBERS; i++) {
		kept.number = 10 + i;
		if (!(i % 64))
			ASSERT_TRUE(peer_ping(&self->peer));
		ASSERT_EQ(i < VGPU_MOCK_KEEPS_MAX ? 0 : -EMFILE, keep(self, &kept));
	}
	kept.number = 10 + i;
	EXPECT_EQ(-ENOMEM, keep(self, &kept));
	EXPECT_EQ(VGPU_KEPT_NUMBERS * PAGE, guest().counters.kept_bytes);
	EXPECT_TRUE(release(self, 10));
	EXPECT_EQ(-EMFILE, keep(self, &kept));
	/*
	 * Releases are counted apart from kept numbers, so the RELEASE of a number that no call
	 * has used still succeeds.
	 */
	EXPECT_TRUE(release(self, 5));
}

TEST_F(kept, releases)
{
	struct kept kept = scattered(1, 2);
	union {
		struct vgpu_release msg;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;
	struct pollfd pfd;

	guest_begin(_metadata, self);
	/* A number that no call has used can be released any number of times. */
	EXPECT_TRUE(release(self, 4711));
	EXPECT_TRUE(release(self, 4711));
	EXPECT_TRUE(release(self, UINT64_MAX));
	/* The file is not closed while a call on it runs, whatever the guest says. */
	kept.number = 9;
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(sleep_begin(self));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	pfd = (struct pollfd){ .fd = self->lane, .events = POLLIN };
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_RELEASE, &answer, sizeof(answer)));
	EXPECT_EQ(9, le64toh(answer.msg.number));
	/* The call is over, or the RELEASE came when it had a second or more to go. */
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(self->files, open_files());
}

/*
 * A call that still runs on a closed file may have its driver take memory that another file
 * keeps. So the memory is not released before the call is over, although nothing was kept when
 * the guest closed the call's file.
 */
TEST_F(kept, releases_await_calls_of_before)
{
	const struct vgpu_mock_sleep arg = { .ms = 60000 };
	struct vgpu_hdr cancel = { .len = htole32(sizeof(cancel)), .type = htole16(VGPU_MSG_CANCEL) };
	struct kept kept = scattered(9, 2);
	uint32_t before = sleeps(), other;
	char answer[512];
	int lane;

	guest_begin(_metadata, self);
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	other = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, other);
	ASSERT_TRUE(peer_ioctl_send(lane, other, 2, VGPU_MOCK_IOC_SLEEP, &arg, ADDR + PAGE * 16,
				    sizeof(arg)));
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	ASSERT_EQ(0, guest().counters.kept_bytes);
	ASSERT_TRUE(say_close(self, other));
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	EXPECT_FALSE(release_comes(self, 9, 1000));
	cancel.seq = htole64(2);
	ASSERT_TRUE(peer_send(lane, &cancel, sizeof(cancel)));
	EXPECT_TRUE(release_comes(self, 9, SLACK_MS));
	EXPECT_GT(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	close(lane);
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
}

/*
 * The answers take at least this time if each RELEASE costs what a PING does: a hundred come at
 * once, and the others 10 ms apart.
 */
#define FLOOD		400
#define FLOOD_MS	3000

/*
 * Returns how long the host takes to answer FLOOD releases, in ms, or 0 if it does not answer
 * them. @number is the first number.
 */
static uint64_t release_many(FIXTURE_DATA(kept) *self, uint64_t number)
{
	char answer[VGPU_CONTROL_MSG_MAX];
	uint64_t start = peer_now_ms();
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		if (!say_release(self, number + i))
			return 0;
	for (i = 0; i < FLOOD; i++)
		if (!control_next(self->peer.control, VGPU_MSG_RELEASE, answer, sizeof(answer)))
			return 0;
	return peer_now_ms() - start + 1;
}

/*
 * The module answers RELEASE for memory that no call has kept no faster than PING. A user-space
 * engine answers as fast as it can, because its processor time counts as its guest's.
 */
TEST_F(kept, flood_of_releases)
{
	guest_begin(_metadata, self);
	EXPECT_LE(tool_user_engine() ? 1 : FLOOD_MS * 9 / 10, release_many(self, 1000));
}

/* A guest is not slowed down for memory that its refused calls name: it has pinned that memory. */
TEST_F(kept, releases_of_refused_calls)
{
	struct kept kept = scattered(1, 1);
	unsigned int i;
	uint64_t took;

	guest_begin(_metadata, self);
	for (i = 0; i < FLOOD; i++) {
		kept.number = 1000 + i;
		call_begin(self->object + 1, ++self->seq, kept.addr, kept.len);
		call_add_kept(&kept);
		ASSERT_TRUE(call_send(self->lane));
		ASSERT_EQ(-EBADF, await_reply(self));
	}
	took = release_many(self, 1000);
	EXPECT_LT(0, took);
	EXPECT_GT(FLOOD_MS, took);
}

/* Calls of more bytes than this are refused after memory_fill(). */
#define MEMORY_LEFT	32768U

static struct peer_call last_read;
static int last_reader;

/* Begins calls that wait in the driver, and use nearly all memory that the session may have. */
static void memory_fill(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	const struct vgpu_mock_io mode = { .mode = VGPU_MOCK_IO_QUEUE };
	uint64_t left = 4ULL * le32toh(self->peer.welcome.call_bytes_max) - MEMORY_LEFT;
	struct peer_call read;
	uint64_t part;
	unsigned int i;

	ASSERT_TRUE(peer_ioctl_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_IO_MODE,
				    &mode, ADDR - PAGE, sizeof(mode)));
	ASSERT_EQ(0, await_reply(self));
	for (i = 0; left; i++, left -= part) {
		part = left < 15 << 20 ? left : 15 << 20;
		self->sleepers[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(self->sleepers[i], 0);
		peer_call_init(&read, VGPU_OP_READ, self->object, 1);
		read.msg.f_flags = htole32(O_RDWR);
		read.seg[0].len = htole32(part);
		read.seg[0].flags = htole32(VGPU_SEG_OUT);
		ASSERT_TRUE(peer_call_send(self->sleepers[i], &read, 1, 0));
	}
	/* The last call may be refused if another one has memory just then. */
	last_read = read;
	last_reader = self->sleepers[i - 1];
}

/* Begins the last call of memory_fill() again if it was refused. */
static void memory_refill(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	struct pollfd pfd = { .fd = last_reader, .events = POLLIN };
	char answer[512];

	if (poll(&pfd, 1, 10) != 1)
		return;
	ASSERT_EQ(-ENOMEM, peer_reply(last_reader, answer, sizeof(answer), SLACK_MS));
	last_read.msg.hdr.seq = htole64(le64toh(last_read.msg.hdr.seq) + 1);
	ASSERT_TRUE(peer_call_send(last_reader, &last_read, 1, 0));
}

/* The same holds for calls that are too long for the memory that the session may have. */
TEST_F_TIMEOUT(kept, releases_of_long_calls, 120)
{
	static const char bytes[MEMORY_LEFT + PAGE];
	struct kept kept = scattered(1, 1);
	uint64_t took, end = peer_now_ms() + SLACK_MS;
	unsigned int i = 0;
	int64_t ret;

	if (tool_user_engine())
		SKIP(return, "the engine receives calls of any length that is allowed");
	guest_begin(_metadata, self);
	memory_fill(_metadata, self);
	while (i < FLOOD) {
		kept.number = 1000 + i;
		call_begin(self->object + 1, ++self->seq, kept.addr, kept.len);
		call_add_kept(&kept);
		call_add(ADDR + 16 * PAGE, VGPU_SEG_IN, bytes, sizeof(bytes));
		ASSERT_TRUE(call_send(self->lane));
		ret = await_reply(self);
		/* The calls that fill the memory may not have come so far yet. */
		if (ret == -EBADF && peer_now_ms() < end) {
			memory_refill(_metadata, self);
			continue;
		}
		ASSERT_EQ(-ENOMEM, ret);
		i++;
	}
	took = release_many(self, 1000);
	EXPECT_LT(0, took);
	EXPECT_GT(FLOOD_MS, took);
}

/* --- beside other calls ---------------------------------------------------- */

static bool all_sleep(void *wanted)
{
	return sleeps() >= *(uint32_t *)wanted;
}

/*
 * Begins a call that sleeps in the driver, with kept memory if @kept is not NULL, on a lane of
 * its own.
 */
static void sleeper_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self,
			  unsigned int nr, const struct kept *kept)
{
	const struct vgpu_mock_sleep arg = { .ms = SLEEP_MS };

	self->sleepers[nr] = peer_lane(&self->peer, 1);
	ASSERT_GE(self->sleepers[nr], 0);
	call_begin_with(self->object, 1, VGPU_MOCK_IOC_SLEEP, &arg, sizeof(arg));
	if (kept)
		call_add_kept(kept);
	ASSERT_TRUE(call_send(self->sleepers[nr]));
}

/* Cancels a sleeping call. Return: true if the call is over. */
static bool sleeper_end(FIXTURE_DATA(kept) *self, unsigned int nr)
{
	const struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)), .type = htole16(VGPU_MSG_CANCEL), .seq = htole64(1),
	};
	char answer[512];

	return peer_send(self->sleepers[nr], &cancel, sizeof(cancel)) &&
	       peer_reply(self->sleepers[nr], answer, sizeof(answer), SLACK_MS) != INT64_MIN;
}

#define NEEDS_KEYS() do { \
	if (tool_run("grep -qw ospke /proc/cpuinfo")->status) \
		SKIP(return, "the processor has no protection keys"); \
} while (0)

/* Makes one page that differs from those of other numbers. */
static struct kept page_of(uint64_t number)
{
	static struct vgpu_run run;

	run = run_at(number * 2 * PAGE, PAGE);
	return (struct kept) {
		.addr = ADDR + number * 2 * PAGE, .number = number, .len = PAGE,
		.flags = VGPU_KEPT_WRITE, .nr = 1, .runs = &run,
	};
}

/*
 * A call with kept memory gets a room with a key, however many other calls sleep, until
 * ROOMS_LEFT calls with kept memory sleep as well.
 */
TEST_F_TIMEOUT(kept, rooms, 240)
{
	uint32_t wanted = sleeps() + ROOMS;
	struct kept kept;
	unsigned int i;

	NEEDS_KEYS();
	guest_begin(_metadata, self);
	for (i = 0; i < ROOMS; i++)
		sleeper_begin(_metadata, self, i, NULL);
	ASSERT_TRUE(eventually(all_sleep, &wanted, SLACK_MS));
	kept = page_of(100);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 0, PAGE));
	EXPECT_TRUE(written(self, &kept, 256 * PAGE));

	wanted += ROOMS_LEFT;
	for (; i < ROOMS + ROOMS_LEFT; i++) {
		kept = page_of(i);
		sleeper_begin(_metadata, self, i, &kept);
	}
	ASSERT_TRUE(eventually(all_sleep, &wanted, SLACK_MS));
	kept = page_of(101);
	EXPECT_EQ(-EBUSY, keep(self, &kept));
	/* Calls that need no key work on. */
	EXPECT_EQ(0, use(self, 0, PAGE));
	EXPECT_TRUE(sleeper_end(self, ROOMS));
	EXPECT_EQ(0, keep(self, &kept));
}

/* A call cannot hand over addresses that another call has handed over, until that call is over. */
TEST_F_TIMEOUT(kept, memory_of_another_call, 120)
{
	struct kept other = scattered(2, 4), kept;
	uint32_t before = sleeps();
	int i;

	guest_begin(_metadata, self);
	sleeper_begin(_metadata, self, 0, &other);
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	/*
	 * The ranges reach into the other call's from below, lie inside it, and reach beyond
	 * its end.
	 */
	for (i = -1; i <= 3; i += 2) {
		kept = scattered(10 + i, 2);
		kept.addr = ADDR + i * (int)PAGE;
		EXPECT_EQ(-EINVAL, keep(self, &kept));
	}
	kept = scattered(20, 2);
	kept.addr = ADDR + 4 * PAGE;
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_TRUE(sleeper_end(self, 0));
	kept = scattered(21, 4);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 1, 4 * PAGE));
	EXPECT_TRUE(written(self, &kept, 64 * PAGE));
}

static uint64_t sum_of(const void *p, size_t len)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, p, len);
}

/*
 * Returns the sum of the first @len bytes that a driver reads in the memory, or 0 if the call
 * fails.
 */
static uint64_t seen(FIXTURE_DATA(kept) *self, const struct kept *kept, size_t len)
{
	struct vgpu_mock_array array = {
		.ptr = kept->addr, .count = len / sizeof(uint32_t), .total = len / sizeof(uint32_t),
	};
	struct {
		struct vgpu_reply reply;
		char bytes[512];
	} answer;

	call_begin_with(self->object, ++self->seq, VGPU_MOCK_IOC_ARRAY_IN, &array, sizeof(array));
	call_add_kept(kept);
	if (!call_send(self->lane) || peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS))
		return 0;
	memcpy(&array, answer.bytes, sizeof(array));
	return array.out_sum;
}

/* Memory that is sealed against new writable mappings can be kept for reading only. */
TEST_F(kept, memory_that_is_sealed)
{
	const uint64_t at = RAM_AT + RAM_LEN;
	struct vgpu_run two = { .addr = htole64(at), .len = htole64(2 * PAGE) };
	struct kept kept = {
		.addr = ADDR, .number = 2, .len = 2 * PAGE, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &two,
	};
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const uint32_t words[] = { 0x7365616c, 0x6564 };

	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE));
	ASSERT_EQ(sizeof(words), pwrite(fd, words, sizeof(words), 0));
	ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * PAGE, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(tool_user_engine() ? -ENOMEM : -EPERM, keep(self, &kept));
	EXPECT_EQ(-ENOENT, use(self, 0, PAGE));
	kept.number = 3;
	kept.flags = 0;
	EXPECT_EQ(sum_of(words, sizeof(words)), seen(self, &kept, sizeof(words)));
	/* The driver wants to write to the memory, and fails. */
	EXPECT_EQ(-EFAULT, keep(self, &kept));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * PAGE, 0, -1));
	close(fd);
}

/* A second RELEASE of a number before the answer to the first is malformed. */
TEST_F(kept, released_twice)
{
	struct kept kept = scattered(9, 2);

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(sleep_begin(self));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	ASSERT_TRUE(say_release(self, 9));
	EXPECT_TRUE(has_ended(self));
}

/* KEPT segments and RELEASE are malformed without the feature. */
TEST_F(kept, without_the_feature)
{
	struct kept kept = scattered(1, 1);

	ASSERT_EQ(0, peer_open_with(&self->peer, LOOPBACK, PORT,
				    VGPU_FEATURES & ~VGPU_FEATURE_KEEP));
	lane_begin(_metadata, self);
	call_begin(self->object, ++self->seq, ADDR, PAGE);
	call_add_kept(&kept);
	ASSERT_TRUE(call_send(self->lane));
	EXPECT_GE(peer_wait_eof(self->lane, SLACK_MS), 0);
	ASSERT_TRUE(say_release(self, 1));
	EXPECT_TRUE(has_ended(self));
}

/* --- lanes without keys ----------------------------------------------------- */

#define KEYLESS		"/run/vgpu-keyless"

/*
 * Copies vgpu-keeper and the test's shadow to one directory, where vgpud looks for both.
 * Return: true if they are there.
 */
static bool keyless_make(void)
{
	return !tool_run("set -e\nrm -rf %s\nmkdir %s\ncd %s\n"
			 "cp $(dirname $(command -v vgpud))/../libexec/vgpu/vgpu-keeper .\n"
			 "cp /usr/lib/vgpu-test/tools/keyless_shadow vgpu-shadow",
			 KEYLESS, KEYLESS, KEYLESS)->status;
}

/* This fixture has vgpud start another program as shadow, which does not use protection keys. */
FIXTURE(keyless) {
	FIXTURE_DATA(kept) kept;
	bool begun;
};

FIXTURE_SETUP(keyless)
{
	int fd;

	NEEDS_HOST();
	if (tool_user_engine())
		SKIP(return, "needs the host module: a user-space engine's shadows are its own");
	NEEDS_KEYS();
	ASSERT_TRUE(keyless_make());
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(getenv("VGPU_NAME"), SIGTERM));
	self->begun = true;
	agent_run(KEYLESS "/vgpu-shadow");
	fd = agent_await(getenv("VGPU_NAME"));
	ASSERT_GE(fd, 0);
	close(fd);
	host_begin(_metadata, &self->kept);
}

FIXTURE_TEARDOWN(keyless)
{
	int fd;

	if (!self->begun)
		return;
	host_end(_metadata, &self->kept);
	if (tool_processes("/vgpud", NULL))
		EXPECT_TRUE(agent_gone(agent_kill(SIGTERM)));
	fd = agent_start(getenv("VGPU_NAME"));
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

/*
 * Lanes without keys hand over no memory if the guest was told that other calls cannot access
 * it.
 */
TEST_F_TIMEOUT(keyless, memory, 240)
{
	FIXTURE_DATA(kept) *kept = &self->kept;
	struct kept one = scattered(1, 1);
	uint64_t end;
	int64_t ret;

	ASSERT_EQ(0, peer_open_with(&kept->peer, LOOPBACK, PORT,
				    VGPU_FEATURES & ~VGPU_FEATURE_KEEP_ALONE));
	lane_begin(_metadata, kept);
	end = peer_now_ms() + SLACK_MS;
	do {
		ret = keep(kept, &one);
	} while (ret == -EFAULT && peer_now_ms() < end);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(PAGE, guest().counters.kept_bytes);
	close(kept->lane);
	peer_close(&kept->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));

	ASSERT_EQ(0, peer_open(&kept->peer, LOOPBACK, PORT));
	ASSERT_TRUE(le64toh(kept->peer.welcome.features) & VGPU_FEATURE_KEEP_ALONE);
	lane_begin(_metadata, kept);
	EXPECT_EQ(-EFAULT, keep(kept, &one));
	/*
	 * The host did not get as far as to look for the memory, because the memory is counted
	 * before that. So the call has failed for lack of keys.
	 */
	EXPECT_EQ(0, guest().counters.kept_bytes);
	EXPECT_EQ(-ENOENT, use(kept, 0, PAGE));
}

TEST_HARNESS_MAIN
