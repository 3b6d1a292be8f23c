/* SPDX-License-Identifier: GPL-2.0-only */
/* The ioctls of a stand-in for NVIDIA's driver. */
#ifndef VGPU_MOCK_NVIDIA_H
#define VGPU_MOCK_NVIDIA_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_MOCK_NVIDIA_NAME	32

/**
 * struct vgpu_mock_nvidia - argument of VGPU_MOCK_NVIDIA_IOC, which names the node
 * @value: becomes its complement
 * @name: address of VGPU_MOCK_NVIDIA_NAME bytes that get the name of the node
 */
struct vgpu_mock_nvidia {
	__u64 value;
	__u64 name;
};

#define VGPU_MOCK_NVIDIA_IOC	_IOWR('V', 0xe0, struct vgpu_mock_nvidia)

/**
 * struct vgpu_mock_nvidia_pin - argument of VGPU_MOCK_NVIDIA_PIN
 * @unused: not changed
 *
 * The file pins the page that this structure is in until the file is released. -EBUSY if the file
 * has a pinned page.
 */
struct vgpu_mock_nvidia_pin {
	__u64 unused;
};

#define VGPU_MOCK_NVIDIA_PIN	_IOWR('V', 0xe1, struct vgpu_mock_nvidia_pin)

/**
 * struct vgpu_mock_nvidia_look - argument of VGPU_MOCK_NVIDIA_LOOK, which searches the pinned page
 * @word: word to look for at multiples of 8
 * @out_times: number of places that hold @word
 */
struct vgpu_mock_nvidia_look {
	__u64 word;
	__u64 out_times;
};

#define VGPU_MOCK_NVIDIA_LOOK	_IOWR('V', 0xe2, struct vgpu_mock_nvidia_look)

/* Sleeps until a signal comes. The module's parameter "sleeping" counts the sleeping calls. */
#define VGPU_MOCK_NVIDIA_SLEEP	_IOWR('V', 0xe3, __u64)

/*
 * These commands are the driver's, which looks at their number and size alone. REGISTER takes an
 * fd of the control file; another file gives -EINVAL. CONTROL replaces each byte of the parameters
 * by its complement, and sets the status to 0. XFER runs the ioctl that it holds. VERSION fails
 * with -EINVAL for any version but VGPU_MOCK_NVIDIA_IS, and returns that version.
 */
#define VGPU_MOCK_NVIDIA_REGISTER	_IOWR('F', 0xc9, __s32)
#define VGPU_MOCK_NVIDIA_CONTROL	_IOWR('F', 0x2a, struct vgpu_mock_nvidia_control)
#define VGPU_MOCK_NVIDIA_XFER		_IOWR('F', 0xd3, struct vgpu_mock_nvidia_xfer)

#define VGPU_MOCK_NVIDIA_VERSION	_IOWR('F', 0xd2, struct vgpu_mock_nvidia_version)

/* UVM_INITIALIZE: the driver copies the flags to the status. */
#define VGPU_MOCK_NVIDIA_UVM_INIT	0x30000001
/* This command does nothing. */
#define VGPU_MOCK_NVIDIA_UVM_POOL	0x44

#define VGPU_MOCK_NVIDIA_IS	"580.1.2"
#define VGPU_MOCK_NVIDIA_PARAMS	64	/* largest size of CONTROL's parameters */

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
 * Requests that no guest may make: commands of CONTROL, objects of three classes, and sharing with
 * a client.
 */
#define VGPU_MOCK_NVIDIA_DENIED { \
	0x00000b03, 0x00000b04, 0x2080016e, 0x2080017c, 0x208001af, \
	0x20801349, 0x2080111a, 0x2080111b, 0x20801115, 0x20801121, 0xa06c0110 }

#define VGPU_MOCK_NVIDIA_FLA		0xf3
#define VGPU_MOCK_NVIDIA_MULTICAST	0xfd
/* Guests may allocate this class by ALLOC_MEMORY, but not by ALLOC. */
#define VGPU_MOCK_NVIDIA_OS_DESCRIPTOR	0x71
#define VGPU_MOCK_NVIDIA_ALLOC_CLASS	12
#define VGPU_MOCK_NVIDIA_SHARE_CLIENT	3
#define VGPU_MOCK_NVIDIA_SHARE_WITH	16

/* The argument of each of the ioctls below, as words; their layouts are the driver's. */
struct vgpu_mock_nvidia_words {
	__u32 word[14];
};

#define VGPU_MOCK_NVIDIA_ALLOC_MEMORY	_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x27, 56)
#define VGPU_MOCK_NVIDIA_ALLOC		_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, 32)
#define VGPU_MOCK_NVIDIA_ALLOC_RIGHTS	_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, 48)
#define VGPU_MOCK_NVIDIA_SHARE		_IOC(_IOC_READ | _IOC_WRITE, 'F', 0x35, 24)

/*
 * These ioctls and commands return the card's PCI address. The parameters of a command have the
 * size of its struct. BUS_GET_INFO has a pointer to its list, _V2 contains the list.
 */
#define VGPU_MOCK_NVIDIA_CARDS		32
#define VGPU_MOCK_NVIDIA_INFOS		52
#define VGPU_MOCK_NVIDIA_CARD_INFO	_IOWR('F', 0xc8, struct vgpu_mock_nvidia_card_info)
#define VGPU_MOCK_NVIDIA_STATUS_CODE	_IOWR('F', 0xd1, struct vgpu_mock_nvidia_status_code)
#define VGPU_MOCK_NVIDIA_GET_PCI_INFO	0x21b
#define VGPU_MOCK_NVIDIA_BUS_GET_INFO	0x20801802
#define VGPU_MOCK_NVIDIA_BUS_GET_BFD	0x20801821
#define VGPU_MOCK_NVIDIA_BUS_GET_INFO_V2 0x20801823
#define VGPU_MOCK_NVIDIA_LINK_STATUS	0x20803002

struct vgpu_mock_nvidia_card {
	__u8 valid;
	__u8 pad[3];
	__u32 domain;
	__u8 bus;
	__u8 slot;
	__u8 function;
	__u8 pad2;
	__u16 vendor;
	__u16 device;
	__u32 id;
	__u8 rest[52];
};

struct vgpu_mock_nvidia_card_info {
	struct vgpu_mock_nvidia_card cards[VGPU_MOCK_NVIDIA_CARDS];
};

/* The status is 0 for the card's address, else VGPU_MOCK_NVIDIA_NO_CARD. */
struct vgpu_mock_nvidia_status_code {
	__u32 domain;
	__u8 bus;
	__u8 slot;
	__u8 pad[2];
	__u32 status;
};

#define VGPU_MOCK_NVIDIA_NO_CARD	0x1f

struct vgpu_mock_nvidia_pci_info {
	__u32 id;
	__u32 domain;
	__u16 bus;
	__u16 slot;
};

/* The driver sets @data of elements with these indices, and leaves other elements alone. */
#define VGPU_MOCK_NVIDIA_INFO_BUS	0xf
#define VGPU_MOCK_NVIDIA_INFO_DEVICE	0x10
#define VGPU_MOCK_NVIDIA_INFO_DOMAIN	0x2c

struct vgpu_mock_nvidia_info {
	__u32 index;
	__u32 data;
};

struct vgpu_mock_nvidia_bus_info {
	__u32 count;
	__u32 pad;
	__u64 list;
};

struct vgpu_mock_nvidia_bus_info_v2 {
	__u32 count;
	struct vgpu_mock_nvidia_info list[VGPU_MOCK_NVIDIA_INFOS];
};

/* The first device is the card, the second one a bridge in front of the card, in another slot. */
struct vgpu_mock_nvidia_bfd {
	struct {
		__u8 valid;
		__u8 pad;
		__u16 device_id;
		__u16 vendor_id;
		__u16 pad2;
		__u32 domain;
		__u16 bus;
		__u16 device;
		__u8 function;
		__u8 pad3[3];
	} devices[32];
};

/*
 * The layout is that of driver 580. The first link has the card at both ends; the second link has
 * the card at the local end and a switch at the remote end.
 */
struct vgpu_mock_nvidia_link_end {
	__u32 flags;
	__u32 domain;
	__u16 bus;
	__u16 device;
	__u8 rest[44];
};

struct vgpu_mock_nvidia_links {
	__u8 what[32];
	struct {
		__u8 what[96];
		struct vgpu_mock_nvidia_link_end remote;
		struct vgpu_mock_nvidia_link_end local;
	} links[64];
};

#define VGPU_MOCK_NVIDIA_SWITCH_BUS	0xfe

/*
 * Commands of CONTROL: the processes that have clients, with one entry a client, and the number of
 * clients of a process. Processes are named by their ids in the caller's namespace; processes
 * without an id there are left out.
 */
#define VGPU_MOCK_NVIDIA_GET_PIDS	0x2080018d
#define VGPU_MOCK_NVIDIA_GET_PID_INFO	0x2080018e

struct vgpu_mock_nvidia_pids {
	__u32 of;
	__u32 class;
	__u32 count;
	__u32 pids[950];
};

struct vgpu_mock_nvidia_pid_infos {
	__u32 count;
	__u32 pad;
	struct {
		__u32 pid;
		__u32 index;
		__u32 result;
		__u32 pad;
		__u64 clients;
		__u64 rest[6];
	} infos[200];
};

/*
 * A command of CONTROL: pairs of times, of the card's clock and of one of the processor's. The
 * card's clock is CLOCK_MONOTONIC in nanoseconds here. The processor's is CLOCK_REALTIME in
 * microseconds, its counter, or CLOCK_MONOTONIC_RAW, of which there is one sample, whatever @count.
 */
#define VGPU_MOCK_NVIDIA_GET_TIMES	0x20800406
#define VGPU_MOCK_NVIDIA_REALTIME	1
#define VGPU_MOCK_NVIDIA_TSC		2
#define VGPU_MOCK_NVIDIA_RAW		3
#define VGPU_MOCK_NVIDIA_SAMPLES	16

struct vgpu_mock_nvidia_times {
	__u8 clock;
	__u8 count;
	__u8 pad[6];
	struct {
		__u64 cpu;
		__u64 card;
	} samples[VGPU_MOCK_NVIDIA_SAMPLES];
};

/* A command of CONTROL that no schema describes: the driver reads the number at a pointer. */
#define VGPU_MOCK_NVIDIA_FOLLOW		0x2080fff0

struct vgpu_mock_nvidia_follow {
	__u64 number;
	__u32 out_number;
	__u32 pad;
};

/* Class of the card's memory, and offset of the memory's size in the parameters of ALLOC. */
#define VGPU_MOCK_NVIDIA_VIDEO		0x40
#define VGPU_MOCK_NVIDIA_VIDEO_SIZE	64
/*
 * OS events. The statuses are the driver's, which checks neither the client nor the file when it
 * makes an event. @fd is an fd of the caller.
 */
#define VGPU_MOCK_NVIDIA_ALLOC_OS_EVENT	_IOWR('F', 0xce, struct vgpu_mock_nvidia_os_event)
#define VGPU_MOCK_NVIDIA_FREE_OS_EVENT	_IOWR('F', 0xcf, struct vgpu_mock_nvidia_os_event)

#define VGPU_MOCK_NVIDIA_INVALID_EVENT	0x28

struct vgpu_mock_nvidia_os_event {
	__u32 client;
	__u32 device;
	__u32 fd;
	__u32 status;
};

/*
 * An object of this class lets the OS event of @fd notify the program of events of @source, a
 * subdevice. VGPU_MOCK_NVIDIA_NO_DATA in @index says that no other ioctl fetches the event's data.
 */
#define VGPU_MOCK_NVIDIA_EVENT		0x79
#define VGPU_MOCK_NVIDIA_NO_DATA	0x10000000

struct vgpu_mock_nvidia_event {
	__u32 client;	/* 0: the client that makes the object */
	__u32 source;
	__u32 class;
	__u32 index;
	__u64 fd;
};

/*
 * Commands of CONTROL to a subdevice. NOTIFY turns the notification of events on. TRIGGER, which
 * has no parameters, makes the event of index 0 happen.
 */
#define VGPU_MOCK_NVIDIA_NOTIFY		0x20800301
#define VGPU_MOCK_NVIDIA_NOTIFY_AGAIN	2
#define VGPU_MOCK_NVIDIA_TRIGGER	0x20800302

struct vgpu_mock_nvidia_notify {
	__u32 index;
	__u32 action;
	__u8 state;
	__u8 pad[3];
	__u32 info32;
	__u16 info16;
	__u8 pad2[2];
};

/* Value of all bytes of free memory. */
#define VGPU_MOCK_NVIDIA_POISON		0xde

#endif /* VGPU_MOCK_NVIDIA_H */
