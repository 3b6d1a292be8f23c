/* SPDX-License-Identifier: GPL-2.0-only */
/* Sound nodes of ALSA, if the kernel has sound; the operations are declared in node.h. */
#ifndef VGPU_SOUND_H
#define VGPU_SOUND_H

struct vgpu_class_ops;

extern const struct vgpu_class_ops vgpu_sound_class_ops;

int vgpu_sound_global_init(void);
void vgpu_sound_global_exit(void);

#endif /* VGPU_SOUND_H */
