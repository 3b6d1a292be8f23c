// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest answers FETCHes, but late enough to keep drivers waiting. The mock holds a mutex of
 * all its users while it copies, as drivers of displays do. Whatever the guest does, another
 * process must get the mutex within little more than the time of one answer, again and again.
 *
 * The tests speak the protocol themselves, as those of hostile.h do, and need the host in the
 * same machine. They start vgpud with its default deadlines, as others may be set on a slow
 * machine.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "agent.h"
#include "hostile_host.h"

#include "kselftest_harness.h"

#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* This is vgpud's default. */
#define ANSWER_MS	2000
/* Another process waits for no longer, not counting the time in which threads get no processor. */
#define WAIT_MS		2500
#define SECONDS		60
/* Another process gets the mutex at least this often, even on a slow machine. */
#define GOT_PER_SECOND	1
#define LANES_MAX	16
/* A guest that has used up its time so often is cut off for ten minutes. */
#define STRIKES		3

/* The forwarded device may have another number after vgpud's restart. */
static char witness_path[32];

/* struct player: a lane of the guest, and the thread that plays the guest on it. */
struct player {
	const struct peer *peer;
	pthread_t thread;
	uint64_t session;
	unsigned int late_ms;
	const volatile bool *stop;
	int lane;
	uint32_t object;
	uint64_t seq;
	unsigned int calls;
	unsigned int fetches;
	unsigned int refused;
};

FIXTURE(hostile_patience) {
	struct peer peer;
	bool started;
};

FIXTURE_SETUP(hostile_patience)
{
	char settings[96];

	NEEDS_HOST();
	self->peer.control = -1;
	ASSERT_TRUE(agent_keep_exports());
	snprintf(settings, sizeof(settings), "[agent]\nfetch-timeout-ms = %d\npatience-ms = 0\n",
		 ANSWER_MS);
	self->started = true;
	ASSERT_TRUE(agent_start_with(getenv("VGPU_NAME"), settings));
	ASSERT_TRUE(agent_write_env());
	snprintf(witness_path, sizeof(witness_path), "/dev/vgpu%d",
		 tool_find_export(getenv("VGPU_NAME")));
	fwd_path = witness_path;
	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
}

FIXTURE_TEARDOWN(hostile_patience)
{
	if (!self->started)
		return;
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unexport("hostile");
	EXPECT_TRUE(agent_start_with(getenv("VGPU_NAME"), ""));
	EXPECT_TRUE(agent_write_env());
}

/*
 * Sends a call that holds the mutex while it accesses two pages, which no other call of the
 * lane uses.
 */
static bool locked_send(int lane, uint32_t object, uint64_t seq)
{
	struct vgpu_mock_locked arg = {
		.in_ptr = 0x10000000 + seq * 0x2000,
		.out_ptr = 0x20000000 + seq * 0x2000,
		.length = 64,
	};

	return peer_ioctl_send(lane, object, seq, TWIN(VGPU_MOCK_IOC_LOCKED), &arg,
			       0x30000000 + seq * 0x2000, sizeof(arg));
}

static bool answer_late(int lane, const struct vgpu_fetch *fetch, unsigned int late_ms)
{
	uint32_t len = le32toh(fetch->len);
	struct {
		struct vgpu_fetched msg;
		char pages[VGPU_PAGE_SIZE * 32];
	} *answer;
	bool ok;

	if (len > sizeof(answer->pages))
		return false;
	answer = calloc(1, sizeof(*answer));
	answer->msg.hdr.len = htole32(sizeof(answer->msg) + len);
	answer->msg.hdr.type = htole16(VGPU_MSG_FETCHED);
	answer->msg.hdr.seq = fetch->hdr.seq;
	answer->msg.len = htole32(len);
	usleep(late_ms * 1000);
	ok = peer_send(lane, answer, sizeof(answer->msg) + len);
	free(answer);
	return ok;
}

static bool answer_written(int lane, const struct vgpu_hdr *hdr)
{
	struct vgpu_written written = {
		.hdr = { .len = htole32(sizeof(written)), .type = htole16(VGPU_MSG_WRITTEN),
			 .seq = hdr->seq },
	};

	return peer_send(lane, &written, sizeof(written));
}

/*
 * Answers the upcalls of a call until its reply. Return: the call's result, or INT64_MIN if the
 * lane has ended.
 */
static int64_t play_call(struct player *player, int lane)
{
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetch fetch;
		struct vgpu_reply reply;
		char bytes[16384];
	} msg;

	for (;;) {
		if (peer_recv(lane, &msg, sizeof(msg), SLACK_MS) <= 0)
			return INT64_MIN;
		switch (peer_type(&msg)) {
		case VGPU_MSG_FETCH:
			player->fetches++;
			if (!answer_late(lane, &msg.fetch, player->late_ms))
				return INT64_MIN;
			break;
		case VGPU_MSG_WRITEBACK:
			if (!answer_written(lane, &msg.hdr))
				return INT64_MIN;
			break;
		case VGPU_MSG_REPLY:
			if (le32toh(msg.reply.flags) & VGPU_REPLY_LAST)
				return INT64_MIN;
			return (int64_t)le64toh(msg.reply.result);
		default:
			return INT64_MIN;
		}
	}
}

static void player_leave(struct player *player)
{
	if (player->lane >= 0)
		close(player->lane);
	player->lane = -1;
}

/* Connects a lane and opens the device on it. */
static bool player_join(struct player *player)
{
	player->lane = peer_lane(player->peer, player->session);
	player->seq = 1;
	player->object = player->lane < 0 ? 0 :
		peer_open_device(player->peer, player->lane, player->seq);
	if (!player->object)
		player_leave(player);
	return player->object;
}

/* Makes calls on a lane, and on another one whenever the lane has ended. */
static void *play(void *data)
{
	struct player *player = data;
	int64_t result;

	while (!*player->stop) {
		if (player->lane < 0 && !player_join(player)) {
			usleep(50000);
			continue;
		}
		player->calls++;
		result = locked_send(player->lane, player->object, ++player->seq) ?
			play_call(player, player->lane) : INT64_MIN;
		if (result == INT64_MIN)
			player_leave(player);
		player->refused += result == -ENOBUFS;
		/* A lane whose call failed for lack of time waits before its next call. */
		if (result == -ENOBUFS)
			usleep(20000);
	}
	player_leave(player);
	return NULL;
}

/*
 * The clock is driven by a thread that only sleeps. If the machine wakes this thread late, it
 * wakes others late, too: those that wait for the mutex, and the guest that answers meanwhile.
 * The clock stands still for the same time.
 */
#define TICK_MS		10

static void *tick(void *data)
{
	atomic_uint *ticks = data;

	for (;;) {
		usleep(TICK_MS * 1000);
		(*ticks)++;
	}
	return NULL;
}

/*
 * struct waits: calls of another process that need the mutex
 * @got: number of calls that got the mutex
 * @longest_ms: longest time of a call, in ms
 * @awake_ms: longest time of a call by the clock that tick() drives, in ms
 */
struct waits {
	unsigned int got;
	int longest_ms;
	int awake_ms;
};

static bool wait_once(int fd, atomic_uint *ticks, struct waits *waits)
{
	struct vgpu_mock_locked arg = { 0 };
	unsigned int since = *ticks;
	uint64_t start = peer_now_ms();
	int ms;

	if (ioctl(fd, VGPU_MOCK_IOC_LOCKED, &arg))
		return false;
	waits->got++;
	ms = peer_now_ms() - start;
	if (ms > waits->longest_ms)
		waits->longest_ms = ms;
	ms = (*ticks - since) * TICK_MS;
	if (ms > waits->awake_ms)
		waits->awake_ms = ms;
	return true;
}

/*
 * Has @nr threads of the guest make drivers wait, and another process wait for the mutex.
 * Return: true if no call of the other process failed.
 */
static bool wait_beside(const struct peer *peer, struct player *players, unsigned int nr,
			unsigned int late_ms, unsigned int seconds, struct waits *waits)
{
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	volatile bool stop = false;
	atomic_uint ticks = 0;
	pthread_t clock;
	unsigned int i;
	bool ok = true;
	uint64_t end;

	*waits = (struct waits){ 0 };
	/* All threads begin at once, while the guest has all of its time. */
	for (i = 0; i < nr; i++) {
		players[i] = (struct player){
			.peer = peer, .session = 1 + i % 2, .late_ms = late_ms, .stop = &stop,
		};
		if (!player_join(&players[i]))
			return false;
		peer_ping(peer);
	}
	if (pthread_create(&clock, NULL, tick, &ticks))
		return false;
	for (i = 0; i < nr; i++)
		if (pthread_create(&players[i].thread, NULL, play, &players[i]))
			exit(KSFT_FAIL);
	end = peer_now_ms() + seconds * 1000;
	while (ok && peer_now_ms() < end) {
		ok = wait_once(fd, &ticks, waits);
		usleep(10000);
		peer_ping(peer);
	}
	stop = true;
	for (i = 0; i < nr; i++)
		pthread_join(players[i].thread, NULL);
	pthread_cancel(clock);
	pthread_join(clock, NULL);
	close(fd);
	return ok;
}

static void say(const char *what, const struct player *players, unsigned int nr,
		const struct waits *waits)
{
	unsigned int i, calls = 0, fetches = 0, refused = 0;

	for (i = 0; i < nr; i++) {
		calls += players[i].calls;
		fetches += players[i].fetches;
		refused += players[i].refused;
	}
	printf("# %s: %u calls, %u fetches, %u refused, used up %" PRIu64 " times\n", what, calls,
	       fetches, refused, guest().counters.spent);
	printf("# the mutex was got %u times and took %d ms at most, %d ms of sleeps\n",
	       waits->got, waits->longest_ms, waits->awake_ms);
	fflush(stdout);
}

/* Each answer comes just in time. */
TEST_F_TIMEOUT(hostile_patience, late_answers_under_a_device_wide_mutex, 300)
{
	struct player players[LANES_MAX];
	struct waits waits;

	ASSERT_TRUE(wait_beside(&self->peer, players, 3, ANSWER_MS * 95 / 100, SECONDS, &waits));
	say("late answers", players, 3, &waits);
	EXPECT_GE(waits.longest_ms, ANSWER_MS / 2);
	EXPECT_LE(waits.awake_ms, WAIT_MS);
	EXPECT_GE(waits.got, SECONDS * GOT_PER_SECOND);
	EXPECT_GE(guest().counters.spent, 1);
	/* Another guest, which keeps no driver waiting, is served as before. */
	EXPECT_TRUE(witness());
}

/* Many answers come, and none of them is late. */
TEST_F_TIMEOUT(hostile_patience, many_slow_answers_under_a_device_wide_mutex, 300)
{
	struct player players[LANES_MAX];
	struct waits waits;

	ASSERT_TRUE(wait_beside(&self->peer, players, LANES_MAX, ANSWER_MS / 20, SECONDS / 2,
				&waits));
	say("slow answers", players, LANES_MAX, &waits);
	EXPECT_GE(waits.longest_ms, ANSWER_MS / 20);
	EXPECT_LE(waits.awake_ms, WAIT_MS);
	EXPECT_GE(waits.got, SECONDS / 2 * GOT_PER_SECOND);
	EXPECT_GE(guest().counters.spent, 1);
}

/* A guest that has used up its time has none left on its next connection either. */
TEST_F_TIMEOUT(hostile_patience, another_connection_has_no_more_time, 120)
{
	struct player player = { .peer = &self->peer, .late_ms = 2 * ANSWER_MS };
	uint32_t object;
	int lane;

	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	ASSERT_TRUE(locked_send(lane, object, 2));
	/* The answer is late, so the call is the lane's last. */
	EXPECT_EQ(INT64_MIN, play_call(&player, lane));
	EXPECT_EQ(1, player.fetches);
	close(lane);
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(locked_send(lane, object, 2));
	EXPECT_EQ(-ENOBUFS, play_call(&player, lane));
	EXPECT_EQ(1, player.fetches);
	EXPECT_EQ(0, guest().counters.patience_ms);
	/* Calls without a fetch work, and so do other guests. */
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, play_call(&player, lane));
	EXPECT_TRUE(witness());
	close(lane);
}

/*
 * Makes a call on a lane of its own, whose fetches are answered after @late_ms. Return: the
 * call's result, or INT64_MIN if the answer was too late.
 */
static int64_t call_alone(const struct peer *peer, unsigned int late_ms, unsigned int *fetches)
{
	struct player player = { .peer = peer, .late_ms = late_ms };
	int lane = peer_lane(peer, 1);
	uint32_t object = lane < 0 ? 0 : peer_open_device(peer, lane, 1);
	int64_t result = -EPIPE;

	if (object && locked_send(lane, object, 2))
		result = play_call(&player, lane);
	if (lane >= 0)
		close(lane);
	*fetches += player.fetches;
	return result;
}

/*
 * A guest that uses up all of its time whenever it has some is cut off: it gets none, however
 * long it waits.
 */
TEST_F_TIMEOUT(hostile_patience, repeat_offender_is_cut_off, 300)
{
	unsigned int strikes = 0, fetches = 0, again_ms = 0;
	uint64_t end, since;
	int64_t result;

	for (end = peer_now_ms() + 150000; strikes < STRIKES && peer_now_ms() < end;) {
		EXPECT_FALSE(guest().counters.cut_off);
		since = peer_now_ms();
		while ((result = call_alone(&self->peer, 2 * ANSWER_MS, &fetches)) == -ENOBUFS &&
		       peer_now_ms() < end) {
			usleep(200000);
			peer_ping(&self->peer);
			again_ms = peer_now_ms() - since;
		}
		ASSERT_EQ(INT64_MIN, result);
		EXPECT_EQ(++strikes, fetches);
		EXPECT_EQ(strikes, guest().counters.spent);
	}
	EXPECT_EQ(STRIKES, strikes);
	EXPECT_TRUE(guest().counters.cut_off);
	/* The guest had time again after again_ms before. */
	for (end = peer_now_ms() + again_ms + SLACK_MS / 4; peer_now_ms() < end; usleep(200000)) {
		ASSERT_EQ(-ENOBUFS, call_alone(&self->peer, 0, &fetches));
		peer_ping(&self->peer);
	}
	EXPECT_EQ(STRIKES, fetches);
	/* Another guest is not affected. */
	EXPECT_TRUE(witness());
}

/*
 * A driver writes to a page, has to fetch another one, and writes to the first one again, whose
 * copy is outdated by then. The bytes written to the first page have to be sent back before,
 * and no time is left for that. The call fails as others do when there is no time (ENOBUFS),
 * and not with EFAULT.
 */
TEST_F_TIMEOUT(hostile_patience, no_time_left_to_send_a_page_back, 120)
{
	const uint64_t page = 0x10000000;
	const struct vgpu_mock_locked arg = {
		.in_ptr = page + 1024, .out_ptr = page + VGPU_PAGE_SIZE - 32, .length = 64,
	};
	struct player player = { .peer = &self->peer }, other = { .peer = &self->peer };
	struct vgpu_fetch fetch;
	struct peer_call call;
	uint32_t object;
	int lane, second;
	uint64_t start;

	lane = peer_lane(&self->peer, 1);
	second = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_GE(second, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	peer_call_init(&call, VGPU_OP_IOCTL, object, 2);
	call.msg.args.ioctl.cmd = htole32(TWIN(VGPU_MOCK_IOC_LOCKED));
	call.msg.args.ioctl.arg = htole64(page);
	call.seg[0].addr = htole64(page);
	call.seg[0].len = htole32(VGPU_PAGE_SIZE);
	call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_PAGE);
	memcpy(call.data, &arg, sizeof(arg));
	ASSERT_TRUE(peer_call_send(lane, &call, 1, VGPU_PAGE_SIZE));
	ASSERT_LT(0, peer_recv(lane, &fetch, sizeof(fetch), SLACK_MS));
	start = peer_now_ms();
	ASSERT_EQ(VGPU_MSG_FETCH, peer_type(&fetch));
	EXPECT_EQ(page + VGPU_PAGE_SIZE, le64toh(fetch.addr));
	/* All pages are outdated once this call has begun. */
	ASSERT_TRUE(peer_ioctl_send(second, object, 1, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, play_call(&other, second));
	while (peer_now_ms() < start + ANSWER_MS * 91 / 100)
		usleep(1000);
	ASSERT_TRUE(answer_late(lane, &fetch, 0));
	EXPECT_EQ(-ENOBUFS, play_call(&player, lane));
	EXPECT_EQ(0, player.fetches);
	EXPECT_EQ(1, guest().counters.spent);
	/* The lane serves the next call. */
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, play_call(&player, lane));
	close(lane);
	close(second);
}

/* --- calls without upcalls ----------------------------------------------------- */

#define ROUNDS		40
/*
 * The guest has this time in all, and each answer may take as long, which not even a slow
 * machine needs.
 */
#define WHOLE_MS	20000
/*
 * FREE_MS and HALF_MS follow from drivers/common/patience.h (VGPU_PATIENCE_FREE and _HALF). After
 * a wait of OLD_MS a call is not young any more: VGPU_PATIENCE_YOUNG makes that WHOLE_MS / 6.
 */
#define FREE_MS		(WHOLE_MS / 500)
#define HALF_MS		(WHOLE_MS / 100)
#define OLD_MS		(WHOLE_MS / 5)
/* An answer within this time costs nothing. */
#define PROMPT_MS	(FREE_MS / 4)

/*
 * struct readers: a guest with two buffers. Page faults of the first take long, until they are
 * ended.
 */
struct readers {
	const struct peer *peer;
	uint32_t object;
	/*
	 * lanes: for the call that touches memory, the one that reads mapped pages, and other
	 * calls
	 */
	int toucher, reader, looker;
	uint64_t toucher_seq, reader_seq, looker_seq, control_seq;
	struct vgpu_mock_buf_create slow, fast;
	/*
	 * sum of the least times that drivers waited, and the most that young calls
	 * (drivers/common/patience.h) pay for these waits, in ms
	 */
	int waited, cost;
};

/* Makes a call on the third lane. Return: its result. */
static int64_t look(struct readers *readers, uint32_t cmd, void *arg, size_t len)
{
	struct {
		struct vgpu_reply reply;
		char arg[256];
	} answer;
	int64_t ret = INT64_MIN;

	if (peer_ioctl_send(readers->looker, readers->object, ++readers->looker_seq, cmd, arg, 0,
			    len))
		ret = peer_reply(readers->looker, &answer, sizeof(answer), SLACK_MS);
	if (!ret)
		memcpy(arg, answer.arg, len);
	return ret;
}

static bool faults_take_long(struct readers *readers, bool long_ones)
{
	struct vgpu_mock_buf_range range = {
		.id = readers->slow.out_id,
		.delay_ms = long_ones ? SLACK_MS : 0,
		.seed = long_ones ? VGPU_MOCK_SLOW_UNLOCKED : VGPU_MOCK_SLOW_END,
	};

	return !look(readers, VGPU_MOCK_IOC_BUF_SLOW, &range, sizeof(range));
}

static uint64_t faults(struct readers *readers)
{
	struct vgpu_mock_buf_info info = { .id = readers->slow.out_id };

	return look(readers, VGPU_MOCK_IOC_BUF_INFO, &info, sizeof(info)) ? 0 : info.out_faults;
}

static bool map_page(struct readers *readers, uint64_t addr, uint64_t offset)
{
	struct peer_call call;
	char answer[512];

	peer_mmap_init(&call, readers->object, ++readers->reader_seq, addr, VGPU_PAGE_SIZE, offset,
		       PROT_READ | PROT_WRITE);
	call.msg.control_seq = htole64(readers->control_seq);
	return peer_call_send(readers->reader, &call, 0, 0) &&
		!peer_reply(readers->reader, answer, sizeof(answer), SLACK_MS);
}

static bool unmap_page(struct readers *readers, uint64_t addr)
{
	const struct vgpu_unmap msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.hdr.seq = htole64(++readers->control_seq),
		.session = htole64(1),
		.addr = htole64(addr),
		.len = htole64(VGPU_PAGE_SIZE),
	};

	return peer_send(readers->peer->control, &msg, sizeof(msg));
}

static bool read_two_pages(struct readers *readers, uint64_t addr)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_READ_PAGES, 0, ++readers->reader_seq);
	call.msg.control_seq = htole64(readers->control_seq);
	call.msg.args.pages.addr = htole64(addr);
	call.msg.args.pages.len = htole64(2 * VGPU_PAGE_SIZE);
	call.seg[0].addr = htole64(addr);
	call.seg[0].len = htole32(2 * VGPU_PAGE_SIZE);
	call.seg[0].flags = htole32(VGPU_SEG_OUT);
	return peer_call_send(readers->reader, &call, 1, 0);
}

/*
 * Begins a call whose driver touches the page. Return: true if the guest is sent a FETCH of the
 * page.
 */
static bool touch_page(struct readers *readers, uint64_t addr, struct vgpu_fetch *fetch)
{
	const struct vgpu_mock_locked arg = {
		.in_ptr = addr, .out_ptr = addr + 0x1000000, .length = 64,
	};
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_IOCTL, readers->object, ++readers->toucher_seq);
	call.msg.control_seq = htole64(readers->control_seq);
	call.msg.args.ioctl.cmd = htole32(TWIN(VGPU_MOCK_IOC_LOCKED));
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	call.seg[0].addr = htole64(addr + 0x2000000);
	call.seg[0].len = htole32(sizeof(arg));
	call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	memcpy(call.data, &arg, sizeof(arg));
	return peer_call_send(readers->toucher, &call, 1, sizeof(arg)) &&
		peer_recv(readers->toucher, fetch, sizeof(*fetch), SLACK_MS) > 0 &&
		peer_type(fetch) == VGPU_MSG_FETCH;
}

/*
 * Reads two mapped pages. The second one is unmapped meanwhile, and becomes the program's own
 * memory, for which another call's driver waits. Return: 0, or the line that failed.
 */
static int read_behind_a_fetch(struct readers *readers, uint64_t addr)
{
	struct player player = { .peer = readers->peer };
	uint64_t before = faults(readers), begun, asked, end = peer_now_ms() + SLACK_MS;
	int over;
	struct vgpu_fetch fetch;
	char answer[16384];

	if (!faults_take_long(readers, true) ||
	    !map_page(readers, addr, readers->slow.out_offset) ||
	    !map_page(readers, addr + VGPU_PAGE_SIZE, readers->fast.out_offset) ||
	    !read_two_pages(readers, addr))
		return __LINE__;
	while (faults(readers) == before) {
		if (peer_now_ms() > end)
			return __LINE__;
		usleep(100);
	}
	begun = peer_now_ms();
	if (!unmap_page(readers, addr + VGPU_PAGE_SIZE) ||
	    !touch_page(readers, addr + VGPU_PAGE_SIZE, &fetch))
		return __LINE__;
	asked = peer_now_ms();
	if (!faults_take_long(readers, false))
		return __LINE__;
	usleep(PROMPT_MS * 1000);
	readers->waited += peer_now_ms() - asked;
	if (!answer_late(readers->toucher, &fetch, 0))
		return __LINE__;
	if (play_call(&player, readers->toucher))
		return __LINE__;
	if (peer_reply(readers->reader, answer, sizeof(answer), SLACK_MS) < VGPU_PAGE_SIZE)
		return __LINE__;
	over = (int)(peer_now_ms() - begun) - FREE_MS;
	readers->cost += over > 0 ? over * over / (over + HALF_MS) + 1 : 0;
	return unmap_page(readers, addr) ? 0 : __LINE__;
}

/*
 * Calls that read mapped pages cause no FETCH, but may wait for the FETCH of another call. They
 * count as young calls then (drivers/common/patience.h): a prompt answer costs nothing.
 */
TEST_F_TIMEOUT(hostile_patience, readers_of_mapped_pages_are_young, 240)
{
	struct readers readers = {
		.peer = &self->peer,
		.slow = { .size = VGPU_PAGE_SIZE, .flavour = VGPU_MOCK_BUF_PFN },
		.fast = { .size = VGPU_PAGE_SIZE, .flavour = VGPU_MOCK_BUF_PFN },
	};
	struct player player = { .peer = &self->peer, .late_ms = OLD_MS };
	char settings[96];
	int64_t left, paid;
	int i;

	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	snprintf(settings, sizeof(settings), "[agent]\nfetch-timeout-ms = %d\npatience-ms = %d\n",
		 WHOLE_MS, WHOLE_MS);
	ASSERT_TRUE(agent_start_with(getenv("VGPU_NAME"), settings));
	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	readers.toucher = peer_lane(&self->peer, 1);
	readers.reader = peer_lane(&self->peer, 1);
	readers.looker = peer_lane(&self->peer, 1);
	ASSERT_TRUE(readers.toucher >= 0 && readers.reader >= 0 && readers.looker >= 0);
	readers.object = peer_open_device(&self->peer, readers.looker, ++readers.looker_seq);
	ASSERT_NE(0, readers.object);
	ASSERT_EQ(0, look(&readers, VGPU_MOCK_IOC_BUF_CREATE, &readers.slow, sizeof(readers.slow)));
	ASSERT_EQ(0, look(&readers, VGPU_MOCK_IOC_BUF_CREATE, &readers.fast, sizeof(readers.fast)));
	/*
	 * The first fetch is late, so a call that the host believes to have begun before it
	 * would not be young.
	 */
	ASSERT_TRUE(locked_send(readers.toucher, readers.object, ++readers.toucher_seq));
	ASSERT_EQ(0, play_call(&player, readers.toucher));
	left = guest().counters.patience_ms;
	ASSERT_GE(left, WHOLE_MS / 2);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, read_behind_a_fetch(&readers, 0x40000000 + i * 2 * VGPU_PAGE_SIZE))
			TH_LOG("round %d", i);
		peer_ping(&self->peer);
	}
	paid = left - (int64_t)guest().counters.patience_ms;
	printf("# drivers waited for %d ms, which cost %" PRId64 " ms, and %d ms would be right\n",
	       readers.waited, paid, readers.cost);
	EXPECT_LE(ROUNDS * PROMPT_MS, readers.waited);
	EXPECT_LE(paid, readers.cost + readers.waited / 8);
	close(readers.toucher);
	close(readers.reader);
	close(readers.looker);
}

/* A driver does not wait for a guest on an export without demand pages. */
TEST_F_TIMEOUT(hostile_patience, export_without_demand_pages, 120)
{
	struct vgpu_export_request request = {
		.struct_size = sizeof(request),
		.path = real_path, .name = "hostile", .cid = LOOPBACK, .port = PORT,
		.no_demand = true,
	};
	struct player player = { .peer = &self->peer };
	struct vgpu_mock_inout io = { 0 };
	struct vgpu_agent *agent;
	struct peer_call call;
	uint32_t object;
	int lane;

	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_EQ(0, unexport("hostile"));
	ASSERT_EQ(0, vgpu_agent_open(NULL, &agent));
	EXPECT_EQ(0, vgpu_agent_export(agent, &request, NULL));
	vgpu_agent_close(agent);

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(locked_send(lane, object, 2));
	EXPECT_EQ(-EOPNOTSUPP, play_call(&player, lane));
	EXPECT_EQ(0, player.fetches);
	EXPECT_EQ(0, guest().counters.spent);
	/*
	 * Memory that a schema describes needs no demand pages, and neither do pages that came
	 * with the call.
	 */
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_INOUT, &io, 0, sizeof(io)));
	EXPECT_EQ(0, play_call(&player, lane));
	peer_call_init(&call, VGPU_OP_IOCTL, object, 4);
	call.msg.args.ioctl.cmd = htole32(TWIN(VGPU_MOCK_IOC_INOUT));
	call.msg.args.ioctl.arg = htole64(0x10000000);
	call.seg[0].addr = htole64(0x10000000);
	call.seg[0].len = htole32(VGPU_PAGE_SIZE);
	call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_PAGE);
	ASSERT_TRUE(peer_call_send(lane, &call, 1, VGPU_PAGE_SIZE));
	EXPECT_EQ(0, play_call(&player, lane));
	EXPECT_EQ(0, player.fetches);
	close(lane);
}

/* Sends an undescribed ioctl, whose argument the driver reads. */
static bool raw_send(int lane, uint32_t object, uint64_t seq, uint64_t addr)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_IOCTL, object, seq);
	call.msg.args.ioctl.cmd = htole32(TWIN(VGPU_MOCK_IOC_INOUT));
	call.msg.args.ioctl.arg = htole64(addr);
	return peer_call_send(lane, &call, 0, 0);
}

/*
 * A call on an export without demand pages may not wait for a page for which another call of
 * the same process waits.
 */
TEST_F_TIMEOUT(hostile_patience, page_refused_to_one_lane, 120)
{
	const uint64_t page = 0x10000000;
	struct vgpu_export_request request = {
		.struct_size = sizeof(request),
		.path = real_path, .name = "hostile-b", .cid = LOOPBACK, .port = PORT,
		.no_demand = true,
	};
	struct player player = { .peer = &self->peer }, other = { .peer = &self->peer };
	uint32_t object, quiet = 0;
	struct vgpu_agent *agent;
	struct vgpu_fetch fetch;
	struct peer peer;
	uint64_t seq = 0;
	int lane, second, i;

	ASSERT_EQ(0, vgpu_agent_open(NULL, &agent));
	EXPECT_EQ(0, vgpu_agent_export(agent, &request, NULL));
	vgpu_agent_close(agent);
	lane = peer_lane(&self->peer, 1);
	second = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_GE(second, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	/* The numbers of a guest's exports are consecutive. */
	peer = self->peer;
	peer.export++;
	for (i = 0; !quiet && i < 100; i++) {
		quiet = peer_open_device(&peer, second, ++seq);
		if (!quiet)
			usleep(20000);
	}
	ASSERT_NE(0, quiet);

	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(raw_send(lane, object, 2 + i, page + i * VGPU_PAGE_SIZE));
		ASSERT_LT(0, peer_recv(lane, &fetch, sizeof(fetch), SLACK_MS));
		ASSERT_EQ(VGPU_MSG_FETCH, peer_type(&fetch)) TH_LOG("turn %d", i);
		ASSERT_TRUE(raw_send(second, quiet, ++seq, page + i * VGPU_PAGE_SIZE));
		EXPECT_EQ(-EOPNOTSUPP, play_call(&other, second)) TH_LOG("turn %d", i);
		ASSERT_TRUE(answer_late(lane, &fetch, 0));
		EXPECT_EQ(0, play_call(&player, lane)) TH_LOG("turn %d", i);
	}
	EXPECT_EQ(0, other.fetches);
	close(lane);
	close(second);
	unexport("hostile-b");
}

TEST_HARNESS_MAIN
