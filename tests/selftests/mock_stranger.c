// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's module uses a virtio device with the number of a window's device
 * (tests/mock/virtio.c) only if its configuration space says that it is a window.
 */
#include <string.h>

#include <linux/vgpu_wire.h>

#include "tool.h"

#include "kselftest_harness.h"

#define MODULE	"vgpu_mock_virtio"
#define WHERE	"/sys/devices/vgpu-mock-virtio"
#define REGION	(1UL << 20)
#define NUMBER	0x6f74686572

/* VIRTIO_CONFIG_S_DRIVER_OK: a driver uses the device. */
#define READY	4

FIXTURE(stranger) {
	struct vgpu_window_header header;
};

FIXTURE_SETUP(stranger)
{
	const char *tier = getenv("VGPU_TIER");

	if (!tier || !strcmp(tier, "native"))
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(access("/sys/bus/virtio/drivers/vgpu_window", F_OK), 0);
	memset(&self->header, 0, sizeof(self->header));
	memcpy(self->header.magic, VGPU_WINDOW_MAGIC, sizeof(self->header.magic));
	self->header.version = htole32(VGPU_WINDOW_VERSION);
	self->header.window = htole64(NUMBER);
	self->header.size = htole64(REGION);
}

FIXTURE_TEARDOWN(stranger)
{
}

/*
 * Adds a virtio device with this configuration space, and removes it. Return: true if it had the
 * driver; -1: something else is wrong.
 */
static int is_taken(const struct vgpu_window_header *header, unsigned int len, unsigned long region)
{
	const unsigned char *byte = (const unsigned char *)header;
	char config[16 + 4 * VGPU_WINDOW_CONFIG_LEN] = "";
	struct tool_run *run;
	int taken;
	unsigned int i;

	for (i = 0; i < len; i++)
		sprintf(config + strlen(config), "%s%u", i ? "," : "config=", byte[i]);
	if (tool_run("modprobe " MODULE " region=%lu %s", region, config)->status)
		return -1;
	/* A device without a driver has no link. */
	run = tool_run("basename $(readlink " WHERE "/virtio*/driver)");
	taken = !run->status && !strcmp(run->out, "vgpu_window\n");
	run = tool_run("cd /sys/module/" MODULE "/parameters && echo $(($(cat status) & %d)) $(cat beyond) "
		       "$(grep -c '^ *4000000000-.* : vgpu_guest' /proc/iomem)", READY);
	if (strcmp(run->out, taken ? "4 0 1\n" : "0 0 0\n")) {
		fprintf(stderr, "# %s: %s", taken ? "taken" : "not taken", run->out);
		taken = -1;
	}
	if (tool_run("rmmod " MODULE)->status)
		return -1;
	return taken;
}

TEST_F_TIMEOUT(stranger, is_left_alone, 120)
{
	struct vgpu_window_header zeros = {}, other = self->header;
	const unsigned int len = VGPU_WINDOW_CONFIG_LEN;

	/* Each of the other headers differs from this one in a single field. */
	EXPECT_EQ(is_taken(&self->header, len, REGION), 1);
	EXPECT_EQ(is_taken(&zeros, len, REGION), 0);
	other.magic[sizeof(other.magic) - 1] ^= 1;
	EXPECT_EQ(is_taken(&other, len, REGION), 0);
	other = self->header;
	other.version = htole32(VGPU_WINDOW_VERSION + 1);
	EXPECT_EQ(is_taken(&other, len, REGION), 0);
	other = self->header;
	other.window = 0;
	EXPECT_EQ(is_taken(&other, len, REGION), 0);
	other = self->header;
	other.size = htole64(REGION + 1);
	EXPECT_EQ(is_taken(&other, len, REGION), 0);
}

/*
 * A device may have any configuration space. If it is shorter than a window's, the guest does
 * not read beyond its end.
 */
TEST_F_TIMEOUT(stranger, without_memory, 120)
{
	EXPECT_EQ(is_taken(&self->header, 0, 0), 0);
	EXPECT_EQ(is_taken(&self->header, 8, 0), 0);
	EXPECT_EQ(is_taken(&self->header, 8, 4096), 0);
	EXPECT_EQ(is_taken(&self->header, VGPU_WINDOW_CONFIG_LEN, 4096), 0);
}

TEST_HARNESS_MAIN
