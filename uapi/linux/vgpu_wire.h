/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vgpu wire protocol: the messages between a guest and its host.
 *
 * There are two kinds of stream connections, both opened by the guest:
 *
 * - one *control* connection for each guest: HELLO and WELCOME, then exports, one-way closes
 *   and unmaps, poll events and ping/pong, in both directions;
 * - any number of *lanes*, each carrying one call at a time between one blocked guest thread
 *   and one thread of the session's shadow.
 *
 * Rules for every message:
 *
 * - the message begins with struct vgpu_hdr; hdr.len counts the whole message;
 * - integers are little-endian; all reserved fields and unknown flag bits are zero, and a
 *   receiver that finds otherwise closes the connection;
 * - every fixed part is a multiple of 8 bytes, without implicit padding;
 * - no pointers cross except addresses of the guest process, as __le64.
 *
 * Documentation/internals/protocol.rst describes each message, its sender and its time, and the
 * answer to a malformed one.
 *
 * Changelog
 *  1: first version. Before its first release: INVALIDATE was taken out, which no
 *     host sent and copy mode does not need; REPLY got VGPU_REPLY_LAST; EXPORT_ADD
 *     says which bus the device is on, what it is there, and what V4L2 or ALSA call it;
 *     fixups got TIME and EVENT, operations FDINFO, objects SAME_DEVICE; ioctls of
 *     32-bit processes got room for their segments; an ioctl's argument may be an fd;
 *     POLL adds to what its object is armed for, and POLL_EVENT says poll(2)'s events
 *     only; exports may be media devices, and their rdev is used; WINDOW, UNBIND,
 *     UNBOUND, INVALIDATE and the operation BIND, and a MMAP may name a place in a window;
 *     POLL, IOCTL and POLL_EVENT have a number, POLL_EVENT may be a driver's answer, and
 *     objects may be WATCHED or SIGNALED; EXPORT_CHANGE; BIND's reply has a cache
 *     attribute; ranges may have a mask, and WRITE_PAGES passes over those that cannot be
 *     written; MMAP's reply says VGPU_MAP_ACCESS;
 *     CALL says that the caller is ADMIN; the operation PROTECT;
 *     REPLY has the host's clock, and an ioctl's that of others, if CALL asks for them;
 *     operation CLOCK;
 *     EXPORT_CHANGE may be WEDGED;
 *     EXPORT_FILE;
 *     EVENT may be OVER;
 *     exports may be NVIDIA's, and names of files have ":";
 *     segments may be KEPT, and RELEASE;
 *     MMAP's reply says VGPU_MAP_ASK, and READ_PAGES may be DEBUG;
 *     an ioctl's REPLY has the time-stamp counter, and WELCOME its rate;
 *     feature KEEP_ALONE;
 *     references to objects have numbers, which CLOSE names;
 *     feature ARENA (long messages in a window's memory), its flag in the header, the slots of
 *     WINDOW and the operation ARENA_GET were taken out; their numbers stay reserved;
 *     feature WRITE_NAMED: WRITE may name the program's buffer instead of sending it
 */
#ifndef _UAPI_LINUX_VGPU_WIRE_H
#define _UAPI_LINUX_VGPU_WIRE_H

#include <linux/types.h>

#define VGPU_WIRE_MAGIC		0x75706776	/* "vgpu" */
#define VGPU_WIRE_VERSION	1

/* The vsock port on which a host listens by default. */
#define VGPU_WIRE_PORT		22586

/* Feature bits of HELLO and WELCOME; those of WELCOME are a subset of those of HELLO. */
#define VGPU_FEATURE_DEMAND	(1ULL << 0)	/* FETCH and WRITEBACK upcalls */
#define VGPU_FEATURE_COPY_MMAP	(1ULL << 1)	/* MMAP, READ_PAGES, WRITE_PAGES */
#define VGPU_FEATURE_WINDOW	(1ULL << 2)	/* window messages, MMAP into a window */
#define VGPU_FEATURE_RESERVED	(1ULL << 3)	/* was ARENA; never agreed to */
#define VGPU_FEATURE_KEEP	(1ULL << 4)	/* KEPT segments, and RELEASE */
/* Extends KEEP: while a call has KEPT segments, other calls cannot access the named memory. */
#define VGPU_FEATURE_KEEP_ALONE	(1ULL << 5)
#define VGPU_FEATURE_WRITE_NAMED (1ULL << 6)	/* WRITE without a segment; with DEMAND only */
#define VGPU_FEATURES		(VGPU_FEATURE_DEMAND | VGPU_FEATURE_COPY_MMAP | \
				 VGPU_FEATURE_WINDOW | VGPU_FEATURE_KEEP | \
				 VGPU_FEATURE_KEEP_ALONE | VGPU_FEATURE_WRITE_NAMED)

#define VGPU_NAME_LEN		32		/* export and driver names, with NUL */
#define VGPU_PATH_LEN		64		/* device path, with NUL */
#define VGPU_BUS_ID_LEN		64		/* name on a bus, with NUL */
#define VGPU_TITLE_LEN		64		/* V4L2's or ALSA's name of a node, with NUL */
#define VGPU_PCI_HEADER_LEN	64		/* bytes of PCI configuration space */
#define VGPU_FILE_NAME_LEN	64		/* name of a file of an export, with NUL */
#define VGPU_SECRET_LEN		32
#define VGPU_COMM_LEN		16

/* Upper bounds that no setting can raise; WELCOME may state lower bounds. */
#define VGPU_CONTROL_MSG_MAX	4096		/* any message except those of a lane */
#define VGPU_CALL_BYTES_MAX	(64U << 20)	/* a whole lane message */
/* Minimum of call_bytes_max in WELCOME: both sides move pages in batches. */
#define VGPU_CALL_BYTES_MIN	(512U << 10)
#define VGPU_SEGS_MAX		4096
#define VGPU_FIXUPS_MAX		8192
#define VGPU_FDS_MAX		64		/* fds that one call returns */
#define VGPU_KEPT_MAX		8		/* KEPT segments of a call */
#define VGPU_KEPT_NUMBERS	16384		/* valid numbers of kept memory at a time */
#define VGPU_RANGES_MAX		512		/* ranges of one WRITEBACK */
#define VGPU_PAGE_SIZE		4096		/* unit of FETCH and READ_PAGES */
#define VGPU_FILE_MAX		(64U << 10)	/* bytes of a file of an export */
#define VGPU_FILE_PART		3840		/* bytes of such a file in one message */
#define VGPU_CLOCK_MAX		(1ULL << 62)	/* upper bound of a clock in nanoseconds */

/*
 * Types of messages, with their sender.
 *
 * The first digit is the connection: 0x00.. handshake, 0x10.. control, 0x20.. lane.
 */
enum vgpu_msg_type {
	VGPU_MSG_HELLO		= 0x01,	/* guest: first on a control connection */
	VGPU_MSG_WELCOME	= 0x02,	/* host: answer to HELLO */
	VGPU_MSG_REFUSE		= 0x03,	/* host: answer to HELLO or LANE, then close */
	VGPU_MSG_LANE		= 0x04,	/* guest: first on a lane */
	VGPU_MSG_LANE_READY	= 0x05,	/* host: answer to LANE */

	VGPU_MSG_EXPORT_ADD	= 0x10,	/* host */
	VGPU_MSG_EXPORT_DEL	= 0x11,	/* host */
	VGPU_MSG_CLOSE		= 0x12,	/* guest, one-way, sequenced */
	VGPU_MSG_UNMAP		= 0x13,	/* guest, one-way, sequenced */
	VGPU_MSG_SESSION_CLOSE	= 0x14,	/* guest, one-way, sequenced */
	VGPU_MSG_POLL_EVENT	= 0x15,	/* host */
	VGPU_MSG_INVALIDATE	= 0x16,	/* host */
	VGPU_MSG_PING		= 0x17,	/* both */
	VGPU_MSG_PONG		= 0x18,	/* both */
	VGPU_MSG_EVENT		= 0x19,	/* host */
	VGPU_MSG_WINDOW		= 0x1a,	/* host */
	VGPU_MSG_UNBIND		= 0x1b,	/* guest, sequenced */
	VGPU_MSG_UNBOUND	= 0x1c,	/* host: answer to UNBIND */
	VGPU_MSG_EXPORT_CHANGE	= 0x1d,	/* host */
	VGPU_MSG_EXPORT_FILE	= 0x1e,	/* host */
	VGPU_MSG_RELEASE	= 0x1f,	/* guest, sequenced; host: answer to it */

	VGPU_MSG_CALL		= 0x20,	/* guest */
	VGPU_MSG_REPLY		= 0x21,	/* host */
	VGPU_MSG_ACK		= 0x22,	/* guest: has taken the objects of a reply */
	VGPU_MSG_CANCEL		= 0x23,	/* guest */
	VGPU_MSG_FETCH		= 0x24,	/* host: upcall */
	VGPU_MSG_FETCHED	= 0x25,	/* guest: answer to FETCH */
	VGPU_MSG_WRITEBACK	= 0x26,	/* host: upcall */
	VGPU_MSG_WRITTEN	= 0x27,	/* guest: answer to WRITEBACK */
};

#define VGPU_HDR_RESERVED	(1U << 0)	/* was ARENA; no message has it */

/**
 * struct vgpu_hdr - header of every message
 * @len: number of bytes of the whole message, this header included
 * @type: enum vgpu_msg_type
 * @flags: 0
 * @seq: sequence number. CALL: number of the call on this lane, rising by one from 1. REPLY,
 *	ACK, CANCEL and all upcalls with their answers: number of that call. CLOSE, UNMAP,
 *	SESSION_CLOSE, UNBIND, RELEASE: control sequence number, rising by one from 1; a RELEASE
 *	that answers has the number of the guest's RELEASE. PING: any; PONG: number of the PING.
 *	Others: 0
 */
struct vgpu_hdr {
	__le32 len;
	__le16 type;
	__le16 flags;
	__le64 seq;
};

/* --- handshake ------------------------------------------------------------ */

/**
 * struct vgpu_hello - guest: first message of the control connection
 * @hdr: VGPU_MSG_HELLO
 * @magic: VGPU_WIRE_MAGIC
 * @version_min: lowest protocol version that the guest supports
 * @version_max: highest protocol version that the guest supports
 * @page_size: VGPU_PAGE_SIZE
 * @reserved: 0
 * @features: VGPU_FEATURE_*
 * @instance: random number, new at each load of the guest module
 */
struct vgpu_hello {
	struct vgpu_hdr hdr;
	__le32 magic;
	__le16 version_min;
	__le16 version_max;
	__le32 page_size;
	__le32 reserved;
	__le64 features;
	__u8 instance[16];
};

/**
 * struct vgpu_welcome - host: answer to an accepted HELLO
 * @hdr: VGPU_MSG_WELCOME
 * @magic: VGPU_WIRE_MAGIC
 * @version: protocol version of the connection
 * @reserved: 0
 * @features: features of HELLO that the host has as well
 * @secret: random number by which each lane proves that it belongs to this connection
 * @reserved_base: address of the range that every guest process must keep free for its shadow,
 *	page aligned
 * @reserved_size: size of this range in bytes
 * @call_bytes_max: maximum length of a lane message in bytes
 * @segs_max: maximum number of segments of a call
 * @fixups_max: maximum number of fixups of a call
 * @lanes_max: maximum number of lanes of a session
 * @ping_timeout_ms: time in milliseconds after which the guest gives up a host that does not
 *	answer PING; 0: never
 * @tsc_khz: frequency of the host's time-stamp counter in kHz; 0: there is none
 */
struct vgpu_welcome {
	struct vgpu_hdr hdr;
	__le32 magic;
	__le16 version;
	__le16 reserved;
	__le64 features;
	__u8 secret[VGPU_SECRET_LEN];
	__le64 reserved_base;
	__le64 reserved_size;
	__le32 call_bytes_max;
	__le32 segs_max;
	__le32 fixups_max;
	__le32 lanes_max;
	__le32 ping_timeout_ms;
	__le32 tsc_khz;
};

/**
 * struct vgpu_refuse - host: reason for which the connection is closed
 * @hdr: VGPU_MSG_REFUSE
 * @error: positive errno: EPROTO (malformed), EPROTONOSUPPORT (version), ENOENT (nothing is
 *	exported to the guest), EACCES (wrong port, wrong secret), EBUSY (the guest's old
 *	connection is not cleaned up yet, or the guest connects or begins sessions too often),
 *	EMFILE (a limit), ENODEV (the session has ended), ENOMEM
 * @reserved: 0
 */
struct vgpu_refuse {
	struct vgpu_hdr hdr;
	__le32 error;
	__le32 reserved;
};

/**
 * struct vgpu_lane_hello - guest: first message of a lane
 * @hdr: VGPU_MSG_LANE
 * @magic: VGPU_WIRE_MAGIC
 * @tgid: process id in the guest, for the host's logs only
 * @secret: secret of WELCOME
 * @session: number of the session, chosen by the guest and never used twice on one control
 *	connection; the first lane of a session creates the shadow
 * @comm: name of the process, NUL-padded, for the host's logs only
 */
struct vgpu_lane_hello {
	struct vgpu_hdr hdr;
	__le32 magic;
	__le32 tgid;
	__u8 secret[VGPU_SECRET_LEN];
	__le64 session;
	__u8 comm[VGPU_COMM_LEN];
};

/* --- control -------------------------------------------------------------- */

#define VGPU_EXPORT_PLAIN	0	/* any other character device */
#define VGPU_EXPORT_DRM_PRIMARY	1	/* .../dri/cardN */
#define VGPU_EXPORT_DRM_RENDER	2	/* .../dri/renderDN */
#define VGPU_EXPORT_VIDEO	3	/* V4L2: .../videoN */
#define VGPU_EXPORT_VBI		4	/* .../vbiN */
#define VGPU_EXPORT_RADIO	5	/* .../radioN */
#define VGPU_EXPORT_SDR		6	/* .../swradioN */
#define VGPU_EXPORT_TOUCH	7	/* .../v4l-touchN */
#define VGPU_EXPORT_SOUND	8	/* ALSA: .../snd/pcmC0D0p and so on */
#define VGPU_EXPORT_MEDIA	9	/* media controller: .../mediaN */
#define VGPU_EXPORT_NVIDIA	10	/* NVIDIA's own driver: .../nvidiactl and so on */
#define VGPU_EXPORT_LAST	VGPU_EXPORT_NVIDIA

/*
 * The bus of an export's device. A device behind virtio is on the bus of the transport, as in
 * libdrm.
 */
enum vgpu_bus {
	VGPU_BUS_NONE		= 0,	/* none, or none of the others */
	VGPU_BUS_PCI		= 1,
	VGPU_BUS_PLATFORM	= 2,
	VGPU_BUS_FAUX		= 3,
};

/**
 * struct vgpu_export_add - host: a device file that the guest may open
 * @hdr: VGPU_MSG_EXPORT_ADD
 * @export: number of the export on this connection, never 0, never used twice
 * @kind: VGPU_EXPORT_*
 * @device: number of the device: exports with the same non-zero number are nodes of one device
 *	(a DRM card and its render node)
 * @rdev_major: major number of the host's node, by which results of media devices name the node
 * @rdev_minor: minor number of the host's node
 * @name: name of the export, NUL-padded
 * @driver: name of the host's driver, NUL-padded
 * @path: path of the device file on the host, NUL-padded, for information
 * @bus: enum vgpu_bus; equal for all nodes of a device, like the members below
 * @reserved: 0
 * @bus_id: name of the device on the bus, NUL-padded: PCI: "0000:01:00.0"; platform: name in
 *	the MODALIAS; NONE: empty
 * @pci_header: PCI: first bytes of the configuration space; else zeros
 * @title: V4L2: name of the node in sysfs; ALSA: the node itself, "pcmC0D0p"; media controller:
 *	model; NVIDIA: the node itself, "nvidiactl"; NUL-padded; else zeros
 */
struct vgpu_export_add {
	struct vgpu_hdr hdr;
	__le32 export;
	__le32 kind;
	__le64 device;
	__le32 rdev_major;
	__le32 rdev_minor;
	__u8 name[VGPU_NAME_LEN];
	__u8 driver[VGPU_NAME_LEN];
	__u8 path[VGPU_PATH_LEN];
	__le32 bus;
	__le32 reserved;
	__u8 bus_id[VGPU_BUS_ID_LEN];
	__u8 pci_header[VGPU_PCI_HEADER_LEN];
	__u8 title[VGPU_TITLE_LEN];
};

/* VGPU_MSG_EXPORT_DEL: new opens fail; open objects stay usable. */
struct vgpu_export_del {
	struct vgpu_hdr hdr;
	__le32 export;
	__le32 reserved;
};

#define VGPU_CHANGE_HOTPLUG	(1U << 0)	/* connectors have changed */
#define VGPU_CHANGE_LEASE	(1U << 1)	/* a lease has ended */
#define VGPU_CHANGE_WEDGED	(1U << 2)	/* the device hangs, or did until a reset */
#define VGPU_CHANGES		(VGPU_CHANGE_HOTPLUG | VGPU_CHANGE_LEASE | VGPU_CHANGE_WEDGED)

/* Recovery methods of a wedged device, as DRM names them, one bit each; others are "unknown". */
#define VGPU_WEDGED_NAMES	{ "none", "rebind", "bus-reset", "vendor-specific", "unknown" }
#define VGPU_WEDGED_UNKNOWN	(1U << 4)
#define VGPU_WEDGED_ALL		((VGPU_WEDGED_UNKNOWN << 1) - 1)

/**
 * struct vgpu_export_change - host: a "change" uevent of the driver of an exported DRM card
 * @hdr: VGPU_MSG_EXPORT_CHANGE
 * @export: number of the export; the guest ignores an export for which it has no card
 * @flags: VGPU_CHANGE_*, at least one
 * @connector: HOTPLUG: id of the connector that has changed; 0: any. Else 0
 * @property: id of the connector's property that has changed; 0: any. 0 without a connector
 * @wedged: WEDGED: recovery methods, a bit for each of VGPU_WEDGED_NAMES, at least one. Else 0
 * @reserved: 0
 *
 * A message may stand for several uevents: it may lose which connectors have changed, but not
 * that some have.
 */
struct vgpu_export_change {
	struct vgpu_hdr hdr;
	__le32 export;
	__le32 flags;
	__le32 connector;
	__le32 property;
	__le32 wedged;
	__le32 reserved;
};

#define VGPU_FILE_GONE		(1U << 0)	/* the file does not exist any more */

/**
 * struct vgpu_export_file - host: contents of a small file of an export's device
 * @hdr: VGPU_MSG_EXPORT_FILE
 * @export: number of the export; the guest ignores unknown ones
 * @flags: VGPU_FILE_*
 * @size: size of the whole file in bytes, VGPU_FILE_MAX at most; GONE: 0
 * @offset: offset of this part in the file, a multiple of VGPU_FILE_PART; 0, or less than @size
 * @name: relative path, NUL-padded: components of letters, digits and ".", "_", "+", "-", ":",
 *	none of which begins with a dot, separated by single "/"
 *
 * The message is followed by VGPU_FILE_PART bytes, or by the rest of the file, padded to a
 * multiple of 8. The parts of a file come one after the other. A file is sent when it exists
 * and again when it has changed. Files of a card: "HDMI-A-1/status" and so on, of its
 * connectors. Files of NVIDIA's driver: "proc/driver/nvidia/params" and
 * "proc/driver/nvidia/version" for nvidiactl,
 * "proc/driver/nvidia/gpus/0000:01:00.0/information" for a card.
 */
struct vgpu_export_file {
	struct vgpu_hdr hdr;
	__le32 export;
	__le32 flags;
	__le32 size;
	__le32 offset;
	__u8 name[VGPU_FILE_NAME_LEN];
};

/**
 * struct vgpu_close - guest: drops a reference of an object
 * @hdr: VGPU_MSG_CLOSE
 * @object: number of the object
 * @reference: number of the reference, see struct vgpu_object_desc. A reference that was
 *	dropped already is ignored: a CLOSE call may name it as well, and the guest may not know
 *	if the host has executed that call
 */
struct vgpu_close {
	struct vgpu_hdr hdr;
	__le32 object;
	__le32 reference;
};

/**
 * struct vgpu_unmap - guest: a part of a mapping is unmapped
 * @hdr: VGPU_MSG_UNMAP
 * @session: number of the session that has the mapping
 * @addr: address of the first byte in the shadow, page aligned
 * @len: number of bytes, a multiple of the page size
 */
struct vgpu_unmap {
	struct vgpu_hdr hdr;
	__le64 session;
	__le64 addr;
	__le64 len;
};

/* VGPU_MSG_SESSION_CLOSE: the process and all its mappings are gone. */
struct vgpu_session_close {
	struct vgpu_hdr hdr;
	__le64 session;
};

/*
 * The driver's ->poll has no side effects, so the host has called it: revents is its result,
 * and the object stays armed for all events.
 */
#define VGPU_POLL_ANSWER	(1U << 0)

/**
 * struct vgpu_poll_event - host: the driver has woken the pollers of an object
 * @hdr: VGPU_MSG_POLL_EVENT
 * @object: number of the object; a POLL call arms it for more events
 * @revents: events of the wakeup, for which the object is not armed any more unless a POLL had
 *	VGPU_POLL_STAY; a hint: the next POLL reports the truth. ANSWER: all events for which the
 *	object is ready
 * @number: number of the last POLL call on the object, or of a later IOCTL whose reply had an
 *	answer; 0: there was none
 * @flags: VGPU_POLL_ANSWER
 */
struct vgpu_poll_event {
	struct vgpu_hdr hdr;
	__le32 object;
	__le32 revents;
	__le32 number;
	__le32 flags;
};

/* The eventfd was not signalled and will not be: the driver has released it. */
#define VGPU_EVENT_OVER		(1U << 0)

/**
 * struct vgpu_event_signal - host: the driver has signalled the eventfd of an EVENT fixup
 * @hdr: VGPU_MSG_EVENT
 * @event: number that the fixup gave to the eventfd; not valid from now on
 * @flags: VGPU_EVENT_*
 */
struct vgpu_event_signal {
	struct vgpu_hdr hdr;
	__le32 event;
	__le32 flags;
};

/* The guest keeps the window empty: mappings in the window switch to copy mode. */
#define VGPU_WINDOW_DRAIN	(1U << 0)

/**
 * struct vgpu_window_info - host: a window is there, is gone, or has new flags
 * @hdr: VGPU_MSG_WINDOW
 * @window: number of the window, never 0 and never used for another one. The guest recognizes
 *	the window by this number in its header (struct vgpu_window_header)
 * @size: size of the window in bytes; 0: the window is gone, with all that was bound in it
 * @flags: VGPU_WINDOW_*; 0 with size 0
 * @reserved: 0
 *
 * There is at most one window: the next one comes after the previous one has gone. The message
 * is repeated with the same window when the flags change.
 */
struct vgpu_window_info {
	struct vgpu_hdr hdr;
	__le64 window;
	__le64 size;
	__le32 flags;
	__le32 reserved;
};

/**
 * struct vgpu_window_part - UNBIND, UNBOUND or INVALIDATE of a range of a window
 * @hdr: VGPU_MSG_UNBIND, UNBOUND or INVALIDATE
 * @window: number of the window; a message about a window that is gone means nothing
 * @offset: offset in the window, page aligned, never 0
 * @len: number of bytes, a multiple of the page size
 *
 * UNBIND: the guest does not map the range any more, and no MMAP that names it is under way.
 * UNBOUND: nothing is bound in the range any more: the guest may use it again. INVALIDATE:
 * pages in the range are not the device's any more. The guest unmaps them from its programs;
 * before a program gets one back, the guest sends a READ_PAGES, which makes the window show the
 * page anew.
 */
struct vgpu_window_part {
	struct vgpu_hdr hdr;
	__le64 window;
	__le64 offset;
	__le64 len;
};

#define VGPU_WINDOW_MAGIC	"vgpu-win"
#define VGPU_WINDOW_VERSION	1
/* The number of a virtio device that has the window ... */
#define VGPU_WINDOW_VIRTIO_ID	31
/* ... and the length of its configuration space, which equals the header before @reserved2. */
#define VGPU_WINDOW_CONFIG_LEN	32

/**
 * struct vgpu_window_header - first page of a window's memory
 * @magic: VGPU_WINDOW_MAGIC, without the NUL
 * @version: VGPU_WINDOW_VERSION
 * @reserved: 0
 * @window: number of the window
 * @size: size of the window in bytes
 * @reserved2: 0
 *
 * The guest finds the window by this header among the devices that share memory. The rest of
 * the page is empty, and nothing is ever bound there.
 */
struct vgpu_window_header {
	__u8 magic[8];
	__le32 version;
	__le32 reserved;
	__le64 window;
	__le64 size;
	__le64 reserved2[64];
};

/**
 * struct vgpu_release - release of memory that devices have kept
 * @hdr: VGPU_MSG_RELEASE
 * @number: number of the memory, as in KEPT segments; not valid after the answer
 *
 * The guest sends the message after all objects that could keep the memory are closed by
 * earlier messages and calls. The host answers when no device and nothing else on the host uses
 * the memory any more: the guest may use it for other purposes then.
 */
struct vgpu_release {
	struct vgpu_hdr hdr;
	__le64 number;
};

/* --- lane ----------------------------------------------------------------- */

enum vgpu_op {
	VGPU_OP_OPEN		= 1,
	VGPU_OP_CLOSE		= 2,	/* waits for ->release, unlike VGPU_MSG_CLOSE */
	VGPU_OP_IOCTL		= 3,
	VGPU_OP_READ		= 4,
	VGPU_OP_WRITE		= 5,
	VGPU_OP_LLSEEK		= 6,
	VGPU_OP_POLL		= 7,
	VGPU_OP_MMAP		= 8,	/* class mm: causes no upcall */
	VGPU_OP_READ_PAGES	= 9,	/* class mm */
	VGPU_OP_WRITE_PAGES	= 10,	/* class mm */
	VGPU_OP_FDINFO		= 11,
	VGPU_OP_BIND		= 12,	/* class mm */
	VGPU_OP_RESERVED	= 13,	/* was ARENA_GET; no call has it */
	VGPU_OP_PROTECT		= 14,	/* class mm */
	VGPU_OP_CLOCK		= 15,	/* class mm; output: the clocks of every reply */
};

#define VGPU_SEG_IN		(1U << 0)	/* bytes follow in the CALL */
#define VGPU_SEG_OUT		(1U << 1)	/* bytes come back in the REPLY */
/*
 * The segment is no scratch memory but whole pages of the process at their own address, sent
 * along because the driver will probably read them: page aligned, IN only.
 */
#define VGPU_SEG_PAGE		(1U << 2)
/*
 * The segment stands for whole pages at their own address that the device uses after the call
 * as well. Instead of their bytes the segment has a struct vgpu_kept that names their place in
 * the guest's memory, and the driver gets these very pages. IN only, not in a call with PAGE
 * segments, and only in an ioctl whose argument is another segment.
 */
#define VGPU_SEG_KEPT		(1U << 3)

/**
 * struct vgpu_seg - piece of the process's memory that goes with a call
 * @addr: address in the process; for information unless VGPU_SEG_PAGE or KEPT
 * @len: number of bytes that go along; may be 0
 * @flags: VGPU_SEG_*
 *
 * The bytes of IN segments follow the fixups, those of OUT segments the object descriptors of
 * the reply. Both are in the order of the segments, each padded with zeros to a multiple of 8.
 */
struct vgpu_seg {
	__le64 addr;
	__le32 len;
	__le32 flags;
};

#define VGPU_KEPT_WRITE		(1U << 0)	/* the device may write to the memory */

/**
 * struct vgpu_kept - memory of the process that a device keeps
 * @number: number of the memory, chosen by the guest, never 0. RELEASE names it; until the
 *	answer to RELEASE the guest uses the memory for nothing else. A later call that hands
 *	over the very same pages may use the number again
 * @len: number of bytes at the segment's address, whole pages: the sum of the runs' lengths
 * @flags: VGPU_KEPT_*
 * @reserved: 0
 *
 * One or more struct vgpu_run follow: the pages at the segment's address, in order.
 */
struct vgpu_kept {
	__le64 number;
	__le64 len;
	__le32 flags;
	__le32 reserved;
};

/**
 * struct vgpu_run - contiguous pages of the guest's memory
 * @addr: physical address in the guest, page aligned
 * @len: number of bytes, a multiple of the page size
 */
struct vgpu_run {
	__le64 addr;
	__le64 len;
};

enum vgpu_fixup_type {
	/* 8 bytes: replaced by the address of @target_offset in segment @target. */
	VGPU_FIXUP_PTR		= 1,
	/* 4 bytes: replaced by an fd of object @target for the time of the call. */
	VGPU_FIXUP_FD_IN	= 2,
	/* 4 bytes: an fd that the driver writes on success and that becomes an object. */
	VGPU_FIXUP_FD_OUT	= 3,
	/* The result of the ioctl is an fd that becomes an object; @seg and @offset are 0. */
	VGPU_FIXUP_FD_RET	= 4,
	/* 4 bytes: as PTR, for structs of 32-bit processes; COMPAT only. */
	VGPU_FIXUP_PTR32	= 5,
	/*
	 * 8 bytes: a time relative to now in nanoseconds, replaced by a time of the host's
	 * CLOCK_MONOTONIC. The reply has the value of the call.
	 */
	VGPU_FIXUP_TIME		= 6,
	/*
	 * 4 bytes: replaced by an eventfd of the host for the time of the call. The guest
	 * identifies the eventfd by @target, not 0. One VGPU_MSG_EVENT reports that the driver
	 * has signalled the eventfd, or never will. The number is not valid after that, after a
	 * failed call, or after the call's object was closed. At most one in a call.
	 */
	VGPU_FIXUP_EVENT	= 7,
};

/**
 * struct vgpu_fixup - field of a segment that the host must translate
 * @type: enum vgpu_fixup_type
 * @seg: index of the segment that has the field
 * @offset: offset of the field in bytes, a multiple of 4 (there are packed structs); the whole
 *	field is inside the segment. Fixups must not overlap, except an FD_OUT that follows an
 *	FD_IN of the same field: the value after the call is then an fd that becomes an object
 *	only if the driver replaced the fd of FD_IN
 * @target: PTR: index of a segment; FD_IN: number of an object; EVENT: number of the eventfd;
 *	else 0
 * @target_offset: PTR: offset in the target, at most its length; else 0
 */
struct vgpu_fixup {
	__le16 type;
	__le16 seg;
	__le32 offset;
	__le32 target;
	__le32 target_offset;
};

#define VGPU_IOCTL_ARG_VALUE	0	/* arg is passed to the driver unchanged */
#define VGPU_IOCTL_ARG_SEG	1	/* arg becomes the address of segment 0 */
/* arg, the number of an object, becomes an fd of the object for the time of the call. */
#define VGPU_IOCTL_ARG_FD	2

#define VGPU_CALL_COMPAT	(1U << 0)	/* made by a 32-bit process */
/* IOCTL: returned fences will be polled, so the host watches them from the beginning. */
#define VGPU_CALL_WATCH		(1U << 1)
/* IOCTL: the caller has CAP_SYS_ADMIN in the guest. The host decides what that allows. */
#define VGPU_CALL_ADMIN		(1U << 2)
/* IOCTL: the reply has the offsets of the host's other clocks to CLOCK_MONOTONIC. */
#define VGPU_CALL_CLOCKS	(1U << 3)
/* READ_PAGES: use the driver's ->access operation for debuggers; without one the call fails. */
#define VGPU_CALL_DEBUG		(1U << 4)

/* The object of a call without one (OPEN) is 0. */
struct vgpu_args_open {
	__le32 export;
	__le32 flags;			/* O_ACCMODE, O_NONBLOCK, O_EXCL, ... of x86-64 */
	__le64 reserved[5];
};

struct vgpu_args_close {
	__le32 reference;		/* as in struct vgpu_close */
	__le32 reserved;
	__le64 reserved2[5];
};

struct vgpu_args_ioctl {
	__le32 cmd;
	__le32 arg_kind;		/* VGPU_IOCTL_ARG_* */
	__le64 arg;			/* ARG_VALUE: the value; ARG_SEG: 0; ARG_FD: an object */
	/* COMPAT and ARG_SEG: range of VGPU_LOW_BYTES or more for the segments; else 0 */
	__le64 low;
	__le64 low_len;
	__le32 number;			/* returned by POLL_EVENTs after the call */
	__le32 reserved;
	__le64 reserved2;
};

/*
 * 32-bit processes: drivers cut pointers to 32 bits, and the structs hold no longer ones. So
 * the segments lie below 4 GiB, in a range that the guest keeps free in the process for the
 * time of the call. @low and @low_len are page aligned, and the end of the range is at most 4
 * GiB. Its length is at least VGPU_LOW_BYTES(@nr, @bytes) for a call with @nr segments; @bytes is
 * the sum of the padded lengths of those that are not PAGE.
 */
#define VGPU_LOW_BYTES(nr, bytes)	((__u64)(bytes) + (__u64)(nr) * 96)
#define VGPU_LOW_END			(1ULL << 32)

/* READ, FDINFO: one OUT segment, the buffer. */
struct vgpu_args_rw {
	__le64 reserved[6];
};

/*
 * WRITE: one IN segment, and all of this 0. Or, with the feature WRITE_NAMED, if the program cannot
 * read all of its buffer: no segment, and the address and length of the buffer, not 0. The driver
 * then reads demand pages.
 */
struct vgpu_args_write {
	__le64 addr;
	__le32 len;
	__le32 reserved;
	__le64 reserved2[4];
};

struct vgpu_args_llseek {
	__le64 offset;			/* signed */
	__le32 whence;
	__le32 reserved;
	__le64 reserved2[4];
};

/* Events that a POLL may ask for and a POLL_EVENT may report: all events of poll(2). */
#define VGPU_POLL_EVENTS	0x27ff

/* Every wakeup is reported from now on, whatever its events are. */
#define VGPU_POLL_STAY		(1U << 0)

struct vgpu_args_poll {
	__le32 events;
	__le32 flags;			/* VGPU_POLL_STAY */
	__le32 number;			/* any; returned by POLL_EVENTs */
	__le32 reserved;
	__le64 reserved2[4];
};

/*
 * MMAP: the shadow maps the object at the same address. prot: PROT_*; flags: MAP_SHARED or
 * MAP_PRIVATE alone. window: number of the window in which the host binds the mapping as well
 * if it can (VGPU_MAP_WINDOW), at window_offset (page aligned, not 0); both 0: no window.
 */
struct vgpu_args_mmap {
	__le64 addr;
	__le64 len;
	__le64 offset;			/* bytes, page aligned */
	__le32 prot;
	__le32 flags;
	__le64 window;
	__le64 window_offset;
};

/*
 * BIND: bind a mapping in the window as well. [addr, addr + len) is the whole of a mapping that one
 * MMAP has made, or of a part that unmaps have left of it. No object. Result: 0, -EBUSY, -EINVAL,
 * -ENODEV, -ENOMEM, -EOPNOTSUPP.
 */
struct vgpu_args_bind {
	__le64 addr;
	__le64 len;
	__le64 window;
	__le64 window_offset;
	__le64 reserved[2];
};

/*
 * PROTECT: make the mappings in [addr, addr + len) that were made for reading writable as well;
 * addresses without a mapping are skipped. prot: PROT_WRITE, and perhaps PROT_READ. No object.
 * Result: 0, -EACCES, -EINVAL, or the error of the driver.
 */
struct vgpu_args_protect {
	__le64 addr;
	__le64 len;
	__le32 prot;
	__le32 reserved;
	__le64 reserved2[3];
};

/*
 * READ_PAGES: one OUT segment receives len bytes; result: number of bytes that could be read, a
 * multiple of the page size, or -EFAULT for none.
 * WRITE_PAGES: segment 0 (IN) is an array of struct vgpu_range, segment 1 (IN) has their bytes,
 * one after the other; addr and len are 0. A range that cannot be written is skipped; result:
 * number of bytes of the others, or -EFAULT for none.
 * Both access only mappings made by MMAP. No object.
 */
struct vgpu_args_pages {
	__le64 addr;
	__le64 len;
	__le64 reserved[4];
};

/* The bytes begin with a mask of the page: bit i of byte j stands for byte 8 * j + i. */
#define VGPU_RANGE_MASK		(1U << 0)
#define VGPU_MASK_BYTES		(VGPU_PAGE_SIZE / 8)

/**
 * struct vgpu_range - place of bytes of a WRITE_PAGES or WRITEBACK
 * @addr: address of the first byte; MASK: address of the page
 * @len: number of bytes in the message, not 0; MASK: the bytes of the mask, and one byte for
 *	each bit that is set in the mask, at least one
 * @flags: VGPU_RANGE_*
 */
struct vgpu_range {
	__le64 addr;
	__le32 len;
	__le32 flags;
};

/**
 * struct vgpu_call - guest: run a file operation
 * @hdr: VGPU_MSG_CALL
 * @op: enum vgpu_op
 * @flags: VGPU_CALL_*
 * @object: number of the object, or 0
 * @f_flags: current flags of the guest's file (O_NONBLOCK, O_APPEND)
 * @nr_segs: number of struct vgpu_seg that follow
 * @nr_fixups: number of struct vgpu_fixup that follow the segments
 * @pos: current position of the guest's file
 * @control_seq: number of the last control message that must be applied before the call
 * @args: arguments of @op; the rest is 0
 */
struct vgpu_call {
	struct vgpu_hdr hdr;
	__le16 op;
	__le16 flags;
	__le32 object;
	__le32 f_flags;
	__le16 nr_segs;
	__le16 nr_fixups;
	__le64 pos;
	__le64 control_seq;
	union {
		struct vgpu_args_open open;
		struct vgpu_args_close close;
		struct vgpu_args_ioctl ioctl;
		struct vgpu_args_rw rw;
		struct vgpu_args_write write;
		struct vgpu_args_llseek llseek;
		struct vgpu_args_poll poll;
		struct vgpu_args_mmap mmap;
		struct vgpu_args_bind bind;
		struct vgpu_args_protect protect;
		struct vgpu_args_pages pages;
		__le64 raw[6];
	} args;
};

/* Operations and properties of the host's file. */
#define VGPU_FOP_READ		(1U << 0)
#define VGPU_FOP_WRITE		(1U << 1)
#define VGPU_FOP_LLSEEK		(1U << 2)
#define VGPU_FOP_IOCTL		(1U << 3)
#define VGPU_FOP_COMPAT_IOCTL	(1U << 4)
#define VGPU_FOP_MMAP		(1U << 5)
#define VGPU_FOP_POLL		(1U << 6)
#define VGPU_FOP_STREAM		(1U << 7)	/* FMODE_STREAM: no position */
#define VGPU_FOP_NO_PREAD	(1U << 8)	/* FMODE_PREAD is not set */
#define VGPU_FOP_NO_PWRITE	(1U << 9)	/* FMODE_PWRITE is not set */
#define VGPU_FOP_FDINFO		(1U << 10)
#define VGPU_FOP_FASYNC		(1U << 11)

enum vgpu_object_kind {
	VGPU_OBJECT_DEVICE	= 1,	/* an opened export, or another device file */
	VGPU_OBJECT_DMABUF	= 2,
	VGPU_OBJECT_SYNC_FILE	= 3,
	VGPU_OBJECT_OTHER	= 4,	/* syncobj and other anonymous files */
};

#define VGPU_OBJECT_READ	(1U << 0)	/* FMODE_READ */
#define VGPU_OBJECT_WRITE	(1U << 1)	/* FMODE_WRITE */
#define VGPU_OBJECT_CLOEXEC	(1U << 2)	/* the fd becomes O_CLOEXEC */
#define VGPU_OBJECT_SAME_DEVICE	(1U << 3)	/* same device as the call's object: a DRM lease */
/* Flags of a SYNC_FILE in the reply to a call with VGPU_CALL_WATCH, at most one of them: */
#define VGPU_OBJECT_WATCHED	(1U << 4)	/* not signaled; a POLL_EVENT will report it */
#define VGPU_OBJECT_SIGNALED	(1U << 5)

/**
 * struct vgpu_object_desc - object that a reply gives to the guest
 * @object: number of the object, never 0. A host file keeps its number while the guest holds a
 *	reference. Each appearance in a reply is one reference, which one CLOSE drops
 * @kind: enum vgpu_object_kind
 * @fops: VGPU_FOP_*
 * @flags: VGPU_OBJECT_*
 * @space: opaque number of the address space of the object's mappings: mappings with the same
 *	space and offset share memory
 * @size: size of the inode in bytes (dma-buf), else 0
 * @fixup: index of the FD_OUT or FD_RET fixup that the object answers; OPEN: 0
 * @f_flags: flags of the host's file: O_ACCMODE, O_NONBLOCK and so on
 * @reference: number of the reference, 0 for the first one of an object; different from that of
 *	each other reference that the guest holds of the object
 * @reserved: 0
 */
struct vgpu_object_desc {
	__le32 object;
	__le32 kind;
	__le32 fops;
	__le32 flags;
	__le64 space;
	__le64 size;
	__le32 fixup;
	__le32 f_flags;
	__le32 reference;
	__le32 reserved;
};

#define VGPU_MAP_READ		(1U << 0)	/* VM_READ */
#define VGPU_MAP_WRITE		(1U << 1)	/* VM_WRITE */
#define VGPU_MAP_MAYREAD	(1U << 2)
#define VGPU_MAP_MAYWRITE	(1U << 3)
#define VGPU_MAP_SHARED		(1U << 4)	/* VM_SHARED */
#define VGPU_MAP_IO		(1U << 5)	/* VM_IO */
#define VGPU_MAP_PFNMAP		(1U << 6)	/* VM_PFNMAP: pages cannot be pinned */
#define VGPU_MAP_DONTCOPY	(1U << 7)
#define VGPU_MAP_DONTEXPAND	(1U << 8)
#define VGPU_MAP_DONTDUMP	(1U << 9)
#define VGPU_MAP_WINDOW		(1U << 10)	/* bound at the given place in the window */
#define VGPU_MAP_ACCESS		(1U << 11)	/* ->access: debuggers may read and write it */
/* ACCESS is unknown to the host; a READ_PAGES with VGPU_CALL_DEBUG finds out. */
#define VGPU_MAP_ASK		(1U << 12)

#define VGPU_CACHE_WB		0
#define VGPU_CACHE_WC		1
#define VGPU_CACHE_UC		2

struct vgpu_out_mmap {
	__le64 space;			/* identity: address space ... */
	__le64 offset;			/* ... and offset in it, bytes */
	__le32 flags;			/* VGPU_MAP_* */
	__le32 cache;			/* VGPU_CACHE_* */
	__le64 reserved;
};

/*
 * Outputs of IOCTL. revents and flags: result of POLL if the object is armed for all events and
 * the host has called the driver's poll; else 0. With VGPU_CALL_CLOCKS, realtime and raw:
 * signed nanoseconds by which the host's CLOCK_REALTIME and CLOCK_MONOTONIC_RAW are ahead of
 * its CLOCK_MONOTONIC; tsc: time-stamp counter of the host at clock_in, 0 if there is none;
 * else 0.
 */
struct vgpu_out_ioctl {
	__le32 revents;
	__le32 flags;			/* VGPU_POLL_ANSWER */
	__le64 realtime;
	__le64 raw;
	__le64 tsc;
};

struct vgpu_out_poll {
	__le32 revents;
	__le32 reserved;
	__le64 reserved2[3];
};

struct vgpu_out_bind {
	__le32 cache;			/* VGPU_CACHE_* in the window; 0 with an error */
	__le32 reserved;
	__le64 reserved2[3];
};

/* The error comes from the host (a limit, a policy), not from the driver. */
#define VGPU_REPLY_REFUSED	(1U << 0)
/*
 * The driver made an fd that no fixup describes, and the host has closed the fd. The error is
 * EOPNOTSUPP, or that of a later failure. The outputs could contain the number of the fd, so the
 * reply has no bytes. The reply to an IOCTL has bytes even after an error unless it is REFUSED, so
 * that flag is set as well.
 */
#define VGPU_REPLY_STRAY_FD	(1U << 1)
/*
 * The answer to an upcall did not come in time: the operation failed, and this is the last
 * message of the lane. The host waits for the guest to close the lane, and answers nothing
 * more.
 */
#define VGPU_REPLY_LAST		(1U << 2)

/**
 * struct vgpu_reply - host: result of the file operation
 * @hdr: VGPU_MSG_REPLY
 * @result: result of the operation, including negative errnos (-ERESTARTSYS and its kin as
 *	well: the guest translates them)
 * @pos: position of the file afterwards
 * @flags: VGPU_REPLY_*
 * @nr_objects: number of struct vgpu_object_desc that follow
 * @reserved: 0
 * @clock_in: CLOCK_MONOTONIC of the host in nanoseconds when it had received the header of the
 *	CALL
 * @clock_out: CLOCK_MONOTONIC of the host in nanoseconds before it sent the reply; not before
 *	@clock_in
 * @out: outputs of the call's operation; the rest is 0
 *
 * The bytes of OUT segments follow, whole, also when the operation failed; READ, FDINFO and
 * READ_PAGES have only as many as @result says. A reply that is REFUSED carries no objects and
 * no bytes. The guest answers a reply with objects by an ACK; if the lane ends without it, the
 * host takes the objects back.
 */
struct vgpu_reply {
	struct vgpu_hdr hdr;
	__le64 result;
	__le64 pos;
	__le32 flags;
	__le16 nr_objects;
	__le16 reserved;
	__le64 clock_in;
	__le64 clock_out;
	union {
		struct vgpu_out_ioctl ioctl;
		struct vgpu_out_mmap mmap;
		struct vgpu_out_poll poll;
		struct vgpu_out_bind bind;
		__le64 raw[4];
	} out;
};

/* Messages without a body: VGPU_MSG_LANE_READY, ACK, CANCEL, PING and PONG. */

/* VGPU_MSG_FETCH: request for pages of the calling process, from @addr on. */
struct vgpu_fetch {
	struct vgpu_hdr hdr;
	__le64 addr;			/* page aligned */
	__le32 len;			/* a multiple of the page size */
	__le32 reserved;
};

/*
 * VGPU_MSG_FETCHED: @error 0: len bytes follow, as FETCH asked; else a positive
 * errno and no bytes.
 */
struct vgpu_fetched {
	struct vgpu_hdr hdr;
	__le32 error;
	__le32 len;
};

/*
 * VGPU_MSG_WRITEBACK: @nr_ranges struct vgpu_range follow, then the bytes of
 * all ranges, one after the other, padded together to a multiple of 8.
 */
struct vgpu_writeback {
	struct vgpu_hdr hdr;
	__le32 nr_ranges;
	__le32 reserved;
};

/* VGPU_MSG_WRITTEN: @error is 0 or a positive errno. */
struct vgpu_written {
	struct vgpu_hdr hdr;
	__le32 error;
	__le32 reserved;
};

#define VGPU_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " has a size of its own")

VGPU_ASSERT_SIZE(vgpu_hdr, 16);
VGPU_ASSERT_SIZE(vgpu_hello, 56);
VGPU_ASSERT_SIZE(vgpu_welcome, 104);
VGPU_ASSERT_SIZE(vgpu_refuse, 24);
VGPU_ASSERT_SIZE(vgpu_lane_hello, 80);
VGPU_ASSERT_SIZE(vgpu_export_add, 368);
VGPU_ASSERT_SIZE(vgpu_export_del, 24);
VGPU_ASSERT_SIZE(vgpu_export_change, 40);
VGPU_ASSERT_SIZE(vgpu_export_file, 96);
VGPU_ASSERT_SIZE(vgpu_close, 24);
VGPU_ASSERT_SIZE(vgpu_unmap, 40);
VGPU_ASSERT_SIZE(vgpu_session_close, 24);
VGPU_ASSERT_SIZE(vgpu_poll_event, 32);
VGPU_ASSERT_SIZE(vgpu_event_signal, 24);
VGPU_ASSERT_SIZE(vgpu_window_info, 40);
VGPU_ASSERT_SIZE(vgpu_window_part, 40);
VGPU_ASSERT_SIZE(vgpu_window_header, 544);
VGPU_ASSERT_SIZE(vgpu_release, 24);
VGPU_ASSERT_SIZE(vgpu_seg, 16);
VGPU_ASSERT_SIZE(vgpu_kept, 24);
VGPU_ASSERT_SIZE(vgpu_run, 16);
VGPU_ASSERT_SIZE(vgpu_fixup, 16);
VGPU_ASSERT_SIZE(vgpu_args_open, 48);
VGPU_ASSERT_SIZE(vgpu_args_close, 48);
VGPU_ASSERT_SIZE(vgpu_args_ioctl, 48);
VGPU_ASSERT_SIZE(vgpu_args_rw, 48);
VGPU_ASSERT_SIZE(vgpu_args_write, 48);
VGPU_ASSERT_SIZE(vgpu_args_llseek, 48);
VGPU_ASSERT_SIZE(vgpu_args_poll, 48);
VGPU_ASSERT_SIZE(vgpu_args_mmap, 48);
VGPU_ASSERT_SIZE(vgpu_args_bind, 48);
VGPU_ASSERT_SIZE(vgpu_args_protect, 48);
VGPU_ASSERT_SIZE(vgpu_args_pages, 48);
VGPU_ASSERT_SIZE(vgpu_range, 16);
VGPU_ASSERT_SIZE(vgpu_call, 96);
VGPU_ASSERT_SIZE(vgpu_object_desc, 48);
VGPU_ASSERT_SIZE(vgpu_out_mmap, 32);
VGPU_ASSERT_SIZE(vgpu_out_poll, 32);
VGPU_ASSERT_SIZE(vgpu_out_bind, 32);
VGPU_ASSERT_SIZE(vgpu_reply, 88);
VGPU_ASSERT_SIZE(vgpu_fetch, 32);
VGPU_ASSERT_SIZE(vgpu_fetched, 24);
VGPU_ASSERT_SIZE(vgpu_writeback, 24);
VGPU_ASSERT_SIZE(vgpu_written, 24);

#endif /* _UAPI_LINUX_VGPU_WIRE_H */
