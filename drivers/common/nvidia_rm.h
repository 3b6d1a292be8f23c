/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's resource manager (RM): the ioctls of /dev/nvidiactl that hosts issue themselves. A
 * program has a client there, with a tree of objects below it. All have 32-bit handles; the
 * handle of an object is valid within its client. An ioctl that RM has handled returns 0, and
 * @status says whether the request succeeded.
 */
#ifndef VGPU_NVIDIA_RM_H
#define VGPU_NVIDIA_RM_H

#include <linux/errno.h>
#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#include <stdbool.h>
#endif

#define RM_MAJOR	195
#define RM_MINOR_CARDS	247	/* minor of the last card; NV_MINOR_DEVICE_NUMBER_REGULAR_MAX */
#define RM_MINOR_CTL	255	/* nvidiactl */

/* Maximum number of cards in RM, so the numbers of devices are below. */
#define RM_DEVICES	32

#define RM_CLASS_SYSTEM		0x003e	/* system memory */
#define RM_CLASS_CLIENT		0x0041
#define RM_CLASS_DEVICE		0x0080
#define RM_CLASS_SUBDEVICE	0x2080
#define RM_CLASS_GROUP		0xa06c	/* group of channels */

/* Statuses of RM that the callers distinguish. */
#define RM_OK				0x00
#define RM_BUSY_RETRY			0x03
#define RM_CARD_NOT_PRESENT		0x05
#define RM_GPU_IS_LOST			0x0f
#define RM_INSUFFICIENT_RESOURCES	0x1a
#define RM_INSUFFICIENT_PERMISSIONS	0x1b
#define RM_INVALID_CLIENT		0x23
#define RM_INVALID_OBJECT		0x31
#define RM_INVALID_OBJECT_HANDLE	0x33
#define RM_INVALID_OBJECT_OLD		0x35
#define RM_NO_MEMORY			0x51
#define RM_NOT_SUPPORTED		0x56
#define RM_OBJECT_NOT_FOUND		0x57
#define RM_TIMEOUT			0x65
#define RM_RESET_REQUIRED		0x62

struct rm_alloc {
	__u32 client;
	__u32 parent;
	__u32 object;	/* 0: RM chooses */
	__u32 class;
	__u64 params;
	__u64 rights;
	__u32 params_size;
	__u32 flags;
	__u32 status;
	__u32 reserved;
};

/*
 * Argument of RM_IOCTL_ALLOC_MEMORY, issued on the file of a card: allocates system memory, and
 * may prepare a mapping of the memory for a control file.
 */
struct rm_alloc_memory {
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 class;
	__u32 flags;
	__u32 reserved;
	__u64 addr;
	__u64 limit;	/* last byte of the memory */
	__u32 status;
	__u32 reserved2;
	__s32 fd;
	__u32 reserved3;
};

#define RM_ALLOC_FD	48	/* offset of @fd */
/* Bits of @flags that keep RM from preparing a mapping for the file. */
#define RM_ALLOC_MASK		0x00030000U
#define RM_ALLOC_NONE		0x00010000U
#define RM_ALLOC_MAPPING_MASK	0xc0000000U
#define RM_ALLOC_NO_MAP		0x40000000U

struct rm_device {
	__u32 number;
	__u32 client_share;
	__u32 target_client;
	__u32 target_device;
	__u32 flags;
	__u32 reserved;
	__u64 va_space_size;
	__u64 va_start;
	__u64 va_limit;
	__u32 va_mode;
	__u32 reserved2;
};

struct rm_subdevice {
	__u32 number;
};

/* Parameters of RM_CLASS_SYSTEM and of other memory classes. */
struct rm_memory_params {
	__u32 owner;
	__u32 type;
	__u32 flags;
	__u32 width;
	__u32 height;
	__s32 pitch;
	__u32 attr;
	__u32 attr2;
	__u32 format;
	__u32 compression;
	__u32 z_culling;
	__u32 reserved;
	__u64 range_first;
	__u64 range_last;
	__u64 size;
	__u64 alignment;
	__u64 offset;
	__u64 limit;
	__u64 addr;
	__u32 tag_offset;
	__u32 va_space;
	__u32 internal_flags;
	__u32 tag;
	__s32 numa_node;
	__u32 reserved2;
};

/* @attr of cached system memory that may be in scattered pages. */
#define RM_ATTR_SYSTEM	0x2a000000U

struct rm_free {
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 status;
};

/*
 * Argument of RM_IOCTL_FREE that frees nothing, because no object has number 0. RM answers RM_OK if
 * the client belongs to the file, and an error if it does not or does not exist (tried with release
 * 580).
 */
#define RM_FREE_NOTHING(owner)	{ .client = (owner), .status = ~0U }

struct rm_dup {
	__u32 client;
	__u32 parent;
	__u32 object;	/* 0: RM chooses */
	__u32 from_client;
	__u32 from_object;
	__u32 flags;
	__u32 status;
};

/*
 * Argument of RM_IOCTL_SHARE. An object may be duplicated by the process that has made its
 * client, by default, and by clients with which the object is shared. RM up to release 595 does
 * not check whether the caller may share the object.
 */
struct rm_share {
	__u32 client;
	__u32 object;
	__u32 with_client;
	__u32 rights;
	__u16 with;
	__u8 how;
	__u8 reserved;
	__u32 status;
};

#define RM_SHARE_RIGHT_DUP	1U
#define RM_SHARE_WITH_CLIENT	3
#define RM_SHARE_WITH_PROCESS	4
#define RM_SHARE_HOW_REVOKE	1	/* ends all sharing, also the default one */
#define RM_SHARE_HOW_ADD	4

/*
 * Argument of RM_IOCTL_MAP: prepares a mapping. A file of the device, or a control file for
 * system memory, shows the mapping at its offset 0 from then on.
 */
struct rm_map {
	__u32 client;
	__u32 device;
	__u32 memory;
	__u32 reserved;
	__u64 offset;
	__u64 len;
	__u64 addr;	/* out: identifies the mapping */
	__u32 status;
	__u32 flags;
	__s32 fd;
	__u32 reserved2;
};

#define RM_MAP_FD	48	/* offset of @fd */
/* Bits of @flags in which RM returns the cache attribute. */
#define RM_MAP_CACHING	(7U << 23)

/*
 * Find out if an RM_IOCTL_ALLOC_MEMORY, as answered by RM, has prepared a mapping for a file.
 * If so, @map is filled in as if RM_IOCTL_MAP had done it (RmIoctl() of release 595).
 *
 * Return: true if there is a mapping.
 */
static inline bool rm_alloc_maps(const struct rm_alloc_memory *args, struct rm_map *map)
{
	if (args->status || args->class != RM_CLASS_SYSTEM ||
	    (args->flags & RM_ALLOC_MASK) == RM_ALLOC_NONE ||
	    (args->flags & RM_ALLOC_MAPPING_MASK) == RM_ALLOC_NO_MAP || args->limit == ~0ULL)
		return false;
	*map = (struct rm_map) {
		.client = args->client,
		.device = args->parent,
		.memory = args->object,
		.len = args->limit + 1,
	};
	return true;
}

struct rm_unmap {
	__u32 client;
	__u32 device;
	__u32 memory;
	__u32 reserved;
	__u64 addr;
	__u32 status;
	__u32 flags;
};

struct rm_control {
	__u32 client;
	__u32 object;
	__u32 cmd;
	__u32 flags;
	__u64 params;
	__u32 params_size;
	__u32 status;
};

/*
 * RM_IOCTL_CONTROL command that duplicates an object; the duplicate belongs to @file until the
 * file is closed. All such duplicates are objects of RM itself, in one client for all programs.
 * RM makes this client with the first duplicate, for the calling process, and frees it with the
 * last one (rmobjexportimport.c of release 595).
 */
#define RM_CMD_EXPORT	0x3d05

struct rm_export {
	__u32 type;
	__u32 device;
	__u32 parent;
	__u32 object;
	__s32 file;	/* fd of nvidiactl, not used for anything before */
	__u32 flags;
};

#define RM_EXPORT_OBJECT	1	/* the only @type */

/* Return: true if objects of the class are channels, by which programs give a card work. */
static inline bool rm_is_channel(__u32 class)
{
	return (class & 0xff) == 0x6f;
}

/* RM_IOCTL_CONTROL commands by which a group of channels, or a channel, starts to run. */
#define RM_CMD_SCHEDULE_GROUP	0xa06c0101U
#define RM_CMD_SCHEDULE_CHANNEL	0xa06f0103U
/*
 * RM_IOCTL_CONTROL command of a subdevice: takes channels of the client off the card, whatever
 * they do, or lets them run again. What a channel does is not lost.
 */
#define RM_CMD_SWITCH_CHANNELS	0x2080110bU
#define RM_SWITCH_MAX		64

struct rm_switch_channels {
	__u8 off;
	__u8 reserved[3];
	__u32 nr;
	__u8 only_later;
	__u8 rewind;
	__u8 reserved2[6];
	__u64 event;
	__u32 clients[RM_SWITCH_MAX];
	__u32 channels[RM_SWITCH_MAX];
};

/*
 * RM_IOCTL_CONTROL command of a subdevice: reads which processes the card has worked for. RM keeps
 * samples of the last ten seconds. @pid is the process for which the engine worked when the sample
 * was taken, or -1, and @used the part of the time that the engine has worked for any process since
 * the last sample, in 1/10000.
 */
#define RM_CMD_SAMPLES		0x20802096U
#define RM_SAMPLES_USED		2	/* the only @type used here */
#define RM_SAMPLES		72
#define RM_SAMPLE_ENGINES	6
#define RM_SAMPLE_GRAPHICS	1	/* the engine that runs kernels */

struct rm_sample_engine {
	__u32 used;
	__u32 scale;
	__u32 pid;
	__u32 pid_in_vm;
	__u8 name[100];
	__u32 reserved;
	__u64 kernel_pid;
};

struct rm_sample {
	__u64 time;	/* nanoseconds; 0: not taken yet */
	struct rm_sample_engine engines[RM_SAMPLE_ENGINES];
};

struct rm_samples {
	__u8 type;
	__u8 reserved[3];
	__u32 size;	/* of @samples, in bytes */
	__u32 nr;
	__u32 oldest;
	struct rm_sample samples[RM_SAMPLES];
};

/*
 * Argument of RM_IOCTL_REGISTER: ties a file to a file of nvidiactl, which is released only after
 * the tied file.
 */
struct rm_register {
	__s32 control;
};

#define RM_IOCTL_REGISTER _IOWR('F', 0xc9, struct rm_register)
#define RM_IOCTL_ALLOC_MEMORY _IOWR('F', 0x27, struct rm_alloc_memory)
#define RM_IOCTL_FREE	_IOWR('F', 0x29, struct rm_free)
#define RM_IOCTL_CONTROL _IOWR('F', 0x2a, struct rm_control)
#define RM_IOCTL_ALLOC	_IOWR('F', 0x2b, struct rm_alloc)
#define RM_IOCTL_DUP	_IOWR('F', 0x34, struct rm_dup)
#define RM_IOCTL_SHARE	_IOWR('F', 0x35, struct rm_share)
#define RM_IOCTL_MAP	_IOWR('F', 0x4e, struct rm_map)
#define RM_IOCTL_UNMAP	_IOWR('F', 0x4f, struct rm_unmap)

/* Translate a status of RM. Return: 0 or a negative errno. */
static inline int rm_errno(__u32 status)
{
	switch (status) {
	case RM_OK:
		return 0;
	case RM_INSUFFICIENT_PERMISSIONS:
		return -EACCES;
	case RM_INVALID_CLIENT:
	case RM_INVALID_OBJECT:
	case RM_INVALID_OBJECT_HANDLE:
	case RM_INVALID_OBJECT_OLD:
	case RM_OBJECT_NOT_FOUND:
		return -ENOENT;
	case RM_INSUFFICIENT_RESOURCES:
	case RM_NO_MEMORY:
		return -ENOMEM;
	case RM_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case RM_CARD_NOT_PRESENT:
	case RM_GPU_IS_LOST:
	case RM_RESET_REQUIRED:
		return -ENODEV;
	case RM_BUSY_RETRY:
	case RM_TIMEOUT:
		return -EAGAIN;
	default:
		return -EINVAL;
	}
}

static_assert(sizeof(struct rm_register) == 4, "the driver's size");
static_assert(sizeof(struct rm_free) == 16, "the driver's size");
static_assert(sizeof(struct rm_alloc) == 48, "the driver's size");
static_assert(sizeof(struct rm_alloc_memory) == 56, "the driver's size");
static_assert(__builtin_offsetof(struct rm_alloc_memory, fd) == RM_ALLOC_FD, "the driver's place");
static_assert(sizeof(struct rm_device) == 56, "the driver's size");
static_assert(sizeof(struct rm_memory_params) == 128, "the driver's size");
static_assert(sizeof(struct rm_control) == 32, "the driver's size");
static_assert(sizeof(struct rm_export) == 24, "the driver's size");
static_assert(sizeof(struct rm_samples) == 55888, "the driver's size");
static_assert(sizeof(struct rm_switch_channels) == 536, "the driver's size");
static_assert(sizeof(struct rm_dup) == 28, "the driver's size");
static_assert(sizeof(struct rm_share) == 24, "the driver's size");
static_assert(sizeof(struct rm_map) == 56, "the driver's size");
static_assert(sizeof(struct rm_unmap) == 32, "the driver's size");
static_assert(__builtin_offsetof(struct rm_map, fd) == RM_MAP_FD, "the driver's place");

#endif /* VGPU_NVIDIA_RM_H */
