// SPDX-License-Identifier: GPL-2.0-only
/* Kinds of exports: operations of the class to which a device of each kind belongs. */
#include <linux/kconfig.h>
#include <linux/stddef.h>

#include "argument/schema/tables.h"
#include "file/class.h"
#include "link/export.h"
#include "node/drm_ioctl.h"
#include "node/kind.h"
#include "node/node.h"
#include "node/nvidia.h"
#include "node/sound.h"
#include "node/video_queue.h"

/* Return: operations of the class to which the export's device belongs. */
const struct vgpu_class_ops *vgpu_kind_class_ops(const struct vgpu_export *export)
{
	static const struct vgpu_class_ops none;

	switch (export->kind) {
	case VGPU_EXPORT_DRM_PRIMARY:
	case VGPU_EXPORT_DRM_RENDER:
		return &vgpu_drm_class_ops;
	case VGPU_EXPORT_VIDEO:
	case VGPU_EXPORT_VBI:
	case VGPU_EXPORT_RADIO:
	case VGPU_EXPORT_SDR:
	case VGPU_EXPORT_TOUCH:
	case VGPU_EXPORT_MEDIA:
		return &vgpu_video_class_ops;
	case VGPU_EXPORT_SOUND:
		return IS_ENABLED(CONFIG_SOUND) ? &vgpu_sound_class_ops : &none;
	case VGPU_EXPORT_NVIDIA:
		return &vgpu_nvidia_class_ops;
	default:
		/* A device of NVIDIA's driver may be exported without a node of its class. */
		return vgpu_export_schema(export) == &vgpu_schema_nvidia ?
			&vgpu_nvidia_class_ops : &none;
	}
}

/* Return: operations that make nodes of the class; NULL if the kernel has no such class. */
const struct vgpu_node_ops *vgpu_kind_node_ops(u32 kind)
{
	switch (kind) {
	case VGPU_EXPORT_VIDEO:
	case VGPU_EXPORT_VBI:
	case VGPU_EXPORT_RADIO:
	case VGPU_EXPORT_SDR:
	case VGPU_EXPORT_TOUCH:
		return IS_ENABLED(CONFIG_VIDEO_DEV) ? &vgpu_video_node_ops : NULL;
	case VGPU_EXPORT_SOUND:
		return IS_ENABLED(CONFIG_SOUND) ? &vgpu_sound_node_ops : NULL;
	case VGPU_EXPORT_MEDIA:
		return IS_ENABLED(CONFIG_MEDIA_CONTROLLER) ? &vgpu_media_node_ops : NULL;
	case VGPU_EXPORT_NVIDIA:
		return &vgpu_nvidia_node_ops;
	default:
		return NULL;
	}
}
