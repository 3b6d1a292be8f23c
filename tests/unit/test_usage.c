// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what shadows of the user-space engine report that they have (engine/process/shadow.c),
 * while vgpud changes the limits of the guest (vgpud/engines/limit.c). Shadows see new limits at
 * once, and the engine gets a message, so a report may come before it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/process/shadow.h"
#include "shared/proto.h"
#include "tap.h"
#include "vgpud/engines/engine.h"
#include "vgpud/engines/limit.h"
#include "vgpud/engines/patience.h"
#include "vgpud/process/confine.h"

static struct engine_shared numbers;
static struct engine engine = { .shared = &numbers };
static struct shadow shadow = { .source = { .fd = -1 } };
/* True if the engine gets the messages of vgpud. */
static bool engine_reads;

/* --- functions of other parts of vgpud -------------------------------------------------------- */

struct engine *engine_find(uint32_t number)
{
	return number ? NULL : &engine;
}

int engine_tell(struct engine *to, const void *msg, size_t len, int fd)
{
	const struct engine_limits *limits = msg;

	tap_expect(to == &engine && len == sizeof(*limits) && limits->type == ENGINE_LIMITS && fd < 0,
		   "wrong message");
	if (engine_reads)
		limits_take(&limits->limits);
	return 0;
}

uint64_t patience_whole(uint32_t cid, uint32_t port)
{
	return 0;
}

void patience_forget_rates(struct remembered *guest, const struct vgpu_host_rates *rates)
{
}

void confine_raise(pid_t pid, enum spawn_kind kind, uint32_t cid, uint32_t port)
{
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Have vgpud change the limits of the guest. */
static void limit(uint32_t lanes, uint32_t mappings)
{
	const struct vgpu_host_peer_limit arg = {
		.limits = { .lanes = lanes, .mappings = mappings },
	};

	tap_expect(!engine_peer_limit(&arg), "limits cannot be changed");
	tap_expect(numbers.limits.lanes == lanes && numbers.limits.mappings == mappings,
		   "shadows do not see the limits");
}

/* Have the shadow report changes. Return: true if the engine accepts them. */
static bool report(int32_t mappings, int32_t lanes)
{
	const struct eshadow_msg msg = {
		.type = ESHADOW_USAGE,
		.extra = (uint64_t)(uint32_t)lanes << 32 | (uint32_t)mappings,
	};

	shadow.ended = false;
	usage_change(&shadow, &msg);
	return !shadow.ended;
}

static void begin(uint32_t lanes, uint32_t mappings)
{
	const struct vgpu_host_limits limits = { .lanes = lanes, .mappings = mappings };

	usage_shadow_gone(&shadow);
	shadow = (struct shadow) { .source = { .fd = -1 } };
	numbers = (struct engine_shared) { 0 };
	engine_limits_init(&numbers, &limits);
	limits_take(&limits);
}

/* Largest number of mappings that a shadow has with these limits. */
static int32_t most(uint32_t lanes, uint32_t mappings)
{
	return mappings + (2 + VGPU_KEPT_MAX) * lanes + 2;
}

static void test_honest(void)
{
	begin(4, 10);
	tap_expect(report(0, 4), "4 lanes of 4");
	tap_expect(report(most(4, 10), 0), "as many mappings as there may be");
	tap_expect(report(-most(4, 10), -4), "all is given back");
	tap_expect(!numbers.nr_lanes && !numbers.nr_mappings, "%u lanes and %u mappings are left",
		   numbers.nr_lanes, numbers.nr_mappings);
	tap_subject("reports within the limits");
}

static void test_false(void)
{
	begin(4, 10);
	tap_expect(!report(0, 5), "5 lanes of 4");
	tap_expect(!report(most(4, 10) + 1, 0), "more mappings than there may be");
	tap_expect(!report(0, -1) && !report(-1, 0), "more is given back than there is");
	tap_subject("false reports");
}

static void test_raised(void)
{
	begin(4, 10);
	engine_reads = false;
	limit(6, 20);
	tap_expect(report(0, 6), "6 lanes of 6, before the engine knows");
	tap_expect(report(most(6, 20), 0), "new mappings, before the engine knows");
	tap_expect(!report(1, 0) && !report(0, 1), "more than the new limits");
	tap_subject("raised limits that the engine does not know yet");
}

static void test_lowered(void)
{
	begin(6, 20);
	engine_reads = true;
	tap_expect(report(most(6, 20) - 1, 5), "5 lanes of 6");
	limit(2, 1);
	tap_expect(report(1, 1), "a change that was under way when the limits were lowered");
	tap_expect(report(-2, -1), "less than before, and more than the new limits");
	tap_subject("lowered limits");
}

/* A reference is on its way for each file of a call on each lane. */
static void test_givens(void)
{
	uint32_t object, reference, i;

	begin(2, 10);
	engine_reads = false;
	limit(3, 10);
	for (i = 0; i < 3 * VGPU_FDS_MAX; i++)
		tap_expect(given_add(&shadow, i / VGPU_FDS_MAX, 1, i), "no reference %u", i);
	tap_expect(!given_add(&shadow, 0, 1, i), "more references than calls can give");
	while (given_take_back(&shadow, &object, &reference))
		i--;
	tap_expect(!i, "%u references are left", i);
	tap_subject("references on their way");
}

int main(void)
{
	int sessions[2];

	/* The engine reports here that a shadow is to be ended. */
	if (pipe2(sessions, O_CLOEXEC) || dup2(sessions[1], ENGINE_FD_SESSIONS) < 0)
		return EXIT_FAILURE;
	shared = &numbers;
	test_honest();
	test_false();
	test_raised();
	test_lowered();
	test_givens();
	return tap_done();
}
