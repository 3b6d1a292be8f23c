// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for turns at devices: shadows that say anything, the engine that serves them
 * (engine/session/submission.c in userspace-lib), and vgpud (vgpud/engines/submission.c), which also
 * has engines that say anything. Messages between the engine and vgpud take their time.
 *
 * Whatever the shadows do, vgpud finds no fault in the engine, which its shadows share with all
 * programs of the guest. Each lane that asks gets one answer, at the latest when the others are gone.
 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>

#include "engine/session/submission.h"
#include "engines/engine.h"
#include "engines/submission.h"
#include "fuzz.h"

#define MS		1000000ULL
#define SECOND		(1000 * MS)
#define ENGINES		3	/* the first one is the real one */
#define SHADOWS		3
#define LANES		6
#define DEVICES		2
#define QUEUE		8192	/* messages */
#define ROUNDS		4096

/**
 * struct op - a step of an input
 * @kind: what happens, see play()
 * @who: number of a shadow or an engine
 * @value: lane, number of a submission, or another number
 * @device: number of a device, or a flag
 */
struct op {
	u8 kind;
	u8 who;
	u8 value;
	u8 device;
};

/* The engine knows a shadow only by its address. */
struct shadow {
	bool waits[LANES];	/* lane has asked, and has no answer */
	bool runs[LANES];	/* lane has its turn */
	bool wrong;		/* engine has found a fault in it */
};

struct queue {
	struct engine_number msgs[QUEUE];
	unsigned int first;
	unsigned int end;
};

static struct shadow shadows[SHADOWS];
static struct engine *engines[ENGINES];
static struct engine_shared shared[ENGINES];
static bool paused[ENGINES], deaf[ENGINES];
static struct queue to_vgpud, to_engine;
static uint64_t now = 1000 * SECOND, alarm_ns;
static struct source *alarm_source;

static void queue_add(struct queue *queue, const struct engine_number *msg)
{
	FUZZ_ASSERT(queue->end < QUEUE);
	queue->msgs[queue->end++] = *msg;
}

static const struct engine_number *queue_take(struct queue *queue)
{
	if (queue->first == queue->end) {
		queue->first = 0;
		queue->end = 0;
		return NULL;
	}
	return &queue->msgs[queue->first++];
}

/* --- what the engine has -------------------------------------------------------------------- */

void agent_ask(uint32_t type, uint32_t flags, uint64_t number);
void agent_ask(uint32_t type, uint32_t flags, uint64_t number)
{
	const struct engine_number msg = { .type = type, .flags = flags, .number = number };

	queue_add(&to_vgpud, &msg);
}

uint64_t grants_devices(void);
uint64_t grants_devices(void)
{
	return (1 << DEVICES) - 1;
}

void shadow_malformed(struct shadow *shadow);
void shadow_malformed(struct shadow *shadow)
{
	shadow->wrong = true;
}

void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd);
void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd)
{
	if (lane >= LANES)
		return;
	FUZZ_ASSERT(shadow->waits[lane]);
	shadow->waits[lane] = false;
	shadow->runs[lane] = !result;
}

/* --- what vgpud has ------------------------------------------------------------------------- */

uint64_t now_ns(void)
{
	return now;
}

uint64_t now_ms(void)
{
	return now / MS;
}

static int tell(struct engine *engine, const void *msg, size_t len, int fd)
{
	const struct engine_number *admit = msg;

	FUZZ_ASSERT(len == sizeof(*admit) && admit->type == ENGINE_ADMIT);
	if (deaf[engine->number]) {
		submissions_give_up(engine);
		return -ENODEV;
	}
	if (!engine->number)
		queue_add(&to_engine, admit);
	return 0;
}

int source_add(struct source *source, uint32_t events)
{
	alarm_source = source;
	return 0;
}

int source_set(struct source *source, uint32_t events)
{
	paused[container_of(source, struct engine, source)->number] = !events;
	return 0;
}

void source_close(struct source *source)
{
}

void timer_set(struct timer *timer, unsigned int ms)
{
}

void timer_cancel(struct timer *timer)
{
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *time,
			   struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *time,
			   struct itimerspec *old)
{
	alarm_ns = time->it_value.tv_sec * SECOND + time->it_value.tv_nsec;
	return 0;
}

/* --- steps ---------------------------------------------------------------------------------- */

static void pass(uint64_t ns)
{
	const uint64_t until = now + ns;
	unsigned int i, times = 0;

	while (alarm_ns && alarm_ns <= until) {
		/* The timer has to be for the future, or vgpud does nothing else. */
		FUZZ_ASSERT(++times < 100000);
		now = alarm_ns > now ? alarm_ns : now;
		alarm_ns = 0;
		alarm_source->ready(alarm_source, 0);
	}
	now = until;
	for (i = 0; i < ENGINES; i++)
		if (engines[i] && paused[i])
			engines[i]->submitter.pace.expired(&engines[i]->submitter.pace);
}

static void come(unsigned int i)
{
	unsigned int device;

	engines[i] = calloc(1, sizeof(*engines[i]));
	if (!engines[i])
		abort();
	engines[i]->number = i;
	engines[i]->cid = 10 + i;
	engines[i]->shared = &shared[i];
	shared[i].permits = 0;
	paused[i] = false;
	deaf[i] = false;
	submissions_init(engines[i], tell);
	for (device = 0; device < DEVICES; device++)
		FUZZ_ASSERT(submissions_grant(engines[i], 1 + device, 0) == (int)device);
}

static void go(unsigned int i)
{
	if (!engines[i])
		return;
	submissions_end(engines[i]);
	free(engines[i]);
	engines[i] = NULL;
}

/* Lets vgpud read a message of the engine. Return: there was one. */
static bool deliver(void)
{
	const struct engine_number *msg;

	if (paused[0])
		pass(MS);
	msg = queue_take(&to_vgpud);
	if (msg)
		FUZZ_ASSERT(submissions_hear(engines[0], msg));
	return msg;
}

/* Lets the engine read a message of vgpud. Return: there was one. */
static bool deliver_back(void)
{
	const struct engine_number *msg = queue_take(&to_engine);

	if (msg)
		submission_admitted(msg->number);
	return msg;
}

static void end_shadow(unsigned int i)
{
	submission_shadow_ends(&shadows[i]);
	memset(&shadows[i], 0, sizeof(shadows[i]));
	/* Its threads may be in the driver for a while. */
	if (i % 2)
		deliver();
	submission_shadow_gone(&shadows[i]);
}

static void limit(unsigned int i, u8 value, u8 flags)
{
	const struct vgpu_host_peer_limit terms = {
		.flags = flags & 1 ? VGPU_HOST_LIMIT_FREEZE : 0,
		.weight = value * 16, .cap = value % 101, .priority = flags >> 1 & 1,
	};

	if (engines[i])
		submissions_limit(engines[i], &terms);
}

static void hear_wrong(unsigned int i, const struct op *op)
{
	const struct engine_number msg = {
		.type = op->device & 0x80 ? ENGINE_SUBMITTED : ENGINE_SUBMIT,
		.flags = op->device & 0x7f, .number = op->value * 2,
	};

	if (!engines[i] || paused[i])
		return;
	/* vgpud ends an engine in which it finds a fault. */
	if (!submissions_hear(engines[i], &msg))
		go(i);
}

static void play(const struct op *op)
{
	const struct eshadow_msg msg = { .lane = op->value % 8, .object = op->device };
	const unsigned int who = op->who % SHADOWS, engine = 1 + op->who % (ENGINES - 1);
	struct shadow *shadow = &shadows[who];
	u8 i;

	switch (op->kind % 11) {
	case 0:
		/* A second question of a lane is a fault, which has no answer. */
		if (msg.lane < LANES && !shadow->waits[msg.lane] && !shadow->runs[msg.lane])
			shadow->waits[msg.lane] = true;
		submission_ask(shadow, &msg);
		break;
	case 1:
		submission_cancel(shadow, &msg);
		break;
	case 2:
		if (msg.lane < LANES)
			shadow->runs[msg.lane] = false;
		submission_over(shadow, &msg);
		break;
	case 3:
		end_shadow(who);
		break;
	case 4:
		for (i = 0; i <= op->value % 16; i++)
			deliver();
		break;
	case 5:
		for (i = 0; i <= op->value % 16; i++)
			deliver_back();
		break;
	case 6:
		hear_wrong(engine, op);
		break;
	case 7:
		pass(op->value * MS / (1 + op->device));
		break;
	case 8:
		limit(op->who % ENGINES, op->value, op->device);
		break;
	case 9:
		go(engine);
		if (op->value & 1)
			come(engine);
		break;
	case 10:
		deaf[engine] = op->value & 1;
		break;
	}
	if (shadow->wrong)
		end_shadow(who);
}

/* --- end ------------------------------------------------------------------------------------ */

static bool any_waits(void)
{
	unsigned int i, j;

	for (i = 0; i < SHADOWS; i++)
		for (j = 0; j < LANES; j++)
			if (shadows[i].waits[j])
				return true;
	return false;
}

static void end_turns(void)
{
	struct eshadow_msg msg = { 0 };
	unsigned int i;

	for (i = 0; i < SHADOWS; i++)
		for (msg.lane = 0; msg.lane < LANES; msg.lane++) {
			if (!shadows[i].runs[msg.lane])
				continue;
			shadows[i].runs[msg.lane] = false;
			submission_over(&shadows[i], &msg);
			FUZZ_ASSERT(!shadows[i].wrong);
		}
}

static void deliver_all(void)
{
	bool any;

	do {
		any = deliver();
		any |= deliver_back();
	} while (any);
}

/* The others go, so each lane gets its turn. */
static void await_turns(void)
{
	unsigned int i;

	for (i = 1; i < ENGINES; i++)
		go(i);
	limit(0, 100, 0);
	for (i = 0; i < ROUNDS && any_waits(); i++) {
		deliver_all();
		end_turns();
		pass(10 * MS);
	}
	FUZZ_ASSERT(!any_waits());
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	unsigned int i;
	struct op op;

	/* The shares of the last input are forgotten. */
	pass(1000 * SECOND);
	for (i = 0; i < ENGINES; i++)
		come(i);
	for (; len >= sizeof(op) && to_vgpud.end < QUEUE / 2; len -= sizeof(op)) {
		memcpy(&op, data, sizeof(op));
		data += sizeof(op);
		play(&op);
	}
	await_turns();
	for (i = 0; i < SHADOWS; i++)
		end_shadow(i);
	deliver_all();
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		FUZZ_ASSERT(!engines[0]->submitter.submissions[i].engine);
	go(0);
	return 0;
}
