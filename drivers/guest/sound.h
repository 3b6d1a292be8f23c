/* SPDX-License-Identifier: GPL-2.0-only */
/* Sound nodes of ALSA, if the kernel has sound; the operations are declared in node.h. */
#ifndef VGPU_SOUND_H
#define VGPU_SOUND_H

#include <linux/kconfig.h>

struct vgpu_object;

#if IS_ENABLED(CONFIG_SOUND)

int vgpu_sound_global_init(void);
void vgpu_sound_global_exit(void);
void vgpu_sound_ioctl_done(const struct vgpu_object *object, unsigned int cmd, unsigned long arg);

#else

static inline int vgpu_sound_global_init(void)
{
	return 0;
}

static inline void vgpu_sound_global_exit(void)
{
}

static inline void vgpu_sound_ioctl_done(const struct vgpu_object *object, unsigned int cmd,
					 unsigned long arg)
{
}

#endif

#endif /* VGPU_SOUND_H */
