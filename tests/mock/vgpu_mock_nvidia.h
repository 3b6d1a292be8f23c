/* SPDX-License-Identifier: GPL-2.0-only */
/* The ioctls of a stand-in for NVIDIA's driver. */
#ifndef VGPU_MOCK_NVIDIA_H
#define VGPU_MOCK_NVIDIA_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_MOCK_NVIDIA_NAME	32

/**
 * struct vgpu_mock_nvidia - which node it is
 * @value: becomes its complement
 * @name: address of VGPU_MOCK_NVIDIA_NAME bytes that get the name of the node
 */
struct vgpu_mock_nvidia {
	__u64 value;
	__u64 name;
};

#define VGPU_MOCK_NVIDIA_IOC	_IOWR('V', 0xe0, struct vgpu_mock_nvidia)

/*
 * As the driver has them: it goes by number and size alone. REGISTER: the control file, else
 * EINVAL. CONTROL: each byte of the parameters becomes its complement, and the status 0. XFER:
 * as the ioctl in it. VERSION: EINVAL for any version but VGPU_MOCK_NVIDIA_IS, which takes its
 * place.
 */
#define VGPU_MOCK_NVIDIA_REGISTER	_IOWR('F', 0xc9, __s32)
#define VGPU_MOCK_NVIDIA_CONTROL	_IOWR('F', 0x2a, struct vgpu_mock_nvidia_control)
#define VGPU_MOCK_NVIDIA_XFER		_IOWR('F', 0xd3, struct vgpu_mock_nvidia_xfer)

#define VGPU_MOCK_NVIDIA_VERSION	_IOWR('F', 0xd2, struct vgpu_mock_nvidia_version)

/* UVM_INITIALIZE: the flags stay, and the status has those that the driver saw. */
#define VGPU_MOCK_NVIDIA_UVM_INIT	0x30000001
/* Nothing happens. */
#define VGPU_MOCK_NVIDIA_UVM_POOL	0x44

#define VGPU_MOCK_NVIDIA_IS	"580.1.2"
#define VGPU_MOCK_NVIDIA_PARAMS	64	/* bytes at most */

struct vgpu_mock_nvidia_control {
	__u32 client;
	__u32 object;
	__u32 cmd;
	__u32 flags;
	__u64 params;
	__u32 size;
	__u32 status;
};

struct vgpu_mock_nvidia_xfer {
	__u32 nr;
	__u32 size;
	__u64 arg;
};

struct vgpu_mock_nvidia_uvm_init {
	__u64 flags;
	__u32 status;
	__u32 pad;
};

struct vgpu_mock_nvidia_uvm_pool {
	__u64 base;
	__u8 rest[9240];
};

struct vgpu_mock_nvidia_version {
	__u32 cmd;
	__u32 reply;
	char version[64];
};

/*
 * What no guest may ask for, in lists and places of its own: commands of CONTROL, objects of one
 * class, and sharing with a client.
 */
#define VGPU_MOCK_NVIDIA_DENIED { \
	0x00000b03, 0x00000b04, 0x2080016e, 0x2080017c, 0x208001af, \
	0x20801349 }

#define VGPU_MOCK_NVIDIA_FLA		0xf3
#define VGPU_MOCK_NVIDIA_ALLOC_CLASS	12
#define VGPU_MOCK_NVIDIA_SHARE_CLIENT	3
#define VGPU_MOCK_NVIDIA_SHARE_WITH	16

/* Arguments of these ioctls as they are here: words. */
struct vgpu_mock_nvidia_words {
	__u32 word[14];
};

#define VGPU_MOCK_NVIDIA_ALLOC_MEMORY	_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x27, 56)
#define VGPU_MOCK_NVIDIA_ALLOC		_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, 32)
#define VGPU_MOCK_NVIDIA_ALLOC_RIGHTS	_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, 48)
#define VGPU_MOCK_NVIDIA_SHARE		_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x35, 24)

/* Memory of the card, in objects of this class; where in their parameters their size is. */
#define VGPU_MOCK_NVIDIA_VIDEO		0x40
#define VGPU_MOCK_NVIDIA_VIDEO_SIZE	64
/* All bytes of memory that is nobody's are this. */
#define VGPU_MOCK_NVIDIA_POISON		0xde

#endif /* VGPU_MOCK_NVIDIA_H */
