// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schemas of ALSA's PCM and control devices: sound/asound.h. How many bytes a
 * frame has is known to the driver only, so samples are left to demand paging; all
 * else of a PCM device but fds is plain data, which needs no entry where the
 * command tells its direction.
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

/*
 * Times of the clock that a program has chosen for the file. The audio timestamp counts
 * samples. A program of before protocol 2.0.12 has another meaning for that place.
 */
static const struct vgpu_schema_field choose_clock[] = {
	{ .type = VGPU_FIELD_CLOCK, .size = sizeof(int) },
};

#define SW_PARAMS(s) \
	{ VGPU_CHOOSE_CLOCK(s, tstamp_type), \
	  .when = VGPU_WHEN_LEAST(s, proto, SNDRV_PROTOCOL_VERSION(2, 0, 12)) }

#define TIME(s, member) \
	{ VGPU_STAMP_PARTS(s, member, sizeof_field(s, member), NSEC_PER_SEC), \
	  .clock = VGPU_CLOCK_FILE }

#define STATUS(s) TIME(s, trigger_tstamp), TIME(s, tstamp), TIME(s, driver_tstamp)

static const struct vgpu_schema_field sw_params[] = {
	SW_PARAMS(struct snd_pcm_sw_params)
};

static const struct vgpu_schema_field sw_params32[] = {
	SW_PARAMS(struct vgpu_pcm_sw_params32)
};

static const struct vgpu_schema_field status[] = {
	STATUS(struct vgpu_pcm_status)
};

static const struct vgpu_schema_field status32[] = {
	STATUS(struct vgpu_pcm_status32)
};

static const struct vgpu_schema_field status32_time32[] = {
	STATUS(struct vgpu_pcm_status32_time32)
};

static const struct vgpu_schema_field sync_ptr[] = { TIME(struct vgpu_pcm_sync_ptr, tstamp) };

static const struct vgpu_schema_field sync_ptr32_time32[] = {
	TIME(struct vgpu_pcm_sync_ptr32_time32, tstamp)
};

/* The driver only writes, but there are fields in what it writes. */
#define TIMES	.dir = VGPU_INOUT
#define EXACT	.flags = VGPU_IOCTL_EXACT

/* The driver leaves a result in what the command says it reads only. */
#define RESULT	.dir = VGPU_INOUT, .flags = VGPU_IOCTL_NATIVE

static const struct vgpu_schema_ioctl sound_ioctls[] = {
	{ VGPU_IOCTL_WITH(SNDRV_PCM_IOCTL_TTSTAMP, int, choose_clock) },
	{ VGPU_IOCTL_WITH(SNDRV_PCM_IOCTL_SW_PARAMS, struct snd_pcm_sw_params, sw_params),
	  .flags = VGPU_IOCTL_NATIVE },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS, struct vgpu_pcm_status, status), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_SYNC_PTR, struct vgpu_pcm_sync_ptr, sync_ptr), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT, struct vgpu_pcm_status, status), EXACT },
	/* Declared with the size of what is passed as it is. */
	{ VGPU_IOCTL_NO_ARG(SNDRV_PCM_IOCTL_PAUSE) },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_REWIND, snd_pcm_uframes_t), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_FORWARD, snd_pcm_uframes_t), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEI_FRAMES, struct snd_xferi), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEN_FRAMES, struct snd_xfern), RESULT },
	{ VGPU_IOCTL_FD(SNDRV_PCM_IOCTL_LINK) },
};

static const struct vgpu_schema_ioctl sound_compat[] = {
	{ VGPU_IOCTL_WITH(VGPU_PCM_SW_PARAMS32, struct vgpu_pcm_sw_params32, sw_params32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS32_TIME32, struct vgpu_pcm_status32_time32,
			  status32_time32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS32, struct vgpu_pcm_status32, status32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_SYNC_PTR32_TIME32, struct vgpu_pcm_sync_ptr32_time32,
			  sync_ptr32_time32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT32_TIME32, struct vgpu_pcm_status32_time32,
			  status32_time32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT32, struct vgpu_pcm_status32, status32), EXACT },
};

const struct vgpu_schema vgpu_schema_sound = {
	.name = "sound",
	.ioctls = sound_ioctls,
	.nr_ioctls = ARRAY_SIZE(sound_ioctls),
	.compat = sound_compat,
	.nr_compat = ARRAY_SIZE(sound_compat),
	.nr_live = ARRAY_SIZE(sound_live),
	.live = sound_live,
};

/*
 * The owner of a locked element is who opened the file that locked it: of this file that is
 * known. Others are processes of the host, or were opened by way of another file: 0, as for
 * what is not in the caller's namespace.
 */
static const struct vgpu_schema_field elem_info[] = {
	{ VGPU_PID(struct snd_ctl_elem_info, owner), .mask = SNDRV_CTL_ELEM_ACCESS_OWNER,
	  .out_count = VGPU_FIELD(struct snd_ctl_elem_info, access) },
};

/* As many as there are, told with them. */
static const struct vgpu_schema_field elem_list[] = {
	{ VGPU_PTR(struct snd_ctl_elem_list, pids), .dir = VGPU_OUT,
	  .unit = sizeof(struct snd_ctl_elem_id),
	  .count = VGPU_FIELD(struct snd_ctl_elem_list, space),
	  .out_count = VGPU_FIELD(struct snd_ctl_elem_list, used) },
};

/* Longer ones the driver refuses unseen. */
#define NAMES_MAX	(64 * 1024)

static const struct vgpu_schema_field elem_add[] = {
	{ VGPU_PTR(struct snd_ctl_elem_info, value.enumerated.names_ptr), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct snd_ctl_elem_info, value.enumerated.names_length),
	  .max = NAMES_MAX,
	  .when = VGPU_WHEN_EQUAL(struct snd_ctl_elem_info, type,
				  (__force u32)SNDRV_CTL_ELEM_TYPE_ENUMERATED) },
};

/*
 * The length is that of what is behind the head; what is there goes in, out or both
 * ways as the element's driver likes.
 */
#define TLV(c) \
	VGPU_IOCTL(c, struct snd_ctl_tlv), .size = sizeof(struct snd_ctl_tlv), \
	.size_from = VGPU_FIELD(struct snd_ctl_tlv, length), .flags = VGPU_IOCTL_SIZE_BEHIND

#define BOOKS	.flags = VGPU_IOCTL_NO_MAPPED
/* Pointers and longs inside. */
#define LONGS	.flags = VGPU_IOCTL_NATIVE

static const struct vgpu_schema_ioctl control_ioctls[] = {
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PVERSION, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_CARD_INFO, struct snd_ctl_card_info), BOOKS },
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_LIST, struct snd_ctl_elem_list, elem_list),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_NATIVE },
	/* Of 32-bit programs only the values behind these have another layout. */
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_INFO, struct snd_ctl_elem_info, elem_info) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_READ, struct snd_ctl_elem_value), LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_WRITE, struct snd_ctl_elem_value), LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_LOCK, struct snd_ctl_elem_id), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_UNLOCK, struct snd_ctl_elem_id), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_SUBSCRIBE_EVENTS, int), BOOKS },
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_ADD, struct snd_ctl_elem_info, elem_add), LONGS },
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_REPLACE, struct snd_ctl_elem_info, elem_add),
	  LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_REMOVE, struct snd_ctl_elem_id), BOOKS },
	{ TLV(SNDRV_CTL_IOCTL_TLV_READ) },
	{ TLV(SNDRV_CTL_IOCTL_TLV_WRITE) },
	{ TLV(SNDRV_CTL_IOCTL_TLV_COMMAND) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_HWDEP_NEXT_DEVICE, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_HWDEP_INFO, struct snd_hwdep_info), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_NEXT_DEVICE, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_INFO, struct snd_pcm_info), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_PREFER_SUBDEVICE, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_NEXT_DEVICE, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_INFO, struct snd_rawmidi_info), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_PREFER_SUBDEVICE, int), BOOKS },
#ifdef SNDRV_CTL_IOCTL_UMP_NEXT_DEVICE	/* 6.5 */
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_NEXT_DEVICE, int), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_ENDPOINT_INFO, struct snd_ump_endpoint_info), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_BLOCK_INFO, struct snd_ump_block_info), BOOKS },
#endif
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_POWER, int) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_POWER_STATE, int), BOOKS },
};

const struct vgpu_schema vgpu_schema_sound_control = {
	.name = "sound-control",
	.ioctls = control_ioctls,
	.nr_ioctls = ARRAY_SIZE(control_ioctls),
};
