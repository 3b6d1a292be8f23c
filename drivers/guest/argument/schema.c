// SPDX-License-Identifier: GPL-2.0-only
/* Lookup of the schema of a file, and of the entry of a command. */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#include <uapi/linux/vgpu_wire.h>
#endif
#include "argument/schema.h"
#include "argument/schema/tables.h"

static const struct {
	const char *driver;
	const struct vgpu_schema *schema;
} drm_drivers[] = {
	{ "vgem", &vgpu_schema_vgem },
	{ "vkms", &vgpu_schema_vkms },
	{ "nouveau", &vgpu_schema_nouveau },
	{ "amdgpu", &vgpu_schema_amdgpu },
	{ "i915", &vgpu_schema_i915 },
	{ "xe", &vgpu_schema_xe },
	{ "panfrost", &vgpu_schema_panfrost },
	{ "panthor", &vgpu_schema_panthor },
	{ "virtio_gpu", &vgpu_schema_virtgpu },
};

/* Drivers with device files of their own. */
static const struct {
	const char *driver;
	const struct vgpu_schema *schema;
} plain_drivers[] = {
	{ "nvidia", &vgpu_schema_nvidia },
	{ "nvidia-uvm", &vgpu_schema_uvm },
};

/*
 * Devices of no known class: found by the beginning of the path. The path may be that of a
 * symbolic link, so a miscellaneous device, whose name stands for its driver, is found by that
 * as well.
 */
static const struct {
	const char *path;
	const char *driver;
	const struct vgpu_schema *schema;
} plain_devices[] = {
#ifdef VGPU_TESTING
	{ "/dev/vgpu-mock-iter", "vgpu-mock-iter", &vgpu_schema_mock_apart },
	{ "/dev/vgpu-mock", "vgpu-mock", &vgpu_schema_mock },
#endif
	{ "/dev/udmabuf", "udmabuf", &vgpu_schema_udmabuf },
	{ "/dev/dma_heap/", NULL, &vgpu_schema_dma_heap },
};

static bool begins_with(const char *name, const char *begin)
{
	return begin && !strncmp(name, begin, strlen(begin));
}

static const struct vgpu_schema *schema_drm(const char *driver)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(drm_drivers); i++)
		if (!strcmp(driver, drm_drivers[i].driver))
			return drm_drivers[i].schema;
	return &vgpu_schema_drm;
}

/* The nodes of a sound card have the same kind; @title is the kernel's name of the node. */
static const struct vgpu_schema *schema_sound(const char *title)
{
	if (begins_with(title, "pcm"))
		return &vgpu_schema_sound;
	return begins_with(title, "controlC") ? &vgpu_schema_sound_control : NULL;
}

static const struct vgpu_schema *schema_plain(const char *driver, const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(plain_devices); i++)
		if (begins_with(path, plain_devices[i].path) ||
		    begins_with(driver, plain_devices[i].driver))
			return plain_devices[i].schema;
	for (i = 0; i < ARRAY_SIZE(plain_drivers); i++)
		if (!strcmp(driver, plain_drivers[i].driver))
			return plain_drivers[i].schema;
	return NULL;
}

const struct vgpu_schema *vgpu_schema_for_export(u32 kind, const char *driver, const char *title,
						 const char *path)
{
	switch (kind) {
	case VGPU_EXPORT_DRM_PRIMARY:
	case VGPU_EXPORT_DRM_RENDER:
		return schema_drm(driver);
	/* V4L2's subdevices have no schema: their ioctls use the numbers of other ioctls. */
	case VGPU_EXPORT_VIDEO:
	case VGPU_EXPORT_VBI:
	case VGPU_EXPORT_RADIO:
	case VGPU_EXPORT_SDR:
	case VGPU_EXPORT_TOUCH:
		return &vgpu_schema_v4l2;
	case VGPU_EXPORT_MEDIA:
		return &vgpu_schema_media;
	case VGPU_EXPORT_SOUND:
		return schema_sound(title);
	default:
		return schema_plain(driver, path);
	}
}

const struct vgpu_schema *vgpu_schema_for_object(u32 kind, const struct vgpu_schema *from)
{
	switch (kind) {
	case VGPU_OBJECT_DMABUF:
		return &vgpu_schema_dma_buf;
	case VGPU_OBJECT_SYNC_FILE:
		return &vgpu_schema_sync_file;
	default:
		/*
		 * Another device file (a DRM lease) or a file of the driver's own kind, whose
		 * commands are in the driver's tables as well.
		 */
		return from;
	}
}

int vgpu_schema_check_map(const struct vgpu_schema *schema, u64 offset)
{
	u32 i;

	for (; schema; schema = schema->base)
		for (i = 0; i < schema->nr_live; i++)
			if (schema->live[i].offset == offset)
				return -schema->live[i].error;
	return 0;
}

int vgpu_schema_polled(const struct vgpu_schema *schema)
{
	for (; schema; schema = schema->base)
		if (schema->polled)
			return schema->polled;
	return 0;
}

u8 vgpu_schema_keepers(const struct vgpu_schema *schema, const char *driver, const char *title)
{
	/* RegisterSurface() of nvkms-surface.c takes the memory of any client by handles. */
	if (schema == &vgpu_schema_nvidia && !strcmp(title, "nvidia-modeset"))
		return VGPU_KEEPERS_NVIDIA_ANY;
	/* nvidia-drm imports objects that files of the driver nvidia export. */
	if (!strcmp(driver, "nvidia") || !strcmp(driver, "nvidia-drm"))
		return VGPU_KEEPERS_NVIDIA;
	/*
	 * uvc_ioctl_qbuf() checks that the file owns the queue, and adds the buffer later:
	 * another file may own the queue by then (drivers/media/usb/uvc/uvc_v4l2.c). Other
	 * drivers leave both steps to videobuf2.
	 */
	if (schema == &vgpu_schema_v4l2 && !strcmp(driver, "uvcvideo"))
		return VGPU_KEEPERS_UVC;
	for (; schema; schema = schema->base)
		if (schema->keepers)
			return schema->keepers;
	return VGPU_KEEPERS_FILE;
}

bool vgpu_schema_is_apart(const struct vgpu_schema *schema)
{
	for (; schema; schema = schema->base)
		if (schema->apart)
			return true;
	return false;
}

const struct vgpu_schema_event *vgpu_schema_find_event(const struct vgpu_schema *schema, u32 type)
{
	u32 i;

	for (; schema; schema = schema->base)
		for (i = 0; i < schema->nr_events; i++)
			if (schema->events[i].type == type)
				return &schema->events[i];
	return NULL;
}

/*
 * Find an entry by binary search: entries are in ascending order of type and number, and EXACT
 * entries with the same number in ascending order of the command.
 */
static const struct vgpu_schema_ioctl *table_find(const struct vgpu_schema_ioctl *table, u32 nr,
						  u32 cmd)
{
	const u32 key = cmd & 0xffff;
	u32 low = 0, high = nr;

	while (low < high) {
		u32 mid = (low + high) / 2;
		u32 here = table[mid].cmd & 0xffff;

		if (here == key &&
		    (!(table[mid].flags & VGPU_IOCTL_EXACT) || table[mid].cmd == cmd))
			return &table[mid];
		if (here < key || (here == key && table[mid].cmd < cmd))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct vgpu_schema_ioctl *vgpu_schema_find(const struct vgpu_schema *schema, u32 cmd,
						 bool compat)
{
	const struct vgpu_schema_ioctl *ioctl;

	for (; schema; schema = schema->base) {
		if (compat) {
			ioctl = table_find(schema->compat, schema->nr_compat, cmd);
			if (ioctl)
				return ioctl;
		}
		ioctl = table_find(schema->ioctls, schema->nr_ioctls, cmd);
		if (ioctl)
			return compat && (ioctl->flags & VGPU_IOCTL_NATIVE) ? NULL : ioctl;
	}
	return NULL;
}
