// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a host says of windows and exports that a guest cannot have: it costs the guest neither
 * memory nor warnings, and the rest of what the host says counts as before. The test is the host.
 */
#include "host_played.h"

#include "kselftest_harness.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* Taint flag of a kernel that has warned. */
#define TAINT_WARN	(1UL << 9)
/* Exports of all hosts together that there are devices for. */
#define EXPORTS_MOST	256
#define EXPORTS		(EXPORTS_MOST + 500)
/* Where the kernel counts lines, it says so many in five seconds (DEFAULT_RATELIMIT_BURST). */
#define BURST		10
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

/* The log is not the host's to fill. */
TEST_F_TIMEOUT(host, more_exports_than_devices, 120)
{
	uint64_t start = tool_now_ms(), bursts;
	char name[32];
	long lines;
	int i;

	tool_run("dmesg -c");
	for (i = 0; i < EXPORTS; i++) {
		snprintf(name, sizeof(name), "export%d", i);
		ASSERT_TRUE(say_export(name));
	}
	/* Each is taken back, so that the last one has a place. */
	for (i = 1; i <= EXPORTS; i++) {
		struct vgpu_export_del del = {
			.hdr.len = htole32(sizeof(del)),
			.hdr.type = htole16(VGPU_MSG_EXPORT_DEL),
			.export = htole32(last_export - EXPORTS + i),
		};

		ASSERT_TRUE(send_all(&del, sizeof(del)));
	}
	ASSERT_TRUE(say_export("after"));
	EXPECT_TRUE(await_export("after"));
	bursts = (tool_now_ms() - start) / 5000 + 1;
	lines = atol(tool_run("dmesg | grep -c 'no device for export'")->out);
	EXPECT_LT(0, lines);
	EXPECT_GE(BURST * bursts, lines);
}

PLAYED_MAIN
