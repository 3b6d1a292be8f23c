// SPDX-License-Identifier: GPL-2.0-only
/*
 * libdrm reports the device behind a forwarded node as it does on the host, except for the PCI
 * domain. The device's only driver in the guest is vgpu_guest.
 */
#include <xf86drm.h>

#include "drm_node.h"

#define DOMAIN_FIRST	0x8000

/*
 * Reads a file, or with @link the target of a link, in the directory of the node's device. A
 * device behind virtio has the files of its transport, as in libdrm.
 */
static int device_file(const char *name, void *data, size_t size, bool link)
{
	char file[128];
	struct stat st;
	ssize_t len;
	int fd;

	if (stat(path, &st))
		return -1;
	snprintf(file, sizeof(file), "/sys/dev/char/%u:%u/device/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	if (access(file, F_OK))
		snprintf(file, sizeof(file), "/sys/dev/char/%u:%u/device/../%s",
			 major(st.st_rdev), minor(st.st_rdev), name);
	if (link)
		return readlink(file, data, size);
	fd = open(file, O_RDONLY);
	if (fd < 0)
		return -1;
	len = read(fd, data, size);
	close(fd);
	return len;
}

/*
 * The command register, BARs, capabilities and interrupts differ between guest and host, so
 * they are not compared.
 */
static void check_header(void)
{
	unsigned char header[256];
	static const struct { unsigned char from, to; } own[] = {
		{ 0x04, 0x06 }, { 0x10, 0x28 }, { 0x30, 0x34 }, { 0x34, 0x35 }, { 0x3c, 0x3e },
	};
	unsigned int i, j;

	memset(header, 0, sizeof(header));
	CHECK(device_file("config", header, sizeof(header), false) >= 64);
	header[0x06] &= ~0x10;
	header[0x0e] &= 0x7f;
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		for (j = own[i].from; forwarded && j < own[i].to; j++)
			CHECK(!header[j]);
		memset(header + own[i].from, 0, own[i].to - own[i].from);
	}
	log_bytes("header", header, 64);
	for (j = 64; forwarded && j < sizeof(header); j++)
		CHECK(!header[j]);
}

static void check_driver(void)
{
	char text[256] = "", *slash;

	if (!forwarded)
		return;
	CHECK(device_file("driver_override", text, sizeof(text) - 1, false) > 0);
	CHECK(!strcmp(text, "vgpu-drm\n"));
	memset(text, 0, sizeof(text));
	CHECK(device_file("driver", text, sizeof(text) - 1, true) > 0);
	slash = strrchr(text, '/');
	CHECK(slash && !strcmp(slash, "/vgpu-drm"));
}

/* Programs such as Xorg look for a device of this bus id on this machine. */
static void check_busid(int fd, const drmPciBusInfo *bus)
{
	drmSetVersion version = {
		.drm_di_major = 1, .drm_di_minor = 4, .drm_dd_major = -1, .drm_dd_minor = -1,
	};
	char own[32], *busid;

	if (!strstr(drm_node, "CARD"))
		return;
	LOG_CALL(drmSetInterfaceVersion(fd, &version));
	busid = drmGetBusid(fd);
	if (!CHECK(busid))
		return;
	snprintf(own, sizeof(own), "pci:%04x:%02x:%02x.%u", bus->domain, bus->bus, bus->dev,
		 bus->func);
	CHECK(!strcmp(busid, own));
	drmFreeBusid(busid);
}

static void check_pci(int fd, const drmDevice *device)
{
	const drmPciDeviceInfo *info = device->deviceinfo.pci;
	const drmPciBusInfo *bus = device->businfo.pci;

	log_line("bus %02x:%02x.%u", bus->bus, bus->dev, bus->func);
	log_line("vendor %04x device %04x subsystem %04x:%04x revision %02x", info->vendor_id,
		 info->device_id, info->subvendor_id, info->subdevice_id, info->revision_id);
	CHECK(forwarded == (bus->domain >= DOMAIN_FIRST));
	check_header();
	check_driver();
	check_busid(fd, bus);
}

/*
 * Checks the device's name: the host's name, with a suffix that distinguishes it from this
 * machine's devices.
 */
static void check_platform(const drmDevice *device)
{
	const char *name = device->businfo.platform->fullname;

	CHECK(!strcmp(name, device->deviceinfo.platform->compatible[0]));
	log_line("name %.*s", (int)(forwarded ? strcspn(name, ".") : strlen(name)), name);
	check_driver();
}

static void check_listed(drmDevice *device)
{
	drmDevice *list[64];
	int i, n, found = 0;

	n = drmGetDevices2(0, list, 64);
	CHECK(n > 0);
	for (i = 0; i < n; i++)
		found += drmDevicesEqual(device, list[i]);
	CHECK(found == 1);
	if (n > 0)
		drmFreeDevices(list, n);
}

static void identity(const char *node)
{
	drmDevice *device;
	int fd, ret;

	drm_node = node;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (!CHECK(fd >= 0))
		return;
	/* Old versions of libdrm fail for devices on the faux bus. */
	ret = drmGetDevice2(fd, DRM_DEVICE_GET_PCI_REVISION, &device);
	log_line("drmGetDevice2 = %d", ret);
	if (ret)
		return;
	log_line("bus type %d, nodes %#x", device->bustype, device->available_nodes);
	switch (device->bustype) {
	case DRM_BUS_PCI:
		check_pci(fd, device);
		break;
	case DRM_BUS_PLATFORM:
		check_platform(device);
		break;
	}
	check_listed(device);
	drmFreeDevice(&device);
	close(fd);
}

DIFF_TEST_NODE(vgem_card, "VGEM_CARD", 20) { identity("VGEM_CARD"); }
DIFF_TEST_NODE(vgem_render, "VGEM_RENDER", 20) { identity("VGEM_RENDER"); }
DIFF_TEST_NODE(vkms_card, "VKMS_CARD", 20) { identity("VKMS_CARD"); }
DIFF_TEST_NODE(gpu_card, "GPU_CARD", 20) { identity("GPU_CARD"); }
DIFF_TEST_NODE(gpu_render, "GPU_RENDER", 20) { identity("GPU_RENDER"); }

TEST_HARNESS_MAIN
