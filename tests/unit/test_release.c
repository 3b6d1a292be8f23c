// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the time when the guest is notified that no device uses its memory any more: after
 * its files are closed, and after the engine's duplicates of that memory are freed. The engine's
 * own code runs here; the guest, the window's keeper (vgpu-keeper, which has QEMU map the window's
 * memory) and NVIDIA's driver are simulated.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/guest/control.h"
#include "engine/guest/grant.h"
#include "engine/memory/lend.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "shared/keeper_proto.h"
#include "shared/proto.h"
#include "engine/session/kept.h"
#include "engine/session/reference.h"
#include "tap.h"
#include "shared/log.h"
#include "shared/loop.h"

#define WINDOW		7
#define WINDOW_LEN	(1ULL << 30)
#define PAGE		4096ULL

/* The objects' numbers. */
enum { CTL = 1, CARD, MOCK, OBJECTS };

struct engine_start start;
static struct engine_shared numbers;
struct engine_shared *shared = &numbers;
struct shadow_list shadows = LIST_HEAD_INITIALIZER(shadows);
static struct shadow shadow;

static struct grant mock_grant = { .driver = "vgpu-mock" };
static struct object objects[OBJECTS];
static bool open_now[OBJECTS];

/* Number in the last RELEASE to the guest; counts of RELEASEs, and of duplicates in the driver. */
static uint64_t answered;
static unsigned int nr_answered, nr_owned, owned_when_answered;
static uint64_t applied, seq;
static int bind_result;
/* Number of the last memory that a shadow was going to map, and of the one still to be mapped. */
static uint64_t last_shown, showing;

/* The keeper's end of the connection, and the engine's source for the other end. */
static int keeper_fd = -1;
static struct source *keeper_source;
static struct keeper_msg asked;

/* --- functions of other parts of the engine -------------------------------------------- */

bool objects_applied(uint64_t seq)
{
	return seq <= applied;
}

static void notified(void)
{
	kept_look();
}

void (*progress_notify)(void) = notified;

void control_send(const void *msg, size_t len)
{
	const struct vgpu_release *release = msg;

	if (le16_to_cpu(release->hdr.type) != VGPU_MSG_RELEASE)
		return;
	answered = le64_to_cpu(release->number);
	nr_answered++;
	owned_when_answered = nr_owned;
}

bool control_is_behind(void)
{
	return false;
}

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...)
{
}

void engine_end(const char *why)
{
	tap_expect(false, "the engine ended: %s", why);
	tap_subject("engine");
	exit(1);
}

struct object *object_find(uint32_t id)
{
	return id < OBJECTS && open_now[id] ? &objects[id] : NULL;
}

uint64_t owner_last_shown(void)
{
	return last_shown;
}

bool owner_shows(uint64_t number)
{
	return showing && showing <= number;
}

bool owner_shares(const struct object *object)
{
	return object->id != MOCK;
}

int owner_take(const struct object *object, uint64_t offset, uint64_t len, struct owned *owned)
{
	if (object->id != CARD)
		return -EOPNOTSUPP;
	owned->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	owned->len = len;
	nr_owned++;
	return 0;
}

void closer_close(int fd, void (*done)(void *arg), void *arg)
{
	close(fd);
}

void owner_give_back(const struct owned *owned)
{
	nr_owned--;
}

void shadow_answer(struct shadow *to, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	bind_result = result;
}

void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd)
{
}

void ram_remove(uint64_t addr, uint64_t len)
{
}

void ram_forget(void)
{
}

int source_add(struct source *source, uint32_t events)
{
	keeper_source = source;
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

static void keeper_say(struct keeper_msg msg)
{
	struct iovec iov = { .iov_base = &msg, .iov_len = sizeof(msg) };

	packet_send(keeper_fd, &iov, 1, -1);
	keeper_source->ready(keeper_source, 0);
}

/* Returns the type of the last request to the keeper, and closes the files of all requests. */
static uint32_t keeper_hear(void)
{
	uint32_t type = 0;
	int fd;

	while (packet_recv(keeper_fd, &asked, sizeof(asked), &fd) == sizeof(asked)) {
		type = asked.type;
		if (fd >= 0)
			close(fd);
	}
	return type;
}

static void keeper_done(int result)
{
	keeper_say((struct keeper_msg){ .type = KEEPER_DONE, .tag = asked.tag, .result = result });
}

static void keeper_ready(void)
{
	keeper_say((struct keeper_msg){ .type = KEEPER_READY, .id = WINDOW, .len = WINDOW_LEN });
}

static void keeper_came(void)
{
	int pair[2];

	if (keeper_fd >= 0)
		close(keeper_fd);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		abort();
	keeper_fd = pair[1];
	window_keeper(pair[0]);
	keeper_ready();
}

/* --- the guest --------------------------------------------------------------------------- */

static void object_open(uint32_t id)
{
	objects[id] = (struct object) {
		.id = id, .fd = STDIN_FILENO, .kind = VGPU_OBJECT_DEVICE,
		.grant = id == MOCK ? &mock_grant : NULL,
	};
	open_now[id] = true;
}

static void object_close(uint32_t id)
{
	open_now[id] = false;
	window_object_closed(id);
	applied = ++seq;
	kept_look();
}

/* Binds an object's page to the window. Return: the answer to the shadow. */
static int show(uint32_t id, uint64_t page)
{
	const struct eshadow_msg msg = { .type = ESHADOW_BIND, .object = id };
	const struct eshadow_bind to = {
		.window = WINDOW, .offset = page * PAGE, .len = PAGE, .seq = seq,
	};

	bind_result = 1;
	window_bind(&shadow, &msg, &to);
	if (bind_result <= 0)
		return bind_result;
	if (keeper_hear() != KEEPER_MAP)
		return -EPROTO;
	keeper_done(0);
	return bind_result;
}

static void hide(uint64_t page)
{
	const struct vgpu_window_part part = {
		.hdr.seq = cpu_to_le64(++seq), .window = cpu_to_le64(WINDOW),
		.offset = cpu_to_le64(page * PAGE), .len = cpu_to_le64(PAGE),
	};

	window_unbind(&part);
	applied = seq;
	kept_look();
}

static void release(uint64_t number)
{
	nr_answered = 0;
	answered = 0;
	kept_release(number, ++seq);
	applied = seq;
	kept_look();
}

static bool is_answered(uint64_t number)
{
	return nr_answered == 1 && answered == number;
}

static void begin(void)
{
	uint32_t id;

	start.limits.kept_bytes = 1 << 20;
	for (id = 1; id < OBJECTS; id++)
		object_open(id);
	keeper_came();
	/* Duplicates of the earlier keeper do not matter here. */
	nr_owned = 0;
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_duplicate(void)
{
	begin();
	tap_expect(!kept_add(CTL, 1, PAGE) && shared->kept_bytes == PAGE, "memory is kept");
	tap_expect(!show(CARD, 1) && nr_owned == 1, "it is shown");
	object_close(CARD);
	object_close(CTL);
	release(1);
	tap_expect(!nr_answered && shared->kept_bytes == PAGE, "while it is shown");
	hide(1);
	tap_expect(keeper_hear() == KEEPER_UNMAP && !nr_answered, "while it may be seen");
	keeper_done(0);
	tap_expect(is_answered(1) && !owned_when_answered && !shared->kept_bytes,
		   "when the duplicate is freed");
	tap_subject("a duplicate");
}

static void test_others(void)
{
	begin();
	tap_expect(!show(CARD, 1) && !kept_add(CTL, 2, PAGE), "kept after it was shown");
	object_close(CARD);
	release(2);
	tap_expect(is_answered(2), "another memory is shown");
	object_open(CARD);
	tap_expect(!kept_add(CTL, 3, PAGE) && !show(CARD, 2), "shown by a file that is open");
	release(3);
	tap_expect(is_answered(3), "which the guest has not closed");
	tap_expect(!kept_add(MOCK, 4, PAGE) && !show(CARD, 3), "of another driver");
	object_close(CARD);
	release(4);
	tap_expect(is_answered(4), "which has no duplicates");
	release(5);
	tap_expect(is_answered(5), "a number that no call has come with");
	tap_subject("what is not waited for");
}

static void test_shown(void)
{
	begin();
	showing = ++last_shown;
	tap_expect(!kept_add(CTL, 20, PAGE), "a shadow is about to map memory");
	object_close(CTL);
	release(20);
	tap_expect(!nr_answered, "while it does");
	/* A shadow that asks later does so for an open file, and is not waited for. */
	showing = ++last_shown;
	kept_look();
	tap_expect(is_answered(20), "when it has mapped it");
	showing = 0;
	tap_subject("what a shadow is about to map");
}

static void test_window_gone(void)
{
	begin();
	tap_expect(!kept_add(CTL, 6, PAGE) && !show(CARD, 1), "it is shown");
	object_close(CARD);
	release(6);
	tap_expect(!nr_answered, "while it is shown");
	keeper_say((struct keeper_msg){ .type = KEEPER_GONE });
	tap_expect(!nr_answered && nr_owned == 1, "while it may be seen, without the guest's driver");
	keeper_ready();
	tap_expect(is_answered(6) && !owned_when_answered, "when nothing is shown");
	object_open(CARD);
	tap_expect(!kept_add(CTL, 7, PAGE) && !show(CARD, 1) && nr_owned, "it is shown again");
	object_close(CARD);
	release(7);
	/* The hypervisor may still map the page, so the duplicate is not freed. */
	keeper_came();
	tap_expect(!nr_answered && nr_owned == 1, "without a keeper that could tell");
	object_open(CARD);
	tap_expect(!kept_add(CTL, 8, PAGE) && !show(CARD, 1), "with another one");
	object_close(CARD);
	hide(1);
	tap_expect(keeper_hear() == KEEPER_UNMAP, "it is asked");
	keeper_done(0);
	release(8);
	tap_expect(is_answered(8) && nr_owned == 1, "memory that was kept later");
	tap_subject("the window goes");
}

static void test_own_file(void)
{
	begin();
	tap_expect(!kept_add(MOCK, 9, PAGE) && show(MOCK, 1) == -EOPNOTSUPP,
		   "not shown by a file that keeps memory");
	object_open(MOCK);
	tap_expect(!show(MOCK, 1) && kept_add(MOCK, 10, PAGE) == -EOPNOTSUPP,
		   "nothing kept by a file that is shown");
	tap_expect(kept_add(OBJECTS, 10, PAGE) == -EBADF, "by no file");
	tap_subject("the object's own file");
}

int main(void)
{
	test_duplicate();
	test_others();
	test_shown();
	test_window_gone();
	test_own_file();
	return tap_done();
}
