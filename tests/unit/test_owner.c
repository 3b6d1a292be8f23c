// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of owned memory (userspace-lib/engine/memory/owner.c): it counts from owner_take() until
 * the last mapping of it has gone, whatever happens to the program that allocated the memory.
 * NVIDIA's driver, a shadow and a hypervisor are simulated.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/memory/nvidia.h"
#include "engine/memory/owner.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "shared/proto.h"
#include "tap.h"
#include "shared/log.h"
#include "shared/loop.h"

#define PAGE	4096ULL
#define MOST	(16 * PAGE)

enum { CTL = 1, CARD, OBJECTS };

struct engine_start start;
static struct engine_shared numbers;
struct engine_shared *shared = &numbers;
static struct shadow shadow;

static struct object objects[OBJECTS];
struct object_list all_objects = LIST_HEAD_INITIALIZER(all_objects);
static int answer, lend_result;
/* The part of the memory that the driver was last asked to show. */
static struct nvidia_memory shown_part;
static unsigned int nr_closed, nr_looks;
/* The files that the hypervisor's mappings keep open. */
static int mapped[4], nr_mapped;
static struct timer *timer;

/* --- functions that owner.c calls ------------------------------------------------------- */

struct object *object_find(uint32_t id)
{
	return id < OBJECTS && objects[id].id ? &objects[id] : NULL;
}

void shadow_answer(struct shadow *to, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	answer = result;
}

void closer_close(int fd, void (*done)(void *arg), void *arg)
{
	close(fd);
	nr_closed++;
}

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...)
{
}

int nvidia_begin_apart(struct nvidia *nvidia, int control)
{
	nvidia->control = control;
	return 0;
}

int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file, int control)
{
	tap_expect(control != nvidia->control, "a control file of its own");
	shown_part = *memory;
	if (!lend_result)
		mapped[nr_mapped++] = dup(control);
	close(control);
	return lend_result;
}

int nvidia_show(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent)
{
	return lend_result;
}

int nvidia_lend_system(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		       struct nvidia_lent *lent)
{
	return lend_result;
}

void timer_set(struct timer *set, unsigned int ms)
{
	set->set = true;
	timer = set;
}

static void notified(void)
{
	nr_looks++;
}

void (*progress_notify)(void) = notified;

void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent)
{
}

static void time_passes(void)
{
	struct timer *expired = timer;

	timer = NULL;
	if (!expired)
		return;
	expired->set = false;
	expired->expired(expired);
}

/* --- the guest --------------------------------------------------------------------------- */

static void object_open(uint32_t id)
{
	int ends[2];

	/* A pipe stands for the control file, whose driver can poll. */
	if (pipe2(ends, O_CLOEXEC))
		exit(EXIT_FAILURE);
	close(ends[0]);
	objects[id] = (struct object) {
		.id = id, .kind = VGPU_OBJECT_DEVICE, .fd = ends[1],
		.rdev = makedev(RM_MAJOR, id == CTL ? RM_MINOR_CTL : 0),
	};
	LIST_INSERT_HEAD(&all_objects, &objects[id], node);
	owner_meet(&objects[id]);
}

/* Closes a file, as the end of its program does. */
static void object_close(uint32_t id)
{
	owner_forget(&objects[id]);
	close(objects[id].fd);
	objects[id].id = 0;
	LIST_REMOVE(&objects[id], node);
}

static void begin(void)
{
	const struct eshadow_msg ask = { .type = ESHADOW_OWNER, .object = CTL };
	const struct eshadow_msg msg = { .type = ESHADOW_MAPS, .object = CARD };
	const struct eshadow_memory memory = { .client = 1, .memory = 2, .len = MOST };

	start.limits.mappings = 4;
	start.limits.mapped_bytes = MOST;
	object_open(CTL);
	object_open(CARD);
	answer = 1;
	owner_ask(&shadow, &ask);
	tap_expect(!answer, "a shadow asks whom to share with: %d", answer);
	answer = 1;
	owner_learn(&shadow, &msg, &memory);
}

static int take(uint64_t len, struct owned *owned)
{
	int ret = owner_take(&objects[CARD], 0, len, owned);

	if (!ret)
		close(owned->fd);
	return ret;
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_counts(void)
{
	struct owned first, second, third;

	begin();
	tap_expect(!answer && objects[CARD].memory, "a shadow tells of memory: %d", answer);
	tap_expect(!shared->owned_bytes, "nothing is owned at first");
	tap_expect(!take(2 * PAGE, &first) && shared->owned_bytes == 2 * PAGE, "what is shown");
	tap_expect(!take(3 * PAGE, &second) && shared->owned_bytes == 5 * PAGE, "and more");
	lend_result = -ENOMEM;
	tap_expect(take(PAGE, &third) == -ENOMEM && shared->owned_bytes == 5 * PAGE &&
		   nr_closed == 1, "not what the driver refuses: %u files closed", nr_closed);
	nr_closed = 0;
	lend_result = 0;
	tap_expect(take(MOST, &third) == -ENOMEM && shared->owned_bytes == 5 * PAGE,
		   "nor what the limit refuses");
	owner_give_back(&first);
	time_passes();
	tap_expect(shared->owned_bytes == 5 * PAGE, "until it is unmapped");
	close(mapped[0]);
	time_passes();
	tap_expect(shared->owned_bytes == 3 * PAGE && !timer, "and no longer");
	start.limits.mappings = 2;
	tap_expect(!take(PAGE, &third), "up to the limit");
	owner_give_back(&third);
	tap_expect(take(PAGE, &third) == -ENOMEM, "with what is still mapped");
	close(mapped[2]);
	tap_expect(!take(PAGE, &third), "which need not be looked for by a timer");
	owner_give_back(&third);
	close(mapped[3]);
	time_passes();
	tap_expect(shared->owned_bytes == 3 * PAGE, "all of it counts no more");
	tap_subject("what is owned counts");
	object_close(CARD);
	object_close(CTL);
	tap_expect(shared->owned_bytes == 3 * PAGE && !nr_closed, "the program has ended");
	owner_give_back(&second);
	close(mapped[1]);
	time_passes();
	tap_expect(!shared->owned_bytes && nr_closed == 2,
		   "nothing is left: %llu bytes, %u files closed, of the client and the card",
		   (unsigned long long)shared->owned_bytes, nr_closed);
	tap_subject("of dead programs, too");
}

/* Memory of the system is owned for a shadow until the shadow has mapped it. */
static void test_shown(void)
{
	struct eshadow_msg msg = { .type = ESHADOW_SHOW, .object = CTL, .lane = 3 };
	const struct eshadow_memory memory = { .client = 1, .memory = 2, .len = MOST };
	uint64_t first;

	start.limits.lanes = 2;
	object_open(CTL);
	owner_show(&shadow, &msg);
	tap_expect(answer == -EINVAL, "no file was told anything: %d", answer);
	object_close(CTL);
	begin();
	nr_closed = 0;
	owner_show(&shadow, &msg);
	tap_expect(answer == -EINVAL, "a file that was told nothing: %d", answer);
	msg.object = CARD;
	owner_show(&shadow, &msg);
	tap_expect(answer == -EBADF, "a card's: %d", answer);
	msg.object = CTL;
	owner_learn(&shadow, &msg, &memory);
	answer = 1;
	owner_show(&shadow, &msg);
	first = owner_last_shown();
	tap_expect(!answer && owner_shows(first) && nr_closed == 1, "it is owned to be mapped");
	object_close(CARD);
	object_close(CTL);
	tap_expect(nr_closed == 1, "the client and the card stay until then");
	object_open(CTL);
	owner_learn(&shadow, &msg, &memory);
	msg.lane = 4;
	owner_show(&shadow, &msg);
	tap_expect(!answer && owner_last_shown() == first + 1, "another lane");
	msg.lane = 5;
	owner_show(&shadow, &msg);
	tap_expect(answer == -ENOMEM, "no more than there are lanes: %d", answer);
	nr_looks = 0;
	owner_shown(&shadow, 3);
	tap_expect(!owner_shows(first) && owner_shows(first + 1) && nr_looks == 1,
		   "the first has mapped it");
	owner_shown(&shadow, 3);
	owner_shadow_gone(&shadow);
	tap_expect(!owner_shows(first + 1) && nr_looks == 2, "the shadow ends");
	object_close(CTL);
	tap_expect(nr_closed == 4, "nothing is left: %u files closed", nr_closed);
	tap_subject("what a shadow is about to map");
}

/* System memory may belong to any card, so none is lent while a card's file cannot be reopened. */
static void test_unheld(void)
{
	const struct eshadow_msg msg = { .type = ESHADOW_MAPS, .object = CTL };
	const struct eshadow_memory memory = { .client = 1, .memory = 2, .len = MOST };
	struct owned owned;
	int file, ret;

	begin();
	owner_learn(&shadow, &msg, &memory);
	file = objects[CARD].fd;
	objects[CARD].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ret = owner_take(&objects[CTL], 0, PAGE, &owned);
	tap_expect(ret == -ENXIO && !shared->owned_bytes, "nothing is lent: %d", ret);
	close(objects[CARD].fd);
	objects[CARD].fd = file;
	ret = owner_take(&objects[CTL], 0, PAGE, &owned);
	tap_expect(!ret && shared->owned_bytes == PAGE, "it is when it can: %d", ret);
	close(owned.fd);
	owner_give_back(&owned);
	object_close(CARD);
	object_close(CTL);
	tap_subject("a card that cannot be held");
}

/* Nothing but the memory itself is shown, wherever a guest or a shadow says that it is. */
static void test_bounds(void)
{
	static const struct {
		uint64_t at, size;	/* the memory, as a shadow has told of it */
		uint64_t offset, len;	/* the part that is asked for */
	} refused[] = {
		{ 5 * PAGE, 2 * PAGE, 0, 0 },
		{ 5 * PAGE, 2 * PAGE, 8, PAGE },
		{ 5 * PAGE, 2 * PAGE, 0, 8 },
		{ 5 * PAGE, 2 * PAGE, 0, 3 * PAGE },
		{ 5 * PAGE, 2 * PAGE, PAGE, 2 * PAGE },
		{ 5 * PAGE, 2 * PAGE, 2 * PAGE, PAGE },
		{ 5 * PAGE, 2 * PAGE, -PAGE, PAGE },		/* before it begins */
		{ 5 * PAGE, 2 * PAGE, -5 * PAGE, 6 * PAGE },
		{ 5 * PAGE, 2 * PAGE, PAGE, -PAGE },
		{ 5 * PAGE, 0, 0, PAGE },
		{ -PAGE, 2 * PAGE, 0, 2 * PAGE },		/* beyond all addresses */
		{ PAGE, UINT64_MAX, 0, PAGE },
		{ 0, UINT64_MAX, 0, 2 * MOST },
	};
	struct eshadow_memory memory = { .client = 1, .memory = 2 };
	const struct eshadow_msg msg = { .type = ESHADOW_MAPS, .object = CARD };
	struct owned owned;
	unsigned int i;
	int ret;

	begin();
	nr_mapped = 0;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		memory.offset = refused[i].at;
		memory.len = refused[i].size;
		owner_learn(&shadow, &msg, &memory);
		ret = owner_take(&objects[CARD], refused[i].offset, refused[i].len, &owned);
		tap_expect(ret < 0 && !shared->owned_bytes && !nr_mapped,
			   "part %u of what is not there: %d", i, ret);
	}
	/* The memory ends within its last page. */
	memory.offset = 5 * PAGE;
	memory.len = 2 * PAGE + 8;
	owner_learn(&shadow, &msg, &memory);
	ret = owner_take(&objects[CARD], PAGE, 2 * PAGE, &owned);
	tap_expect(!ret && shown_part.offset == 6 * PAGE && shown_part.len == PAGE + 8,
		   "the rest of the memory: %d, %#llx at %#llx", ret,
		   (unsigned long long)shown_part.len, (unsigned long long)shown_part.offset);
	close(owned.fd);
	owner_give_back(&owned);
	close(mapped[0]);
	time_passes();
	tap_expect(!shared->owned_bytes, "nothing is left");
	object_close(CARD);
	object_close(CTL);
	tap_subject("the bounds of what is shown");
}

int main(void)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY);

	if (proc < 0 || (proc != ENGINE_FD_PROC && dup2(proc, ENGINE_FD_PROC) < 0))
		return EXIT_FAILURE;
	test_counts();
	test_shown();
	test_unheld();
	test_bounds();
	return tap_done();
}
