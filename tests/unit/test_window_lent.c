// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the time when the engine gives back memory that it owns and that a window shows
 * (userspace-lib/engine/memory/window.c): only after the keeper has said that the window does
 * not show it any more. The keeper (vgpu-keeper, which has QEMU map the window's memory), a shadow
 * and the lender are simulated.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/guest/control.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "shared/keeper_proto.h"
#include "shared/proto.h"
#include "tap.h"
#include "shared/log.h"
#include "shared/loop.h"

#define PAGE	4096ULL
#define WINDOW	7

static struct engine_shared counts;
static struct object object;
static struct shadow shadow;
static struct source *keeper;
static int mine = -1, answer;
static unsigned int given_back;
/* Set for a card's memory, which counts by itself until its last mapping goes; else NULL. */
static struct leaving *leaving;

struct engine_shared *shared = &counts;
struct shadow_list shadows;

/* --- functions that window.c calls --------------------------------------------------- */

int owner_take(const struct object *which, uint64_t offset, uint64_t len, struct owned *out)
{
	*out = (struct owned) { .fd = dup(STDOUT_FILENO), .len = len, .leaving = leaving };
	return 0;
}

void closer_close(int fd, void (*done)(void *arg), void *arg)
{
	close(fd);
}

void owner_give_back(const struct owned *which)
{
	given_back++;
}

struct object *object_find(uint32_t id)
{
	return &object;
}

void shadow_answer(struct shadow *to, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	answer = result;
}

void control_send(const void *msg, size_t len)
{
}

void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
	close(fd);
}

void ram_remove(uint64_t addr, uint64_t len)
{
}

void ram_forget(void)
{
}

static void notified(void)
{
}

void (*progress_notify)(void) = notified;

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...)
{
}

void engine_end(const char *why)
{
	tap_expect(false, "the engine ends: %s", why);
	exit(tap_done());
}

int source_add(struct source *source, uint32_t events)
{
	keeper = source;
	return 0;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

void timer_set(struct timer *timer, unsigned int ms)
{
}

void timer_cancel(struct timer *timer)
{
}

/* --- the keeper ------------------------------------------------------------------------ */

static void say(enum keeper_type type, uint64_t tag, int result)
{
	struct keeper_msg msg = {
		.type = type, .tag = tag, .result = result, .id = WINDOW, .len = 1 << 20,
	};
	struct iovec iov = { .iov_base = &msg, .iov_len = sizeof(msg) };

	if (packet_send(mine, &iov, 1, -1))
		abort();
	keeper->ready(keeper, EPOLLIN);
}

static void connect_keeper(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	mine = pair[0];
	window_keeper(pair[1]);
	say(KEEPER_READY, 0, 0);
}

static void end_keeper(void)
{
	close(mine);
	keeper->ready(keeper, EPOLLIN);
}

/* Receives the keeper's next request, which has to be of @type. Return: its number. */
static uint64_t asked(enum keeper_type type)
{
	struct keeper_msg msg = {};
	int fd;

	packet_recv(mine, &msg, sizeof(msg), &fd);
	if (fd >= 0)
		close(fd);
	tap_expect(msg.type == type, "the keeper is asked %u, not %u", msg.type, type);
	return msg.tag;
}

/* Binds the window's page @page. Return: number of the keeper's request, not yet answered. */
static uint64_t bind_page(uint64_t page)
{
	static const struct eshadow_msg ask = { .type = ESHADOW_BIND };
	const struct eshadow_bind to = {
		.window = WINDOW, .offset = page * PAGE, .len = PAGE, .seq = UINT64_MAX,
	};

	window_bind(&shadow, &ask, &to);
	return asked(KEEPER_MAP);
}

static uint64_t bound_page(uint64_t page)
{
	uint64_t tag = bind_page(page);

	answer = -1;
	say(KEEPER_DONE, tag, 0);
	tap_expect(!answer, "the shadow hears that it is shown");
	return tag;
}

static void unbind_page(uint64_t page)
{
	static uint64_t seq;
	const struct vgpu_window_part part = {
		.hdr.seq = cpu_to_le64(++seq), .window = cpu_to_le64(WINDOW),
		.offset = cpu_to_le64(page * PAGE), .len = cpu_to_le64(PAGE),
	};

	window_unbind(&part);
}

static void expect_back(unsigned int nr, const char *when)
{
	tap_expect(given_back == nr, "%s: %u given back, not %u", when, given_back, nr);
}

static void begin(void)
{
	given_back = 0;
	connect_keeper();
}

/* --- subjects ----------------------------------------------------------------------------- */

static void test_unbind(void)
{
	uint64_t tag;

	begin();
	tag = bound_page(1);
	unbind_page(1);
	expect_back(0, "the hypervisor is asked");
	tap_expect(asked(KEEPER_UNMAP) == tag, "the same one");
	say(KEEPER_DONE, tag, 0);
	expect_back(1, "it is hidden");
	say(KEEPER_DONE, bind_page(2), -6);
	expect_back(2, "the hypervisor has refused it");
	end_keeper();
	expect_back(2, "the keeper has ended");
	tap_subject("what is hidden is given back");
}

static void test_driver(void)
{
	begin();
	bound_page(1);
	bind_page(2);
	bound_page(3);
	unbind_page(3);
	asked(KEEPER_UNMAP);
	say(KEEPER_GONE, 0, 0);
	expect_back(0, "the driver has gone");
	tap_expect(!counts.nr_bindings && !counts.bound_bytes, "nothing counts as bound");
	say(KEEPER_READY, 0, 0);
	expect_back(3, "the driver is there again");
	bound_page(1);
	say(KEEPER_GONE, 0, 0);
	say(KEEPER_READY, 0, 0);
	expect_back(4, "and once more");
	end_keeper();
	tap_subject("what was shown to a driver that has gone");
}

static void test_keeper(void)
{
	begin();
	bound_page(1);
	say(KEEPER_GONE, 0, 0);
	say(KEEPER_READY, 0, 0);
	expect_back(1, "it was hidden");
	bound_page(1);
	say(KEEPER_GONE, 0, 0);
	end_keeper();
	connect_keeper();
	expect_back(1, "a keeper that cannot know");
	bound_page(1);
	end_keeper();
	connect_keeper();
	expect_back(1, "and after another's end");
	end_keeper();
	tap_subject("what is shown when a keeper ends is never given back");
}

static void test_card(void)
{
	begin();
	leaving = (struct leaving *)&object;
	bound_page(1);
	say(KEEPER_GONE, 0, 0);
	expect_back(1, "the driver has gone");
	say(KEEPER_READY, 0, 0);
	expect_back(1, "once");
	bound_page(1);
	end_keeper();
	expect_back(2, "the keeper has gone");
	leaving = NULL;
	tap_subject("memory of a card is given back, whoever tells that it is shown");
}

static void test_shadow(void)
{
	uint64_t tag;

	begin();
	tag = bound_page(1);
	window_shadow_gone(&shadow);
	expect_back(0, "the shadow has ended");
	asked(KEEPER_UNMAP);
	say(KEEPER_DONE, tag, 0);
	expect_back(1, "it is hidden");
	tag = bind_page(1);
	window_shadow_gone(&shadow);
	say(KEEPER_DONE, tag, 0);
	expect_back(1, "it is shown after the shadow's end");
	asked(KEEPER_UNMAP);
	say(KEEPER_DONE, tag, 0);
	expect_back(2, "it is hidden as well");
	end_keeper();
	tap_subject("what a shadow had shown that has ended");
}

int main(void)
{
	test_unbind();
	test_driver();
	test_keeper();
	test_card();
	test_shadow();
	return tap_done();
}
