// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the names and numbers by which vgpud (userspace-lib/vgpud/device/device.c) recognizes
 * the device files that it does not export.
 */
#include <sys/sysmacros.h>

#include "tap.h"
#include "vgpud/device/device.h"
#include "vgpud/device/nvidia.h"

/* --- functions that device.c calls ------------------------------------------------------- */

bool nvidia_find(dev_t rdev, char title[64], char driver[32])
{
	return false;
}

bool nvidia_find_pci(const char *title, char *path, size_t size)
{
	return false;
}

void identity_read(const char *dir, struct identity *identity)
{
}

void identity_read_title(const char *dir, const char *file, char *title, size_t size)
{
}

/* --- tests -------------------------------------------------------------------------------- */

static void test_keys(void)
{
	static const struct {
		const char *class, *name;
		unsigned int major, minor;
		bool ignores;
	} nodes[] = {
		/* These are VFIO or iommufd, and groups with and without an IOMMU. */
		{ "misc", "vfio", 10, 196, true },
		{ "vfio", "12", 240, 0, true },
		{ "vfio", "noiommu-0", 240, 1, true },
		{ "vfio-dev", "vfio0", 511, 0, true },
		{ "misc", "iommu", 10, 124, true },
		{ "misc", "vhost-net", 10, 238, true },
		{ "misc", "vhost-vsock", 10, 241, true },
		{ "misc", "vhost-scsi", 10, 125, true },
		{ "", "vhost-vdpa-0", 509, 0, true },
		/* These nodes exist before their modules are loaded, without a name. */
		{ "", "", 10, 196, true },
		{ "", "", 10, 238, true },
		{ "", "", 10, 241, true },

		{ "", "", 10, 195, false },
		{ "", "", 195, 196, false },
		{ "misc", "kvm", 10, 232, false },
		{ "misc", "udmabuf", 10, 126, false },
		{ "drm", "renderD128", 226, 128, false },
		{ "video4linux", "video0", 81, 0, false },
		{ "mem", "null", 1, 3, false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		tap_expect(device_ignores_keys(nodes[i].class, nodes[i].name,
					       makedev(nodes[i].major, nodes[i].minor)) ==
			   nodes[i].ignores, "%s '%s' (%u:%u)", nodes[i].class, nodes[i].name,
			   nodes[i].major, nodes[i].minor);
	tap_subject("drivers that protection keys do not keep from memory");
}

int main(void)
{
	test_keys();
	return tap_done();
}
