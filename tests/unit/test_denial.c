// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the counts of denied ioctls (userspace-lib/vgpud/engines/denial.c): a list of all
 * exports adds them up once for each guest.
 */
#include <errno.h>

#include "shared/loop.h"
#include "tap.h"
#include "vgpud/engines/denial.h"
#include "vgpud/engines/engine.h"
#include "vgpud/engines/shadow.h"

#define SHADOWS	3

static struct engine engine;
static struct engine_counts counts[SHADOWS];
static struct shadow_counters shadows[SHADOWS];
static uint64_t call = 1;

/* --- functions that denial.c calls -------------------------------------------------------- */

struct engine *engine_find(uint32_t number)
{
	return number == 7 ? &engine : NULL;
}

uint64_t loop_call(void)
{
	return call;
}

/* --- tests -------------------------------------------------------------------------------- */

/* Returns how often the ioctl of an export was denied. */
static uint64_t denied(uint32_t export)
{
	struct vgpu_host_denial list[4];
	struct vgpu_host_denials arg = {
		.peer = 7, .export = export, .nr = 4, .denials = (uintptr_t)list,
	};

	tap_expect(!engine_denials(&arg) && arg.out_nr <= 1, "%u ioctls", arg.out_nr);
	return arg.out_nr ? list[0].denied : 0;
}

static void test_sums(void)
{
	unsigned int i;

	for (i = 0; i < SHADOWS; i++) {
		counts[i].nr_denials = 2;
		counts[i].denials[0] = (struct engine_denial) {
			.export = 1, .ioctl = 0x6201, .denied = 10,
		};
		counts[i].denials[1] = (struct engine_denial) {
			.export = 2, .ioctl = 0x6202, .denied = 100,
		};
		shadows[i].counts = &counts[i];
		LIST_INSERT_HEAD(&engine.shadows, &shadows[i], node);
	}
	tap_expect(denied(1) == 30 && denied(2) == 300 && denied(3) == 0, "wrong sums");
	tap_subject("counts of all shadows");
}

static void test_once(void)
{
	/* A shadow goes on counting. The next call of the loop sees that, and this one does not. */
	counts[0].denials[0].denied = 1000;
	tap_expect(denied(1) == 30 && denied(2) == 300, "added up again");
	call++;
	tap_expect(denied(2) == 300 && denied(1) == 1020, "not added up again");
	tap_subject("counts are added up once in each call of the loop");
}

static void test_none(void)
{
	struct vgpu_host_denials arg = { .peer = 8 };

	tap_expect(engine_denials(&arg) == -ENOENT, "a guest that is none");
	tap_subject("no such guest");
}

int main(void)
{
	test_sums();
	test_once();
	test_none();
	return tap_done();
}
