// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the channels that an engine takes off a card and lets run again
 * (userspace-lib/engine/memory/channel.c). NVIDIA's driver, a shadow and vgpud are simulated.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/memory/channel.h"
#include "engine/memory/channel_switch.h"
#include "engine/memory/nvidia.h"
#include "engine/object/object.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"
#include "tap.h"

#define CLIENT		0xc1d00001
#define DEVICE		0x5c000001
#define SUBDEVICE	0x5c000002
#define GROUP		0x5c000003
#define CHANNEL		0x5c000100
#define OTHER		0x5d000000	/* what is on the second card */
#define CHANNEL_CLASS	0xc86f
#define CHANNELS	512
#define FILE_FD		77
#define MS		1000000ULL
#define WAIT_MS		5000

enum { CTL = 1, CARD, OBJECTS };

struct engine_start start;
static struct engine_shared numbers;
struct engine_shared *shared = &numbers;
static struct object objects[OBJECTS];

/* The driver's state, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int offs[CHANNELS];
static bool off[CHANNELS], refused[CHANNELS], scheduled[CHANNELS], blocks, is_inside;
static unsigned int nr_calls, nr_changes[CHANNELS], nr_closed, nr_subdevices, nr_freed;
static unsigned int most_offs;
static bool schedule_runs = true;
static uint32_t wrong;

static const struct card_slot always, frozen = { .period = 40 * MS };

/* --- functions that channel.c calls -------------------------------------------------------- */

struct object *object_find(uint32_t id)
{
	return id < OBJECTS && objects[id].id ? &objects[id] : NULL;
}

void closer_close(int fd, void (*done)(void *arg), void *arg)
{
	pthread_mutex_lock(&lock);
	nr_closed++;
	wrong |= fd != FILE_FD || is_inside;
	pthread_mutex_unlock(&lock);
	if (done)
		done(arg);
}

int nvidia_subdevice(int control, uint32_t client, uint32_t device, uint32_t *subdevice)
{
	wrong |= control != FILE_FD || client != CLIENT || device != DEVICE;
	*subdevice = SUBDEVICE;
	nr_subdevices++;
	return 0;
}

void nvidia_subdevice_free(int control, uint32_t client, uint32_t subdevice)
{
	wrong |= subdevice != SUBDEVICE || !nr_subdevices;
	nr_freed++;
}

int nvidia_switch(int control, uint32_t client, uint32_t subdevice, const uint32_t *channels,
		  uint32_t nr, bool to_off)
{
	uint32_t i, channel;
	int ret = 0;

	pthread_mutex_lock(&lock);
	is_inside = true;
	nr_calls++;
	wrong |= control != FILE_FD || client != CLIENT || !nr || nr > RM_SWITCH_MAX;
	for (i = 0; i < nr; i++) {
		channel = channels[i] & 0xffff;
		wrong |= subdevice != (channels[i] >= OTHER ? OTHER + 2 : SUBDEVICE);
		channel -= CHANNEL & 0xffff;
		if (channel >= CHANNELS || refused[channel]) {
			ret = -EINVAL;
			break;
		}
		/* The driver may not let such a channel run, whatever it is told later. */
		wrong |= !scheduled[channel];
		nr_changes[channel] += off[channel] != to_off;
		/* A channel that was taken off twice does not run when it is let run once. */
		if (to_off)
			offs[channel]++;
		else if (offs[channel])
			offs[channel]--;
		off[channel] = offs[channel];
		most_offs = offs[channel] > most_offs ? offs[channel] : most_offs;
	}
	while (blocks) {
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
	is_inside = false;
	pthread_mutex_unlock(&lock);
	return ret;
}

/* --- the shadow ---------------------------------------------------------------------------- */

static bool make(uint32_t object, uint32_t parent, uint32_t class)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_RM_MADE, .object = CTL, .value = CLIENT | (uint64_t)object << 32,
		.extra = parent | (uint64_t)class << 32,
	};

	return channel_made(&msg);
}

/* A program lets a group of channels run, or one of them. The driver lets them run at once. */
static void let_run(uint32_t object, unsigned int first, unsigned int nr)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_RM_RUNS, .object = CTL, .value = CLIENT | (uint64_t)object << 32,
	};
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = first; i < first + nr; i++) {
		scheduled[i] = true;
		/* It is not known whether the driver lets a channel run that was taken off. */
		offs[i] = schedule_runs ? 0 : offs[i];
		off[i] = offs[i];
	}
	pthread_mutex_unlock(&lock);
	channel_runs(&msg);
}

static void unmake(uint32_t object)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_RM_FREED, .object = CTL, .value = CLIENT | (uint64_t)object << 32,
	};

	channel_freed(&msg);
}

static void gone(void *arg)
{
	((struct object *)arg)->id = 0;
}

/* A program opens nvidiactl, and makes a client with a card and a number of channels. */
static void program_prepares(unsigned int nr)
{
	unsigned int i;

	objects[CTL] = (struct object) {
		.id = CTL, .fd = FILE_FD, .rdev = makedev(RM_MAJOR, RM_MINOR_CTL),
	};
	make(DEVICE, 0, RM_CLASS_DEVICE);
	make(SUBDEVICE, DEVICE, RM_CLASS_SUBDEVICE);
	make(GROUP, DEVICE, RM_CLASS_GROUP);
	for (i = 0; i < nr; i++)
		make(CHANNEL + i, GROUP, CHANNEL_CLASS);
}

/* The program lets its channels run as well. */
static void program_begins(unsigned int nr)
{
	program_prepares(nr);
	let_run(GROUP, 0, nr);
}

static void program_ends(void)
{
	memset(scheduled, 0, sizeof(scheduled));
	memset(offs, 0, sizeof(offs));
	channel_close(&objects[CTL], gone);
}

/* Return: true if the driver has these channels off, or on, within the time. */
static bool await(unsigned int first, unsigned int nr, bool wanted)
{
	uint64_t end = now_ms() + WAIT_MS;
	unsigned int i, right;

	for (;;) {
		pthread_mutex_lock(&lock);
		for (i = 0, right = 0; i < nr; i++)
			right += off[first + i] == wanted;
		pthread_mutex_unlock(&lock);
		if (right == nr || now_ms() > end)
			return right == nr;
		usleep(500);
	}
}

static unsigned int calls(void)
{
	unsigned int nr;

	pthread_mutex_lock(&lock);
	nr = nr_calls;
	pthread_mutex_unlock(&lock);
	return nr;
}

static unsigned int nr_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return nr;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_slot(void)
{
	const struct card_slot slot = { .period = 40, .start = 35, .length = 10 };
	uint64_t next;

	tap_expect(slot_at(&always, 5, &next) && next == UINT64_MAX, "always");
	tap_expect(!slot_at(&frozen, 5, &next) && next == UINT64_MAX, "never");
	tap_expect(slot_at(&slot, 400, &next) && next == 405, "on, from the period before");
	tap_expect(!slot_at(&slot, 405, &next) && next == 435, "off");
	tap_expect(slot_at(&slot, 435, &next) && next == 445, "on again");
	tap_subject("times of a slot");
}

static void test_alone(void)
{
	unsigned int before = nr_threads();

	program_begins(20);
	channel_slot(0, &always);
	tap_expect(nr_threads() == before && !calls(), "%u threads, %u calls", nr_threads(), calls());
	tap_expect(shared->cards == 1, "the card is reported: %#x", shared->cards);
	program_ends();
	tap_expect(!shared->cards, "no channel is left: %#x", shared->cards);
	tap_subject("a guest that is alone costs nothing");
}

static void test_freeze(void)
{
	unsigned int before;

	program_begins(20);
	before = calls();
	channel_slot(0, &frozen);
	tap_expect(await(0, 20, true), "all are off");
	tap_expect(calls() == before + 1, "by one call, not %u", calls() - before);
	make(CHANNEL + 20, GROUP, CHANNEL_CLASS);
	let_run(GROUP, 20, 1);
	tap_expect(await(20, 1, true), "a new channel comes off");
	let_run(GROUP, 3, 2);
	tap_expect(await(0, 21, true), "channels that were let run come off again");
	/* The group may have a duplicate, of any handle. */
	let_run(GROUP + 77, 5, 2);
	tap_expect(await(0, 21, true), "also if they were let run by another handle");
	channel_slot(0, &always);
	tap_expect(await(0, 21, false), "all run again");
	program_ends();
	tap_subject("freeze and thaw");
}

static void test_turns(void)
{
	const struct card_slot half = { .period = 20 * MS, .start = 5 * MS, .length = 10 * MS };
	unsigned int changes, before, i;

	program_begins(150);
	before = nr_changes[149];
	channel_slot(0, &half);
	for (i = 0; i < 20; i++)
		tap_expect(await(0, 150, i % 2), "turn %u", i);
	channel_slot(0, &always);
	tap_expect(await(0, 150, false), "all run at last");
	changes = nr_changes[149] - before;
	tap_expect(changes >= 18, "%u changes", changes);
	program_ends();
	tap_subject("channels are off outside of their slot");
}

static void test_cards(void)
{
	program_begins(2);
	make(OTHER + 1, 1, RM_CLASS_DEVICE);
	make(OTHER + 2, OTHER + 1, RM_CLASS_SUBDEVICE);
	/* A channel may be below a device itself. */
	make(OTHER + 0x110, OTHER + 1, CHANNEL_CLASS);
	let_run(OTHER + 0x110, 0x10, 1);
	tap_expect(shared->cards == 3, "two cards: %#x", shared->cards);
	channel_slot(1, &frozen);
	tap_expect(await(0x10, 1, true) && !off[0] && !off[1], "only that of the second card");
	channel_slot(1, &always);
	tap_expect(await(0x10, 1, false), "runs again");
	unmake(OTHER + 1);
	tap_expect(shared->cards == 1, "the second card was freed: %#x", shared->cards);
	program_ends();
	tap_subject("each card has a slot of its own");
}

static void test_freed(void)
{
	unsigned int before;

	program_begins(4);
	unmake(CHANNEL + 1);
	channel_slot(0, &frozen);
	tap_expect(await(0, 1, true) && await(2, 2, true) && !off[1], "not the one that was freed");
	unmake(GROUP);
	before = calls();
	channel_slot(0, &always);
	usleep(20000);
	tap_expect(calls() == before && !shared->cards, "none below a group that was freed");
	off[0] = off[2] = off[3] = false;
	make(CHANNEL, DEVICE, CHANNEL_CLASS);
	let_run(CHANNEL, 0, 1);
	unmake(CLIENT);
	tap_expect(!shared->cards, "none of a client that was freed");
	program_ends();
	tap_subject("freed objects");
}

static void test_refused(void)
{
	unsigned int before;

	program_begins(20);
	refused[7] = true;
	channel_slot(0, &frozen);
	tap_expect(await(0, 7, true) && await(8, 12, true) && !off[7], "the others are off");
	before = calls();
	usleep(100000);
	tap_expect(calls() < before + 12, "it is seldom tried again: %u calls", calls() - before);
	refused[7] = false;
	tap_expect(await(7, 1, true), "until the driver does it");
	refused[7] = true;
	channel_slot(0, &always);
	tap_expect(await(0, 7, false) && off[7], "the others run again");
	usleep(100000);
	refused[7] = false;
	tap_expect(await(7, 1, false), "it does not stay off for ever");
	program_ends();
	tap_subject("a channel that the driver refuses to switch");
}

/*
 * A program makes channels and lets them run later. Whatever the slots are meanwhile, and whatever
 * else is let run, the driver is not asked to switch them before.
 */
static void test_prepares(void)
{
	const struct card_slot half = { .period = 4 * MS, .length = 2 * MS };
	unsigned int before;

	channel_slot(0, &half);
	program_prepares(10);
	before = calls();
	usleep(20000);
	tap_expect(calls() == before, "%u calls for channels that do not run yet", calls() - before);
	make(GROUP + 10, DEVICE, RM_CLASS_GROUP);
	make(CHANNEL + 10, GROUP + 10, CHANNEL_CLASS);
	let_run(GROUP + 10, 10, 1);
	tap_expect(await(10, 1, true) && await(10, 1, false), "another group is switched");
	make(CHANNEL + 11, DEVICE, CHANNEL_CLASS);
	let_run(CHANNEL + 11, 11, 1);
	tap_expect(await(11, 1, true) && await(11, 1, false), "and a channel without a group");
	tap_expect(!wrong, "the others are left alone");
	channel_slot(0, &frozen);
	tap_expect(await(10, 2, true), "those two are off");
	let_run(CHANNEL + 3, 0, 10);
	tap_expect(await(0, 12, true), "a group comes off when it is let run");
	/* Programs could hide a channel in a group that runs already. */
	scheduled[12] = true;
	make(CHANNEL + 12, GROUP, CHANNEL_CLASS);
	tap_expect(await(12, 1, true), "so does one that is never said to run");
	channel_slot(0, &always);
	tap_expect(await(0, 13, false), "all run");
	program_ends();
	tap_subject("channels that their program has not let run");
}

static void await_inside(void)
{
	uint64_t end = now_ms() + WAIT_MS;
	bool inside = false;

	while (!inside && now_ms() < end) {
		pthread_mutex_lock(&lock);
		inside = is_inside;
		pthread_mutex_unlock(&lock);
		usleep(500);
	}
	tap_expect(inside, "the driver is asked");
}

static void unblock(void)
{
	pthread_mutex_lock(&lock);
	blocks = false;
	pthread_mutex_unlock(&lock);
}

/* A report during the driver's call is newer than that call. */
static void test_meanwhile(void)
{
	program_begins(2);
	blocks = true;
	channel_slot(0, &frozen);
	await_inside();
	let_run(GROUP, 0, 1);
	unblock();
	tap_expect(await(0, 2, true), "one that was let run meanwhile");
	channel_slot(0, &always);
	tap_expect(await(0, 2, false), "both run");
	blocks = true;
	channel_slot(0, &frozen);
	await_inside();
	/* Another channel gets the handle, and runs. */
	unmake(CHANNEL + 1);
	make(CHANNEL + 1, GROUP, CHANNEL_CLASS);
	let_run(GROUP, 1, 1);
	unblock();
	tap_expect(await(0, 2, true), "one that was made meanwhile");
	channel_slot(0, &always);
	tap_expect(await(0, 2, false), "both run again");
	program_ends();
	tap_subject("reports during a switch");
}

/*
 * One group is let run while the thread lets all channels run: the others, which the driver has not
 * got to, stay off if the report is taken for news of all.
 */
static void test_thaw(void)
{
	program_begins(3);
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off");
	refused[0] = true;
	channel_slot(0, &always);
	usleep(20000);
	let_run(GROUP, 1, 1);
	refused[0] = false;
	tap_expect(await(0, 3, false), "all run");
	program_ends();
	tap_subject("a report while channels are let run");
}

/* The driver may take channels off before it comes to one that it refuses. */
static void test_partly(void)
{
	program_begins(3);
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off");
	channel_slot(0, &always);
	tap_expect(await(0, 3, false), "and run again");
	usleep(20000);
	refused[0] = true;
	blocks = true;
	channel_slot(0, &frozen);
	await_inside();
	/* The guest's slot begins before the engine knows what the driver has done. */
	channel_slot(0, &always);
	tap_expect(await(1, 2, true), "two are off");
	unblock();
	tap_expect(await(1, 2, false), "all run");
	refused[0] = false;
	usleep(20000);
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "and are switched as before");
	channel_slot(0, &always);
	tap_expect(await(0, 3, false), "to and fro");
	program_ends();
	tap_subject("a switch that is done in part");
}

/*
 * A program lets channels run that are off. Whether the driver does that or not, the channels are
 * off again, and never twice.
 */
static void test_twice(bool runs)
{
	schedule_runs = runs;
	program_begins(3);
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off");
	most_offs = 0;
	let_run(GROUP, 0, 3);
	usleep(20000);
	tap_expect(await(0, 3, true), "all are off again");
	tap_expect(most_offs == 1, "one is off %u times", most_offs);
	channel_slot(0, &always);
	tap_expect(await(0, 3, false), "and run in the end");
	program_ends();
	schedule_runs = true;
	tap_subject(runs ? "a program that undoes the cut" : "a program that lets run what stays off");
}

static void wish(uint32_t object, uint64_t what)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_RM_WISH, .object = CTL, .value = CLIENT | (uint64_t)object << 32,
		.extra = what,
	};

	channel_wish(&msg);
}

/* A program may have its own channels off, and a share is no reason to let them run. */
static void test_wish(void)
{
	program_begins(3);
	off[1] = true;
	offs[1] = 1;
	wish(CHANNEL + 1, ESHADOW_RM_WISH_OFF | ESHADOW_RM_WISH_DONE);
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off");
	channel_slot(0, &always);
	tap_expect(await(0, 1, false) && await(2, 1, false) && off[1], "but the program's own");
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off again");
	wish(CHANNEL + 1, 0);
	usleep(20000);
	tap_expect(off[1], "a frozen program cannot let its channel run");
	channel_slot(0, &always);
	tap_expect(await(0, 3, false), "all run when the guest is thawed");
	wish(CHANNEL + 2, ESHADOW_RM_WISH_OFF);
	tap_expect(await(2, 1, true), "a wish that the driver was not told");
	wish(CHANNEL + 2, 0);
	tap_expect(await(2, 1, false), "and its end");
	channel_slot(0, &frozen);
	tap_expect(await(0, 3, true), "all are off once more");
	pthread_mutex_lock(&lock);
	offs[1]++;
	pthread_mutex_unlock(&lock);
	wish(CHANNEL + 1, ESHADOW_RM_WISH_OFF | ESHADOW_RM_WISH_DONE);
	channel_slot(0, &always);
	tap_expect(await(0, 1, false) && await(2, 1, false) && off[1], "but one that is off twice");
	wish(CHANNEL + 1, 0);
	tap_expect(await(1, 1, false), "which runs when its program wants that");
	wish(CHANNEL + 99, ESHADOW_RM_WISH_OFF);
	tap_expect(shared->switches, "shadows know that the engine switches");
	program_ends();
	tap_subject("a program that stops its channels itself");
}

static void test_subdevice(void)
{
	program_begins(2);
	unmake(SUBDEVICE);
	channel_slot(0, &frozen);
	tap_expect(await(0, 2, true), "they are off");
	channel_slot(0, &always);
	tap_expect(await(0, 2, false), "and run again");
	program_ends();
	tap_expect(nr_subdevices == 2 && nr_freed == 2, "%u were made, %u freed", nr_subdevices,
		   nr_freed);
	tap_subject("a program without a subdevice");
}

static void test_close(void)
{
	uint64_t end = now_ms() + WAIT_MS;
	unsigned int before = nr_closed;

	program_begins(1);
	blocks = true;
	channel_slot(0, &frozen);
	await(0, 1, true);
	program_ends();
	usleep(10000);
	tap_expect(nr_closed == before, "the file stays open while the driver has it");
	unblock();
	while (objects[CTL].id && now_ms() < end)
		usleep(500);
	tap_expect(nr_closed == before + 1 && !objects[CTL].id, "and is closed after that");
	channel_slot(0, &always);
	off[0] = false;
	tap_subject("a file that is closed during a switch");
}

/* A shadow that was taken over may say anything. */
static void test_lies(void)
{
	const struct eshadow_msg lost = { .object = 5, .value = CLIENT };
	unsigned int i, ok = 0;

	program_begins(1);
	channel_made(&lost);
	channel_freed(&lost);
	channel_runs(&lost);
	make(CHANNEL + 1, CHANNEL + 1, CHANNEL_CLASS);
	make(CHANNEL + 2, CHANNEL + 3, CHANNEL_CLASS);
	make(CHANNEL + 3, CHANNEL + 2, CHANNEL_CLASS);
	unmake(CHANNEL + 2);
	make(OTHER + 1, 77, RM_CLASS_DEVICE);
	channel_slot(RM_DEVICES, &frozen);
	for (i = 0; i < 2 * start.limits.objects; i++)
		ok += make(0x1000 + i, DEVICE, CHANNEL_CLASS);
	tap_expect(ok < start.limits.objects, "the session ends when there are too many: %u", ok);
	program_ends();
	objects[CARD] = (struct object) { .id = CARD, .fd = FILE_FD, .rdev = makedev(RM_MAJOR, 0) };
	channel_made(&(struct eshadow_msg) { .object = CARD, .value = CLIENT });
	tap_expect(!shared->cards, "nothing is left: %#x", shared->cards);
	tap_subject("false reports");
}

int main(void)
{
	start.limits.objects = 1000;
	test_slot();
	test_alone();
	test_freeze();
	test_turns();
	test_cards();
	test_freed();
	test_refused();
	test_prepares();
	test_meanwhile();
	test_thaw();
	test_partly();
	test_twice(true);
	test_twice(false);
	test_wish();
	test_subdevice();
	test_close();
	test_lies();
	tap_expect(!wrong, "the driver was asked for what there is");
	tap_subject("calls of the driver");
	return tap_done();
}
