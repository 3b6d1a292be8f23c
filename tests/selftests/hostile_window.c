// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a host says of windows that a guest cannot have: it costs the guest neither memory nor
 * warnings, and the rest of what the host says counts as before. The test is the host.
 */
#include "host_played.h"

#include "kselftest_harness.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* Taint flag of a kernel that has warned. */
#define TAINT_WARN	(1UL << 9)
#define PATIENCE_MS	60000

static bool kernel_has_warned(void)
{
	char line[64];

	tool_read_line("/proc/sys/kernel/tainted", line, sizeof(line));
	return strtoul(line, NULL, 0) & TAINT_WARN;
}

static bool say_window(uint64_t number, uint64_t size)
{
	struct vgpu_window_info info = {
		.hdr.len = htole32(sizeof(info)),
		.hdr.type = htole16(VGPU_MSG_WINDOW),
		.window = htole64(number),
		.size = htole64(size),
	};

	return send_all(&info, sizeof(info));
}

static bool say_export(const char *name)
{
	struct vgpu_export_add add;

	fill_export(&add, name, NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	return send_all(&add, sizeof(add));
}

static bool await_export(const char *name)
{
	uint64_t deadline = tool_now_ms() + PATIENCE_MS;

	while (tool_find_export(name) < 0) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(20000);
	}
	return true;
}

FIXTURE(host)
{
};

FIXTURE_SETUP(host)
{
	if (native())
		SKIP(return, "needs the guest module");
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, host_begin());
}

FIXTURE_TEARDOWN(host)
{
	if (control >= 0)
		host_end();
}

/* The guest has no memory of that size, so it makes no record of what is free there. */
TEST_F_TIMEOUT(host, windows_of_any_size, 120)
{
	static const uint64_t sizes[] = { 1ULL << 44, 1ULL << 47, 1ULL << 62, -4096ULL };
	bool before = kernel_has_warned();
	unsigned int i;

	for (i = 0; i < NR(sizes); i++) {
		ASSERT_TRUE(say_window(i + 1, sizes[i]));
		ASSERT_TRUE(say_window(i + 1, 0));
	}
	/* It has read all of that, and goes on. */
	ASSERT_TRUE(say_export("after"));
	EXPECT_TRUE(await_export("after"));
	EXPECT_EQ(before, kernel_has_warned());
}

PLAYED_MAIN
