// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of ALSA's PCM devices: sound/asound.h. How many bytes a frame has is
 * known to the driver only, so samples are left to demand paging; all else is
 * plain data, which needs no entry where the command tells its direction.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#endif
#include "schema.h"
#include "schema_uapi.h"

/*
 * Positions, which the driver moves on and programs read (or the reverse), with
 * no call. Where they cannot be mapped, libraries ask with SYNC_PTR.
 */
static const struct vgpu_schema_live sound_live[] = {
	{ SNDRV_PCM_MMAP_OFFSET_STATUS_OLD, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_CONTROL_OLD, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_STATUS_NEW, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_CONTROL_NEW, ENXIO },
};

/* The driver leaves a result in what the command says it reads only. */
#define RESULT	.dir = VGPU_INOUT, .flags = VGPU_IOCTL_NATIVE

static const struct vgpu_schema_ioctl sound_ioctls[] = {
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_REWIND, snd_pcm_uframes_t), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_FORWARD, snd_pcm_uframes_t), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEI_FRAMES, struct snd_xferi), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEN_FRAMES, struct snd_xfern), RESULT },
};

const struct vgpu_schema vgpu_schema_sound = {
	.name = "sound",
	.ioctls = sound_ioctls,
	.nr_ioctls = ARRAY_SIZE(sound_ioctls),
	.nr_live = ARRAY_SIZE(sound_live),
	.live = sound_live,
};
