/* SPDX-License-Identifier: GPL-2.0-only */
/* Log messages about versions of NVIDIA's libraries and driver that do not match. */
#ifndef VGPU_NVIDIA_VERSION_H
#define VGPU_NVIDIA_VERSION_H

#include <linux/types.h>

struct vgpu_export;
struct vgpu_marshal;
struct vgpu_reply_view;

void vgpu_nvidia_version_checked(const struct vgpu_export *export, unsigned int cmd,
				 const struct vgpu_marshal *m, const struct vgpu_reply_view *reply,
				 long result);
void vgpu_nvidia_version_told(const struct vgpu_export *export, const u8 *data, u32 len,
			      unsigned int *said);

#endif /* VGPU_NVIDIA_VERSION_H */
