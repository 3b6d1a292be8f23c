/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user interfaces that the schemas describe, with definitions that are newer than the
 * oldest supported kernel headers. A guest knows an ioctl by its own table, not by its kernel:
 * the program and the host may be newer.
 */
#ifndef VGPU_SCHEMA_UAPI_H
#define VGPU_SCHEMA_UAPI_H

/* User space gets the types of drm.h from libdrm or from the kernel's headers. */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <drm/virtgpu_drm.h>
#include <drm/nouveau_drm.h>
#include <drm/amdgpu_drm.h>
#include <drm/panfrost_drm.h>
/* Headers that the oldest kernel lacks: Kbuild finds out if they are there (6.8, 6.10). */
#if !defined(__KERNEL__) || defined(VGPU_HAVE_XE)
#include <drm/xe_drm.h>
#endif
#if !defined(__KERNEL__) || defined(VGPU_HAVE_PANTHOR)
#include <drm/panthor_drm.h>
#endif
#ifdef __KERNEL__
/* The kernel has other headers of the same names. */
#include <uapi/drm/i915_drm.h>
#include <uapi/linux/dma-buf.h>
#include <uapi/linux/dma-heap.h>
#include <uapi/linux/sync_file.h>
#include <uapi/linux/udmabuf.h>
#else
#include <drm/i915_drm.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>
#endif
#include <linux/media.h>
#include <linux/videodev2.h>
#include <sound/asound.h>

#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD	/* 6.6 */
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define DRM_IOCTL_SYNCOBJ_EVENTFD	DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

#ifndef DRM_IOCTL_MODE_CLOSEFB		/* 6.8 */
struct drm_mode_closefb {
	__u32 fb_id;
	__u32 pad;
};

#define DRM_IOCTL_MODE_CLOSEFB		DRM_IOWR(0xD0, struct drm_mode_closefb)
#endif

#ifndef DRM_IOCTL_SET_CLIENT_NAME	/* 6.13 */
struct drm_set_client_name {
	__u64 name_len;
	__u64 name;
};

#define DRM_IOCTL_SET_CLIENT_NAME	DRM_IOWR(0xD1, struct drm_set_client_name)
#endif

#ifndef DRM_IOCTL_GEM_CHANGE_HANDLE	/* 6.18 */
struct drm_gem_change_handle {
	__u32 handle;
	__u32 new_handle;
};

#define DRM_IOCTL_GEM_CHANGE_HANDLE	DRM_IOWR(0xD2, struct drm_gem_change_handle)
#endif

#ifndef DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE	/* 6.6 */
#define DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE	BIT(3)
#endif

/* Current struct drm_syncobj_wait and struct drm_syncobj_timeline_wait, which grew in 6.6. */
struct vgpu_syncobj_wait {
	__u64 handles;
	__s64 timeout_nsec;
	__u32 count_handles;
	__u32 flags;
	__u32 first_signaled;
	__u32 pad;
	__u64 deadline_nsec;
};

struct vgpu_syncobj_timeline_wait {
	__u64 handles;
	__u64 points;
	__s64 timeout_nsec;
	__u32 count_handles;
	__u32 flags;
	__u32 first_signaled;
	__u32 pad;
	__u64 deadline_nsec;
};

#ifndef SYNC_IOC_SET_DEADLINE		/* 6.6 */
struct sync_set_deadline {
	__u64 deadline_ns;
	__u64 pad;
};

#define SYNC_IOC_SET_DEADLINE		_IOW(SYNC_IOC_MAGIC, 5, struct sync_set_deadline)
#endif

#ifndef VIDIOC_REMOVE_BUFS		/* 6.10 */
struct v4l2_remove_buffers {
	__u32 index;
	__u32 count;
	__u32 type;
	__u32 reserved[13];
};

#define VIDIOC_REMOVE_BUFS		_IOWR('V', 104, struct v4l2_remove_buffers)
#endif

#ifndef DRM_IOCTL_NOUVEAU_GETPARAM	/* 6.6; older: in the driver, and in libdrm */
struct drm_nouveau_getparam {
	__u64 param;
	__u64 value;
};

struct drm_nouveau_channel_alloc {
	__u32 fb_ctxdma_handle;
	__u32 tt_ctxdma_handle;
	__s32 channel;
	__u32 pushbuf_domains;
	__u32 notifier_handle;
	struct {
		__u32 handle;
		__u32 grclass;
	} subchan[8];
	__u32 nr_subchan;
};

struct drm_nouveau_channel_free {
	__s32 channel;
};

#define DRM_IOCTL_NOUVEAU_GETPARAM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_GETPARAM, struct drm_nouveau_getparam)
#define DRM_IOCTL_NOUVEAU_CHANNEL_ALLOC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_CHANNEL_ALLOC, struct drm_nouveau_channel_alloc)
#define DRM_IOCTL_NOUVEAU_CHANNEL_FREE \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_CHANNEL_FREE, struct drm_nouveau_channel_free)
#endif

/* Structs of nouveau's ioctls that have a number but no command in its header. */
struct vgpu_nouveau_grobj_alloc {
	__s32 channel;
	__u32 handle;
	__s32 class;
};

struct vgpu_nouveau_notifierobj_alloc {
	__u32 channel;
	__u32 handle;
	__u32 size;
	__u32 offset;
};

struct vgpu_nouveau_gpuobj_free {
	__s32 channel;
	__u32 handle;
};

/* Common beginning of all messages. */
struct vgpu_nouveau_nvif {
	__u8 version;
	__u8 type;
	__u8 pad[4];
	__u8 owner;
	__u8 route;
	__u64 token;
	__u64 object;
};

#define VGPU_NOUVEAU_GROBJ_ALLOC \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GROBJ_ALLOC, struct vgpu_nouveau_grobj_alloc)
#define VGPU_NOUVEAU_NOTIFIEROBJ_ALLOC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_NOTIFIEROBJ_ALLOC, \
		 struct vgpu_nouveau_notifierobj_alloc)
#define VGPU_NOUVEAU_GPUOBJ_FREE \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GPUOBJ_FREE, struct vgpu_nouveau_gpuobj_free)
#define VGPU_NOUVEAU_NVIF \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_NVIF, struct vgpu_nouveau_nvif)

/* Structs of 32-bit programs, whose size_t and pointers have half the size. */
struct drm_version32 {
	__s32 version[3];
	__u32 name_len;
	__u32 name;
	__u32 date_len;
	__u32 date;
	__u32 desc_len;
	__u32 desc;
};

struct drm_unique32 {
	__u32 unique_len;
	__u32 unique;
};

struct drm_client32 {
	__s32 idx;
	__s32 auth;
	__u32 pid;
	__u32 uid;
	__u32 magic;
	__u32 iocs;
};

#define DRM_IOCTL_GET_CLIENT32	DRM_IOWR(0x05, struct drm_client32)
union drm_wait_vblank32 {
	struct {
		__u32 type;
		__u32 sequence;
		__u32 signal;
	} request;
	struct {
		__u32 type;
		__u32 sequence;
		__s32 tval_sec;
		__s32 tval_usec;
	} reply;
};

#define DRM_IOCTL_VERSION32	DRM_IOWR(0x00, struct drm_version32)
#define DRM_IOCTL_GET_UNIQUE32	DRM_IOWR(0x01, struct drm_unique32)
#define DRM_IOCTL_WAIT_VBLANK32	DRM_IOWR(0x3a, union drm_wait_vblank32)

struct v4l2_plane32 {
	__u32 bytesused;
	__u32 length;
	union {
		__u32 mem_offset;
		__u32 userptr;
		__s32 fd;
	} m;
	__u32 data_offset;
	__u32 reserved[11];
};

union v4l2_buffer32_m {
	__u32 offset;
	__u32 userptr;
	__u32 planes;
	__s32 fd;
};

/* The structs of 32-bit programs have 64-bit times with glibc 2.34 or later, if requested. */
struct v4l2_buffer32 {
	__u32 index;
	__u32 type;
	__u32 bytesused;
	__u32 flags;
	__u32 field;
	__u32 timestamp[4];
	struct v4l2_timecode timecode;
	__u32 sequence;
	__u32 memory;
	union v4l2_buffer32_m m;
	__u32 length;
	__u32 reserved2;
	__s32 request_fd;
};

struct v4l2_buffer32_time32 {
	__u32 index;
	__u32 type;
	__u32 bytesused;
	__u32 flags;
	__u32 field;
	__u32 timestamp[2];
	struct v4l2_timecode timecode;
	__u32 sequence;
	__u32 memory;
	union v4l2_buffer32_m m;
	__u32 length;
	__u32 reserved2;
	__s32 request_fd;
};

/* Events of 32-bit programs, with 64-bit times and with 32-bit times. */
struct v4l2_event32 {
	__u32 type;
	__u32 u[16];
	__u32 pending;
	__u32 sequence;
	__u32 timestamp[4];
	__u32 id;
	__u32 reserved[8];
};

struct v4l2_event32_time32 {
	__u32 type;
	__u32 u[16];
	__u32 pending;
	__u32 sequence;
	__u32 timestamp[2];
	__u32 id;
	__u32 reserved[8];
};

struct v4l2_create_buffers32 {
	__u32 index;
	__u32 count;
	__u32 memory;
	__u32 format[51];
	__u32 capabilities;
	__u32 flags;
	__u32 reserved[6];
};

struct v4l2_ext_control32 {
	__u32 id;
	__u32 size;
	__u32 reserved2;
	__u32 ptr;
	__u32 value64_high;
};

struct v4l2_ext_controls32 {
	__u32 which;
	__u32 count;
	__u32 error_idx;
	__s32 request_fd;
	__u32 reserved;
	__u32 controls;
};

#define VIDIOC_QUERYBUF32		_IOWR('V', 9, struct v4l2_buffer32)
#define VIDIOC_QUERYBUF32_TIME32	_IOWR('V', 9, struct v4l2_buffer32_time32)
#define VIDIOC_QBUF32			_IOWR('V', 15, struct v4l2_buffer32)
#define VIDIOC_QBUF32_TIME32		_IOWR('V', 15, struct v4l2_buffer32_time32)
#define VIDIOC_DQBUF32			_IOWR('V', 17, struct v4l2_buffer32)
#define VIDIOC_DQBUF32_TIME32		_IOWR('V', 17, struct v4l2_buffer32_time32)
#define VIDIOC_G_EXT_CTRLS32		_IOWR('V', 71, struct v4l2_ext_controls32)
#define VIDIOC_S_EXT_CTRLS32		_IOWR('V', 72, struct v4l2_ext_controls32)
#define VIDIOC_TRY_EXT_CTRLS32		_IOWR('V', 73, struct v4l2_ext_controls32)
#define VIDIOC_DQEVENT32		_IOR('V', 89, struct v4l2_event32)
#define VIDIOC_DQEVENT32_TIME32		_IOR('V', 89, struct v4l2_event32_time32)
#define VIDIOC_CREATE_BUFS32		_IOWR('V', 92, struct v4l2_create_buffers32)
#define VIDIOC_PREPARE_BUF32		_IOWR('V', 93, struct v4l2_buffer32)
#define VIDIOC_PREPARE_BUF32_TIME32	_IOWR('V', 93, struct v4l2_buffer32_time32)

/*
 * Status of ALSA with 64-bit times. The kernel has no definition of struct snd_pcm_status, and
 * in C libraries the size of its times varies.
 */
struct vgpu_pcm_status {
	__s32 state;
	__u32 pad;
	__s64 trigger_tstamp[2];
	__s64 tstamp[2];
	__u64 frames[6];
	__s32 suspended_state;
	__u32 audio_tstamp_data;
	__s64 audio_tstamp[2];
	__s64 driver_tstamp[2];
	__u32 audio_tstamp_accuracy;
	__u8 reserved[20];
};

/* Status of 32-bit programs, with 64-bit times and with 32-bit times. */
struct vgpu_pcm_status32 {
	__s32 state;
	__u32 pad;
	__u32 trigger_tstamp[4];
	__u32 tstamp[4];
	__u32 frames[6];
	__s32 suspended_state;
	__u32 audio_tstamp_data;
	__u32 audio_tstamp[4];
	__u32 driver_tstamp[4];
	__u32 audio_tstamp_accuracy;
	__u8 reserved[20];
};

struct vgpu_pcm_status32_time32 {
	__s32 state;
	__s32 trigger_tstamp[2];
	__s32 tstamp[2];
	__u32 frames[6];
	__s32 suspended_state;
	__u32 audio_tstamp_data;
	__s32 audio_tstamp[2];
	__s32 driver_tstamp[2];
	__u32 audio_tstamp_accuracy;
	__u8 reserved[36];
};

/* Argument of SYNC_PTR with 64-bit times, also of 32-bit programs. */
struct vgpu_pcm_sync_ptr {
	__u32 flags;
	__u32 pad;
	__s32 state;
	__s32 pad1;
	__u64 hw_ptr;
	__s64 tstamp[2];
	__u8 rest[96];
};

struct vgpu_pcm_sync_ptr32_time32 {
	__u32 flags;
	__s32 state;
	__s32 pad1;
	__u32 hw_ptr;
	__s32 tstamp[2];
	__u8 rest[108];
};

struct vgpu_pcm_sw_params32 {
	__s32 tstamp_mode;
	__u32 period_step;
	__u32 sleep_min;
	__u32 frames[7];
	__u32 proto;
	__u32 tstamp_type;
	__u8 reserved[56];
};

#define VGPU_PCM_SW_PARAMS32		_IOWR('A', 0x13, struct vgpu_pcm_sw_params32)
#define VGPU_PCM_STATUS			_IOR('A', 0x20, struct vgpu_pcm_status)
#define VGPU_PCM_STATUS32		_IOR('A', 0x20, struct vgpu_pcm_status32)
#define VGPU_PCM_STATUS32_TIME32	_IOR('A', 0x20, struct vgpu_pcm_status32_time32)
#define VGPU_PCM_SYNC_PTR		_IOWR('A', 0x23, struct vgpu_pcm_sync_ptr)
#define VGPU_PCM_SYNC_PTR32_TIME32	_IOWR('A', 0x23, struct vgpu_pcm_sync_ptr32_time32)
#define VGPU_PCM_STATUS_EXT		_IOWR('A', 0x24, struct vgpu_pcm_status)
#define VGPU_PCM_STATUS_EXT32		_IOWR('A', 0x24, struct vgpu_pcm_status32)
#define VGPU_PCM_STATUS_EXT32_TIME32	_IOWR('A', 0x24, struct vgpu_pcm_status32_time32)

/* Current struct drm_virtgpu_execbuffer, which grew in 6.6. */
struct vgpu_virtgpu_execbuffer {
	__u32 flags;
	__u32 size;
	__u64 command;
	__u64 bo_handles;
	__u32 num_bo_handles;
	__s32 fence_fd;
	__u32 ring_idx;
	__u32 syncobj_stride;
	__u32 num_in_syncobjs;
	__u32 num_out_syncobjs;
	__u64 in_syncobjs;
	__u64 out_syncobjs;
};

/* VIRTGPU_CONTEXT_PARAM_DEBUG_NAME (6.12): a string of at most 63 bytes. */
#define VGPU_VIRTGPU_DEBUG_NAME		4
#define VGPU_VIRTGPU_DEBUG_NAME_LEN	64

/* Capability sets of contexts other than virgl's, with the names in newer headers. */
#define VGPU_VIRTGPU_CAPSET_GFXSTREAM	3
#define VGPU_VIRTGPU_CAPSET_VENUS	4
#define VGPU_VIRTGPU_CAPSET_CROSS	5
#define VGPU_VIRTGPU_CAPSET_DRM		6

#endif /* VGPU_SCHEMA_UAPI_H */
