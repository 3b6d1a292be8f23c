/* SPDX-License-Identifier: GPL-2.0-only */
/* V4L2 nodes, where the kernel has V4L2. */
#ifndef VGPU_VIDEO_H
#define VGPU_VIDEO_H

#include <linux/kconfig.h>

struct device;
struct vgpu_export;

#if IS_ENABLED(CONFIG_VIDEO_DEV)

void vgpu_video_add(struct vgpu_export *export);
void vgpu_video_del(struct vgpu_export *export);
void vgpu_video_orphan(struct device *parent);

#else

static inline void vgpu_video_add(struct vgpu_export *export)
{
}

static inline void vgpu_video_del(struct vgpu_export *export)
{
}

static inline void vgpu_video_orphan(struct device *parent)
{
}

#endif

#endif /* VGPU_VIDEO_H */
