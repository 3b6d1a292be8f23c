// SPDX-License-Identifier: MIT
/* Device files: search of sysfs for the kind, driver and parent of a device. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/vgpu_wire.h>

#include "base/sysfs.h"
#include "device/device.h"
#include "device/nvidia.h"

/* Cut off the number of a platform device: "vkms.0" and "vkms.1.auto" become "vkms". */
static void strip_instance(char *name)
{
	char *dot;

	for (dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		if (dot > name && isdigit((unsigned char)dot[1])) {
			*dot = '\0';
			return;
		}
}

/*
 * Find the driver of a virtio device. A DRM device of virtio has the transport (a PCI function)
 * as parent; the driver is bound to the one virtio device on that transport.
 */
static void find_virtio_driver(const char *parent, char *driver, size_t size)
{
	char pattern[96];
	glob_t found;

	driver[0] = '\0';
	snprintf(pattern, sizeof(pattern), "%s/virtio[0-9]*", parent);
	if (glob(pattern, 0, NULL, &found))
		return;
	sysfs_link_name(found.gl_pathv[0], "driver", driver, size);
	globfree(&found);
}

static void find_driver(const char *owner, const char *parent, char *driver, size_t size)
{
	char bus[64];

	find_virtio_driver(parent, driver, size);
	if (driver[0])
		return;
	sysfs_link_name(parent, "driver", driver, size);
	sysfs_link_name(parent, "subsystem", bus, sizeof(bus));
	if (driver[0] && strcmp(bus, "faux"))
		return;
	/*
	 * Parents that modules such as vgem and vkms make themselves have no driver, or
	 * faux_driver, but have the module's name. If there is no parent, as of misc devices, the
	 * device's own name is used.
	 */
	sysfs_dir_name(parent, driver, size);
	if (!driver[0])
		sysfs_dir_name(owner, driver, size);
	strip_instance(driver);
}

static uint32_t find_kind(const char *dir, const char *class)
{
	static const struct {
		const char *class, *name;
		uint32_t kind;
	} kinds[] = {
		{ "drm", "card", VGPU_EXPORT_DRM_PRIMARY },
		{ "drm", "renderD", VGPU_EXPORT_DRM_RENDER },
		{ "video4linux", "video", VGPU_EXPORT_VIDEO },
		{ "video4linux", "vbi", VGPU_EXPORT_VBI },
		{ "video4linux", "radio", VGPU_EXPORT_RADIO },
		{ "video4linux", "swradio", VGPU_EXPORT_SDR },
		{ "video4linux", "v4l-touch", VGPU_EXPORT_TOUCH },
		{ "sound", "controlC", VGPU_EXPORT_SOUND },
		{ "sound", "pcmC", VGPU_EXPORT_SOUND },
		{ "sound", "hwC", VGPU_EXPORT_SOUND },
		{ "sound", "midiC", VGPU_EXPORT_SOUND },
		{ "sound", "umpC", VGPU_EXPORT_SOUND },
		{ "media", "media", VGPU_EXPORT_MEDIA },
	};
	char name[64];
	size_t i;

	sysfs_dir_name(dir, name, sizeof(name));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(class, kinds[i].class) &&
		    !strncmp(name, kinds[i].name, strlen(kinds[i].name)))
			return kinds[i].kind;
	return VGPU_EXPORT_PLAIN;
}

/*
 * Find a device of NVIDIA's driver. Its files are in no class, and only cards have a parent on
 * a bus.
 */
static bool find_nvidia(struct device *device)
{
	char parent[80];
	struct stat st;

	if (!nvidia_find(device->rdev, device->title, device->driver))
		return false;
	device->kind = VGPU_EXPORT_NVIDIA;
	if (nvidia_find_pci(device->title, parent, sizeof(parent)) && !stat(parent, &st)) {
		device->device = st.st_ino;
		identity_read(parent, &device->identity);
	}
	return true;
}

/*
 * Check for vgpu's own devices, since a forwarded device must not be forwarded again: the class
 * vgpu, the control device, and nodes of the guest module. The parents of these nodes have its
 * driver or, on the bus "faux", a known name. The host module checks this, too; the check here
 * gives a clear message.
 */
static bool is_ours(const char *dir, const char *class, const char *driver)
{
	char name[64];

	if (!strcmp(class, "vgpu") || !strcmp(driver, "vgpu_guest") ||
	    !strcmp(driver, "vgpu-drm") || strstr(driver, ".vgpu"))
		return true;
	sysfs_dir_name(dir, name, sizeof(name));
	return !strcmp(class, "misc") &&
		(!strcmp(name, "vgpu-host") || !strncmp(name, "vgpu-window", 11));
}

bool device_ignores_keys(const char *class, const char *name, dev_t rdev)
{
	/* Major and minor numbers from the kernel's miscdevice.h. */
	enum { MISC = 10, VFIO = 196, VHOST_NET = 238, VHOST_VSOCK = 241 };

	if (!strncmp(class, "vfio", 4) || !strncmp(name, "vhost-", 6))
		return true;
	if (major(rdev) != MISC)
		return false;
	return minor(rdev) == VFIO || minor(rdev) == VHOST_NET || minor(rdev) == VHOST_VSOCK ||
		!strcmp(name, "vfio") || !strcmp(name, "iommu");
}

int device_open(const char *path, struct device *device)
{
	char dir[64], owner[72], class[64];
	char parent[80], name[64];
	struct stat st;
	int fd;

	memset(device, 0, sizeof(*device));
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		close(fd);
		return -EIO;
	}
	if (!S_ISCHR(st.st_mode)) {
		close(fd);
		return -ENOTTY;
	}

	device->rdev = st.st_rdev;
	snprintf(dir, sizeof(dir), "/sys/dev/char/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	sysfs_link_name(dir, "subsystem", class, sizeof(class));
	sysfs_dir_name(dir, name, sizeof(name));
	if (device_ignores_keys(class, name, st.st_rdev)) {
		close(fd);
		return -EOPNOTSUPP;
	}
	device->kind = find_kind(dir, class);
	/* ALSA's nodes belong to a card, whose parent is the device. */
	snprintf(owner, sizeof(owner), "%s%s", dir,
		 device->kind == VGPU_EXPORT_SOUND ? "/device" : "");
	/* Media devices are on a bus, not in a class, so they have no link "device". */
	snprintf(parent, sizeof(parent), "%s%s", owner,
		 device->kind == VGPU_EXPORT_MEDIA ? "/.." : "/device");
	find_driver(owner, parent, device->driver, sizeof(device->driver));
	if (is_ours(dir, class, device->driver)) {
		close(fd);
		return -EXDEV;
	}
	if (find_nvidia(device))
		return fd;

	/* All nodes of one device have the same parent, and the parent has one inode in sysfs. */
	if (!stat(device->kind == VGPU_EXPORT_SOUND ? owner : parent, &st))
		device->device = st.st_ino;
	identity_read(parent, &device->identity);
	if (device->kind == VGPU_EXPORT_SOUND)
		sysfs_dir_name(dir, device->title, sizeof(device->title));
	else if (device->kind == VGPU_EXPORT_MEDIA)
		identity_read_title(dir, "model", device->title, sizeof(device->title));
	else if (device->kind >= VGPU_EXPORT_VIDEO)
		identity_read_title(dir, "name", device->title, sizeof(device->title));
	return fd;
}
