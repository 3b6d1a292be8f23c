// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schemas of ALSA's PCM and control devices: sound/asound.h. Only the driver knows the size of
 * a frame, so samples are left to demand paging. All other arguments of a PCM device except fds
 * are plain data, which needs no entry if the command has the right direction.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

/*
 * Pages with positions. Either the driver or the program moves a position on, and the other one
 * reads it without a call. Libraries use SYNC_PTR if these pages cannot be mapped.
 */
static const struct vgpu_schema_live sound_live[] = {
	{ SNDRV_PCM_MMAP_OFFSET_STATUS_OLD, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_CONTROL_OLD, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_STATUS_NEW, ENXIO },
	{ SNDRV_PCM_MMAP_OFFSET_CONTROL_NEW, ENXIO },
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

/* INOUT, because the fields of an OUT struct are not processed. */
#define TIMES	.dir = VGPU_INOUT
#define EXACT	.flags = VGPU_IOCTL_EXACT

/* INOUT, because the driver writes a result to an argument that the command declares IN. */
#define RESULT	.dir = VGPU_INOUT, .flags = VGPU_IOCTL_NATIVE

static const struct vgpu_schema_ioctl sound_ioctls[] = {
	/*
	 * Choice of a clock for the times of the file. The audio timestamp is no time but counts
	 * samples. Programs before protocol 2.0.12 use the field of the choice for something else.
	 */
	{ VGPU_IOCTL_ONE(SNDRV_PCM_IOCTL_TTSTAMP,
			 { .type = VGPU_FIELD_CLOCK, .size = sizeof(int) }) },
	{ VGPU_IOCTL_WITH(SNDRV_PCM_IOCTL_SW_PARAMS, sw_params), LONGS },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS, status), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_SYNC_PTR, sync_ptr), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT, status), EXACT },
	/* The command has the size of a struct, but the argument is an integer. */
	{ VGPU_IOCTL_NO_ARG(SNDRV_PCM_IOCTL_PAUSE) },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_REWIND), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_FORWARD), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEI_FRAMES), RESULT },
	{ VGPU_IOCTL(SNDRV_PCM_IOCTL_WRITEN_FRAMES), RESULT },
	{ VGPU_IOCTL_FD(SNDRV_PCM_IOCTL_LINK) },
};

static const struct vgpu_schema_ioctl sound_compat[] = {
	{ VGPU_IOCTL_WITH(VGPU_PCM_SW_PARAMS32, sw_params32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS32_TIME32, status32_time32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS32, status32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_SYNC_PTR32_TIME32, sync_ptr32_time32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT32_TIME32, status32_time32), EXACT },
	{ VGPU_IOCTL_WITH(VGPU_PCM_STATUS_EXT32, status32), EXACT },
};

const struct vgpu_schema vgpu_schema_sound = {
	.name = "sound",
	VGPU_IOCTLS(sound_ioctls),
	VGPU_COMPAT(sound_compat),
	.nr_live = ARRAY_SIZE(sound_live),
	.live = sound_live,
};

/*
 * The owner of a locked element is the process that opened the file which locked the element.
 * The guest knows that process for this file. Other owners are processes of the host, or have
 * opened another file; their id becomes 0, as for processes outside of the caller's namespace.
 */
static const struct vgpu_schema_field elem_info[] = {
	{ VGPU_PID(struct snd_ctl_elem_info, owner), .mask = SNDRV_CTL_ELEM_ACCESS_OWNER,
	  .out_count = VGPU_FIELD(struct snd_ctl_elem_info, access) },
};

/* The driver rejects longer names without reading them. */
#define NAMES_MAX	(64 * 1024)

static const struct vgpu_schema_field elem_add[] = {
	{ VGPU_PTR(struct snd_ctl_elem_info, value.enumerated.names_ptr), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct snd_ctl_elem_info, value.enumerated.names_length),
	  .max = NAMES_MAX,
	  .when = VGPU_WHEN_EQUAL(struct snd_ctl_elem_info, type,
				  (__force u32)SNDRV_CTL_ELEM_TYPE_ENUMERATED) },
};

/*
 * Entry for a struct whose length field counts the bytes behind its head. The driver of the
 * element reads or writes these bytes, or both. VGPU_IOCTL() would make a name of the expanded
 * macro.
 */
#define TLV(c) \
	.cmd = (c), .name = #c, .body = { .size = _IOC_SIZE(c) }, \
	.size = sizeof(struct snd_ctl_tlv), \
	.size_from = VGPU_FIELD(struct snd_ctl_tlv, length), .flags = VGPU_IOCTL_SIZE_BEHIND

static const struct vgpu_schema_ioctl control_ioctls[] = {
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PVERSION), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_CARD_INFO), BOOKS },
	/* The driver returns the number of elements that it has filled. */
	{ VGPU_IOCTL_ONE(SNDRV_CTL_IOCTL_ELEM_LIST,
			 { VGPU_PTR(struct snd_ctl_elem_list, pids), .dir = VGPU_OUT,
			   .unit = sizeof(struct snd_ctl_elem_id),
			   .count = VGPU_FIELD(struct snd_ctl_elem_list, space),
			   .out_count = VGPU_FIELD(struct snd_ctl_elem_list, used) }), BOTH },
	/* The struct of 32-bit programs differs only in the values at its end. */
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_INFO, elem_info) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_READ), LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_WRITE), LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_LOCK), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_UNLOCK), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_SUBSCRIBE_EVENTS), BOOKS },
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_ADD, elem_add), LONGS },
	{ VGPU_IOCTL_WITH(SNDRV_CTL_IOCTL_ELEM_REPLACE, elem_add), LONGS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_ELEM_REMOVE), BOOKS },
	{ TLV(SNDRV_CTL_IOCTL_TLV_READ) },
	{ TLV(SNDRV_CTL_IOCTL_TLV_WRITE) },
	{ TLV(SNDRV_CTL_IOCTL_TLV_COMMAND) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_HWDEP_NEXT_DEVICE), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_HWDEP_INFO), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_NEXT_DEVICE), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_INFO), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_PCM_PREFER_SUBDEVICE), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_NEXT_DEVICE), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_INFO), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_RAWMIDI_PREFER_SUBDEVICE), BOOKS },
#ifdef SNDRV_CTL_IOCTL_UMP_NEXT_DEVICE	/* 6.5 */
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_NEXT_DEVICE), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_ENDPOINT_INFO), BOOKS },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_UMP_BLOCK_INFO), BOOKS },
#endif
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_POWER) },
	{ VGPU_IOCTL(SNDRV_CTL_IOCTL_POWER_STATE), BOOKS },
};

const struct vgpu_schema vgpu_schema_sound_control = {
	.name = "sound-control",
	VGPU_IOCTLS(control_ioctls),
};
