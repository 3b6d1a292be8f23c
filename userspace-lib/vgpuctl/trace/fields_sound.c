// SPDX-License-Identifier: MIT
/* Fields of the ioctls of ALSA. */
#include <sound/asound.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct snd_##s, m)
#define X(s, m)	TRACE_HEX(struct snd_##s, m)
#define S(s, m)	TRACE_STRING(struct snd_##s, m)

static const struct trace_field pcm_info[] = {
	D(pcm_info, device), D(pcm_info, subdevice), D(pcm_info, stream), D(pcm_info, card),
	S(pcm_info, id), S(pcm_info, name), S(pcm_info, subname), D(pcm_info, dev_class),
	D(pcm_info, dev_subclass), D(pcm_info, subdevices_count),
	D(pcm_info, subdevices_avail),
};

static const struct trace_field pcm_hw_params[] = {
	X(pcm_hw_params, flags), X(pcm_hw_params, rmask), X(pcm_hw_params, cmask),
	D(pcm_hw_params, info), D(pcm_hw_params, msbits), D(pcm_hw_params, rate_num),
	D(pcm_hw_params, rate_den), D(pcm_hw_params, fifo_size),
};

static const struct trace_field pcm_sw_params[] = {
	D(pcm_sw_params, tstamp_mode), D(pcm_sw_params, period_step),
	D(pcm_sw_params, sleep_min), D(pcm_sw_params, avail_min), D(pcm_sw_params, xfer_align),
	D(pcm_sw_params, start_threshold), D(pcm_sw_params, stop_threshold),
	D(pcm_sw_params, silence_threshold), D(pcm_sw_params, silence_size),
	D(pcm_sw_params, boundary), D(pcm_sw_params, tstamp_type),
};

static const struct trace_field pcm_status[] = {
	D(pcm_status, state), D(pcm_status, appl_ptr), D(pcm_status, hw_ptr),
	D(pcm_status, delay), D(pcm_status, avail), D(pcm_status, avail_max),
	D(pcm_status, overrange), D(pcm_status, suspended_state),
};

static const struct trace_field xferi[] = {
	D(xferi, result), X(xferi, buf), D(xferi, frames),
};

static const struct trace_field xfern[] = {
	D(xfern, result), X(xfern, bufs), D(xfern, frames),
};

static const struct trace_field pcm_channel_info[] = {
	D(pcm_channel_info, channel), X(pcm_channel_info, offset), D(pcm_channel_info, first),
	D(pcm_channel_info, step),
};

static const struct trace_field ctl_card_info[] = {
	D(ctl_card_info, card), S(ctl_card_info, id), S(ctl_card_info, driver),
	S(ctl_card_info, name), S(ctl_card_info, longname), S(ctl_card_info, mixername),
	S(ctl_card_info, components),
};

static const struct trace_field ctl_elem_list[] = {
	X(ctl_elem_list, offset), D(ctl_elem_list, space), D(ctl_elem_list, used),
	D(ctl_elem_list, count), X(ctl_elem_list, pids),
};

const struct trace_fields trace_fields_sound[] = {
	TRACE_FIELDS(SNDRV_PCM_IOCTL_INFO, pcm_info),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_HW_PARAMS, pcm_hw_params),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_HW_REFINE, pcm_hw_params),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_SW_PARAMS, pcm_sw_params),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_STATUS, pcm_status),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_WRITEI_FRAMES, xferi),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_READI_FRAMES, xferi),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_WRITEN_FRAMES, xfern),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_READN_FRAMES, xfern),
	TRACE_FIELDS(SNDRV_PCM_IOCTL_CHANNEL_INFO, pcm_channel_info),
	TRACE_FIELDS(SNDRV_CTL_IOCTL_CARD_INFO, ctl_card_info),
	TRACE_FIELDS(SNDRV_CTL_IOCTL_ELEM_LIST, ctl_elem_list),
	{ NULL }
};
