// SPDX-License-Identifier: GPL-2.0-only
/*
 * udev makes links by the names of exports. The test is the host, and gives exports names by which
 * a host would like to have a link elsewhere, or one that means something to udev.
 */
#include "host_played.h"

#include "kselftest_harness.h"

static const char *const bad[] = {
	"..", ".", "../null", "../../null", "/dev/null", "a/b", "a/../../../null", "a b", " ",
	"a ../null",
	"a\\x2fb", "%k", "$kernel", "$attr{path}", "a;b", "a'b", "a\"b", "*", "[", "a|b", "~", "a,b",
};

#define NR_BAD	(sizeof(bad) / sizeof(bad[0]))

static bool send_export(const char *name)
{
	struct vgpu_export_add add;

	fill_export(&add, name, NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	return send_all(&add, sizeof(add));
}

/* Return: @nr devices are there, and udev has seen them. */
static bool devices_come(unsigned int nr)
{
	return !tool_run("for i in $(seq 600); do [ $(ls /sys/class/vgpu | wc -l) = %u ] && "
			 "exec udevadm settle; busybox usleep 50000; done; exit 1", nr)->status;
}

static const char *links(void)
{
	/* udev has links by number in /dev/char as well. */
	return tool_run("cd /dev && find . -path ./char -prune -o -lname '*vgpu[0-9]*' -print | sort")->out;
}

FIXTURE(names) {
	char unused;
};

FIXTURE_SETUP(names)
{
	ASSERT_EQ(host_begin(), 0);
}

FIXTURE_TEARDOWN(names)
{
	host_end();
}

TEST_F_TIMEOUT(names, only_of_good_names, 120)
{
	unsigned int i;

	for (i = 0; i < NR_BAD; i++)
		ASSERT_TRUE(send_export(bad[i]));
	ASSERT_TRUE(send_export("a.b_c-1"));
	ASSERT_TRUE(devices_come(NR_BAD + 1));
	EXPECT_STREQ(links(), "./vgpu/by-host/1:22999/a.b_c-1\n./vgpu/by-name/a.b_c-1\n");
	EXPECT_EQ(tool_run("[ /dev/vgpu/by-name/a.b_c-1 -ef /dev/vgpu%zu ]", NR_BAD)->status, 0);
	EXPECT_EQ(tool_run("[ $(stat -c %%U:%%G:%%a /dev/vgpu0) = root:render:660 ]")->status, 0);
	EXPECT_EQ(tool_run("[ -c /dev/null ] && [ ! -L /dev/null ]")->status, 0);
}

TEST_F_TIMEOUT(names, end_with_the_device, 120)
{
	ASSERT_TRUE(send_export("x"));
	ASSERT_TRUE(devices_come(1));
	EXPECT_STREQ(links(), "./vgpu/by-host/1:22999/x\n./vgpu/by-name/x\n");
	host_leave();
	EXPECT_TRUE(devices_come(0));
	EXPECT_EQ(tool_run("[ ! -e /dev/vgpu ]")->status, 0);
	ASSERT_EQ(host_begin_again(), 0);
}

TEST_HARNESS_MAIN
