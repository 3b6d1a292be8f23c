/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vgpu wire protocol: what a guest and its host say to each other.
 *
 * Two kinds of stream connections, both opened by the guest:
 *
 *  - one *control* connection a guest: HELLO/WELCOME, then exports, one-way
 *    closes and unmaps, poll events and ping/pong, in both directions;
 *  - any number of *lanes*, each carrying one call at a time between one
 *    blocked guest thread and one thread of the session's shadow.
 *
 * Rules for every message:
 *
 *  - it begins with struct vgpu_hdr; hdr.len counts the whole message;
 *  - integers are little-endian; all reserved fields and unknown flag bits are
 *    zero, and a receiver that finds otherwise closes the connection;
 *  - every fixed part is a multiple of 8 bytes, without implicit padding;
 *  - no pointers cross except addresses of the guest process, as __le64.
 *
 * Documentation/protocol.rst describes each message, who may send it when, and
 * what a malformed one gets.
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
 *     objects may be WATCHED or SIGNALED; flags in the header, windows with slots, and the
 *     operation ARENA_GET; EXPORT_CHANGE; BIND's reply has a cache attribute; ranges may
 *     have a mask, and WRITE_PAGES passes over those that cannot be written; MMAP's reply
 *     says VGPU_MAP_ACCESS;
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
 *     references to objects have numbers, which CLOSE names
 */
#ifndef _UAPI_LINUX_VGPU_WIRE_H
#define _UAPI_LINUX_VGPU_WIRE_H

#include <linux/types.h>

#define VGPU_WIRE_MAGIC		0x75706776	/* "vgpu" */
#define VGPU_WIRE_VERSION	1

/* The vsock port on which a host listens unless told otherwise. */
#define VGPU_WIRE_PORT		22586

/* Feature bits of HELLO and WELCOME; WELCOME's are a subset of HELLO's. */
#define VGPU_FEATURE_DEMAND	(1ULL << 0)	/* FETCH and WRITEBACK upcalls */
#define VGPU_FEATURE_COPY_MMAP	(1ULL << 1)	/* MMAP, READ_PAGES, WRITE_PAGES */
#define VGPU_FEATURE_WINDOW	(1ULL << 2)	/* windows: messages of them, and MMAP into one */
#define VGPU_FEATURE_ARENA	(1ULL << 3)	/* bytes of messages in a window */
#define VGPU_FEATURE_KEEP	(1ULL << 4)	/* KEPT segments, and RELEASE */
/* Goes with KEEP: while a call has KEPT segments, no other call finds what they name. */
#define VGPU_FEATURE_KEEP_ALONE	(1ULL << 5)
#define VGPU_FEATURES		(VGPU_FEATURE_DEMAND | VGPU_FEATURE_COPY_MMAP | \
				 VGPU_FEATURE_WINDOW | VGPU_FEATURE_ARENA | \
				 VGPU_FEATURE_KEEP | VGPU_FEATURE_KEEP_ALONE)

#define VGPU_NAME_LEN		32		/* export and driver names, with NUL */
#define VGPU_PATH_LEN		64		/* device path, with NUL */
#define VGPU_BUS_ID_LEN		64		/* name on a bus, with NUL */
#define VGPU_TITLE_LEN		64		/* V4L2's or ALSA's name of a node, with NUL */
#define VGPU_PCI_HEADER_LEN	64		/* of PCI configuration space */
#define VGPU_FILE_NAME_LEN	64		/* of a file of an export, with NUL */
#define VGPU_SECRET_LEN		32
#define VGPU_COMM_LEN		16

/* Upper bounds that no setting can raise; WELCOME may state lower ones. */
#define VGPU_CONTROL_MSG_MAX	4096		/* any message but those of a lane */
#define VGPU_CALL_BYTES_MAX	(64U << 20)	/* a lane's message, whole */
/* Each host allows at least so much: both sides move pages in batches. */
#define VGPU_CALL_BYTES_MIN	(512U << 10)
#define VGPU_SEGS_MAX		4096
#define VGPU_FIXUPS_MAX		8192
#define VGPU_FDS_MAX		64		/* fds that one call returns */
#define VGPU_KEPT_MAX		8		/* KEPT segments of a call */
#define VGPU_KEPT_NUMBERS	16384		/* of their memory, that mean something at once */
#define VGPU_RANGES_MAX		512		/* ranges of one WRITEBACK */
#define VGPU_PAGE_SIZE		4096		/* unit of FETCH and READ_PAGES */
#define VGPU_ARENA_SLOT		(1U << 20)	/* bytes of a slot */
#define VGPU_ARENA_SLOTS_MAX	64		/* slots of a window */
#define VGPU_FILE_MAX		(64U << 10)	/* bytes of a file of an export */
#define VGPU_FILE_PART		3840		/* of those in one message */
#define VGPU_CLOCK_MAX		(1ULL << 62)	/* nanoseconds that a clock shows */

/*
 * What a message is, by its sender.
 *
 * The first digit says where it belongs: 0x00.. handshake, 0x10.. control,
 * 0x20.. lane.
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
	VGPU_MSG_ACK		= 0x22,	/* guest: took the objects of a reply */
	VGPU_MSG_CANCEL		= 0x23,	/* guest */
	VGPU_MSG_FETCH		= 0x24,	/* host: upcall */
	VGPU_MSG_FETCHED	= 0x25,	/* guest: answer to FETCH */
	VGPU_MSG_WRITEBACK	= 0x26,	/* host: upcall */
	VGPU_MSG_WRITTEN	= 0x27,	/* guest: answer to WRITEBACK */
};

/*
 * CALL, REPLY, FETCHED and WRITEBACK: only the fixed part is sent. All that follows it,
 * from one byte to VGPU_ARENA_SLOT, lies at the beginning of the lane's slot.
 */
#define VGPU_HDR_ARENA		(1U << 0)

/**
 * struct vgpu_hdr - the beginning of every message
 * @len: bytes of the whole message, this header included
 * @type: enum vgpu_msg_type
 * @flags: VGPU_HDR_*
 * @seq: CALL: number of the call on this lane, rising by one from 1; REPLY,
 *	ACK, CANCEL and all upcalls with their answers: that call's number.
 *	CLOSE, UNMAP, SESSION_CLOSE, UNBIND, RELEASE: control sequence number, rising by one
 *	from 1; the RELEASE that answers has that one's. PING: any; PONG: the PING's. Else 0.
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
 * @version_min: lowest protocol version the guest speaks
 * @version_max: highest one
 * @page_size: VGPU_PAGE_SIZE
 * @reserved: 0
 * @features: VGPU_FEATURE_*
 * @instance: random, made anew at each load of the guest module
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
 * struct vgpu_welcome - host: the guest may go on
 * @hdr: VGPU_MSG_WELCOME
 * @magic: VGPU_WIRE_MAGIC
 * @version: the version that both will speak
 * @reserved: 0
 * @features: those of HELLO's that the host has as well
 * @secret: each lane proves with it that it belongs to this connection
 * @reserved_base: address range that every guest process must keep free for
 *	its shadow, page aligned
 * @reserved_size: bytes of it
 * @call_bytes_max: longest lane message
 * @segs_max: most segments a call
 * @fixups_max: most fixups a call
 * @lanes_max: most lanes a session
 * @ping_timeout_ms: the guest gives the host up when a PING stays unanswered
 *	for so long; 0: never
 * @tsc_khz: rate of the host's time-stamp counter, in kHz; 0: it has none
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
 * struct vgpu_refuse - host: why the connection is closed now
 * @hdr: VGPU_MSG_REFUSE
 * @error: positive errno: EPROTO (not understood), EPROTONOSUPPORT (version),
 *	EACCES (nothing is exported to it, wrong port, wrong secret), EBUSY (the
 *	peer's old connection is not cleaned up yet), EMFILE (a limit), ENODEV (the
 *	session has ended), ENOMEM
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
 * @secret: WELCOME's
 * @session: number of the session, chosen by the guest, never used twice on
 *	one control connection; the first lane of a session creates its shadow
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

#define VGPU_EXPORT_PLAIN	0	/* just a character device */
#define VGPU_EXPORT_DRM_PRIMARY	1	/* .../dri/cardN */
#define VGPU_EXPORT_DRM_RENDER	2	/* .../dri/renderDN */
#define VGPU_EXPORT_VIDEO	3	/* V4L2's: .../videoN */
#define VGPU_EXPORT_VBI		4	/* .../vbiN */
#define VGPU_EXPORT_RADIO	5	/* .../radioN */
#define VGPU_EXPORT_SDR		6	/* .../swradioN */
#define VGPU_EXPORT_TOUCH	7	/* .../v4l-touchN */
#define VGPU_EXPORT_SOUND	8	/* ALSA's: .../snd/pcmC0D0p and so on */
#define VGPU_EXPORT_MEDIA	9	/* of the media controller: .../mediaN */
#define VGPU_EXPORT_NVIDIA	10	/* of NVIDIA's own driver: .../nvidiactl and so on */
#define VGPU_EXPORT_LAST	VGPU_EXPORT_NVIDIA

/*
 * The bus of the device that nodes belong to. A device behind virtio is on the
 * bus of the transport, as for libdrm.
 */
enum vgpu_bus {
	VGPU_BUS_NONE		= 0,	/* none, or none of these */
	VGPU_BUS_PCI		= 1,
	VGPU_BUS_PLATFORM	= 2,
	VGPU_BUS_FAUX		= 3,
};

/**
 * struct vgpu_export_add - host: a device file that the guest may open
 * @hdr: VGPU_MSG_EXPORT_ADD
 * @export: number of the export on this connection, never 0, never used twice
 * @kind: VGPU_EXPORT_*
 * @device: which device it belongs to: exports with the same non-zero number
 *	are nodes of one device (a DRM card and its render node)
 * @rdev_major: of the host's node, by which results of media devices name it
 * @rdev_minor: likewise
 * @name: the export's name, NUL-padded
 * @driver: the host driver's name, NUL-padded
 * @path: the device file on the host, NUL-padded, for information
 * @bus: enum vgpu_bus; like what follows the same for all nodes of a device
 * @reserved: 0
 * @bus_id: its name there, NUL-padded: PCI: "0000:01:00.0"; platform: what its
 *	MODALIAS says; NONE: empty
 * @pci_header: PCI: the beginning of its configuration space; else zeros
 * @title: V4L2's: what sysfs has as the node's name; ALSA's: the node itself,
 *	"pcmC0D0p"; a media device's model; NVIDIA's: the node itself, "nvidiactl";
 *	NUL-padded; else zeros
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

/* VGPU_MSG_EXPORT_DEL: new opens fail; open objects live on. */
struct vgpu_export_del {
	struct vgpu_hdr hdr;
	__le32 export;
	__le32 reserved;
};

#define VGPU_CHANGE_HOTPLUG	(1U << 0)	/* of a display: look at connectors anew */
#define VGPU_CHANGE_LEASE	(1U << 1)	/* one has ended */
#define VGPU_CHANGE_WEDGED	(1U << 2)	/* the device hangs, or did until it was reset */
#define VGPU_CHANGES		(VGPU_CHANGE_HOTPLUG | VGPU_CHANGE_LEASE | VGPU_CHANGE_WEDGED)

/* What helps then, as DRM names it, bit by bit; a name that is not here is the last one. */
#define VGPU_WEDGED_NAMES	{ "none", "rebind", "bus-reset", "vendor-specific", "unknown" }
#define VGPU_WEDGED_UNKNOWN	(1U << 4)
#define VGPU_WEDGED_ALL		((VGPU_WEDGED_UNKNOWN << 1) - 1)

/**
 * struct vgpu_export_change - host: the driver of an exported DRM card has said "change"
 * @hdr: VGPU_MSG_EXPORT_CHANGE
 * @export: number of the export; the guest ignores those it has no card of
 * @flags: VGPU_CHANGE_*, at least one
 * @connector: HOTPLUG: the one that it is about; 0: any. Else 0
 * @property: the connector's that has changed; 0: any. 0 without a connector
 * @wedged: WEDGED: what helps, a bit for each of VGPU_WEDGED_NAMES, at least one. Else 0
 * @reserved: 0
 *
 * A message may stand for several of these events: of which connectors they were is
 * lost then, not that they were.
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

#define VGPU_FILE_GONE		(1U << 0)	/* there is no such file any more */

/**
 * struct vgpu_export_file - host: what a small file of an export's device holds
 * @hdr: VGPU_MSG_EXPORT_FILE
 * @export: number of the export; the guest ignores those it does not have
 * @flags: VGPU_FILE_*
 * @size: bytes of the whole file, VGPU_FILE_MAX at most; GONE: 0
 * @offset: of what follows in it, a multiple of VGPU_FILE_PART; 0, or less than @size
 * @name: a relative path, NUL-padded: names of letters, digits and ".", "_", "+", "-",
 *	":", none of which begins with a dot, with one "/" between two
 *
 * Followed by VGPU_FILE_PART bytes, or what is left of the file, padded to a multiple of 8.
 * The parts of a file come one after the other. A file is told when it is there, and again
 * when it has changed. Of a card: "HDMI-A-1/status" and so on, of its connectors. Of
 * NVIDIA's: "proc/driver/nvidia/params" and "proc/driver/nvidia/version" of nvidiactl,
 * "proc/driver/nvidia/gpus/0000:01:00.0/information" of a card.
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
 * struct vgpu_close - guest: gives a reference to an object back
 * @hdr: VGPU_MSG_CLOSE
 * @object: its number
 * @reference: of which, see struct vgpu_object_desc; one that has been given back is
 *	ignored, as the guest may not know how far the CLOSE call came that names it, too
 */
struct vgpu_close {
	struct vgpu_hdr hdr;
	__le32 object;
	__le32 reference;
};

/**
 * struct vgpu_unmap - guest: part of a mapping is gone
 * @hdr: VGPU_MSG_UNMAP
 * @session: whose shadow has it
 * @addr: first byte in the shadow, page aligned
 * @len: bytes, a multiple of the page size
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
 * The driver's poll only looks, so it was asked: revents is its answer, and the object
 * is armed for everything still.
 */
#define VGPU_POLL_ANSWER	(1U << 0)

/**
 * struct vgpu_poll_event - host: the driver woke the pollers of an object
 * @hdr: VGPU_MSG_POLL_EVENT
 * @object: the object; a POLL call arms it for its events, beside others
 * @revents: what the wakeup was for, and it is no longer armed for: a hint, whose
 *	truth the next POLL tells
 * @number: of the last POLL call on it, or of an IOCTL since whose reply had an answer;
 *	0 if there was none
 * @flags: VGPU_POLL_ANSWER
 */
struct vgpu_poll_event {
	struct vgpu_hdr hdr;
	__le32 object;
	__le32 revents;
	__le32 number;
	__le32 flags;
};

/* It was not signalled: the driver has let go of the eventfd. */
#define VGPU_EVENT_OVER		(1U << 0)

/**
 * struct vgpu_event_signal - host: the driver signalled the eventfd that a call named so
 * @hdr: VGPU_MSG_EVENT
 * @event: its number, which means nothing from now on
 * @flags: VGPU_EVENT_*
 */
struct vgpu_event_signal {
	struct vgpu_hdr hdr;
	__le32 event;
	__le32 flags;
};

/* The guest is to have nothing in it: what is there goes by copy from now on. */
#define VGPU_WINDOW_DRAIN	(1U << 0)

/**
 * struct vgpu_window_info - host: a window has come, or gone, or is to be used otherwise
 * @hdr: VGPU_MSG_WINDOW
 * @window: its number, never 0 and never used for another; what has it in its
 *	header (struct vgpu_window_header) is the window as the guest sees it
 * @size: bytes; 0: it is gone, with all that was bound in it
 * @flags: VGPU_WINDOW_*; 0 with size 0
 * @slots: slots that its last bytes are, VGPU_ARENA_SLOT each, where nothing is bound;
 *	0 with size 0, and where VGPU_FEATURE_ARENA was not agreed on
 *
 * There is one at most: the next comes when the one before has gone. The same one
 * comes again when its flags change.
 */
struct vgpu_window_info {
	struct vgpu_hdr hdr;
	__le64 window;
	__le64 size;
	__le32 flags;
	__le32 slots;
};

/**
 * struct vgpu_window_part - a range of a window
 * @hdr: VGPU_MSG_UNBIND, UNBOUND or INVALIDATE
 * @window: number of the window; messages about one that is gone mean nothing
 * @offset: in the window, page aligned, never 0
 * @len: bytes, a multiple of the page size
 *
 * UNBIND: the guest maps the range no more, and no MMAP that names it is under way.
 * UNBOUND: nothing is bound there any more: the guest may use the range for
 * something else. INVALIDATE: pages there are not the device's any more; the guest
 * takes them away from its programs, and asks with READ_PAGES, which makes the window
 * show the page anew, before it gives one back to a program.
 */
struct vgpu_window_part {
	struct vgpu_hdr hdr;
	__le64 window;
	__le64 offset;
	__le64 len;
};

#define VGPU_WINDOW_MAGIC	"vgpu-win"
#define VGPU_WINDOW_VERSION	1
/* A virtio device that has the window is one of this number ... */
#define VGPU_WINDOW_VIRTIO_ID	31
/* ... whose configuration space has what the header has before the slots. */
#define VGPU_WINDOW_CONFIG_LEN	32

/**
 * struct vgpu_window_header - what a window's memory begins with
 * @magic: VGPU_WINDOW_MAGIC, without the NUL
 * @version: VGPU_WINDOW_VERSION
 * @reserved: 0
 * @window: the window's number
 * @size: its bytes
 * @slots: of each slot, the number that ARENA_GET gave for it, until the host takes
 *	away what is in it: then 0, or another one
 *
 * By this a guest finds the window among the devices that share memory. The page
 * holds nothing else, and nothing is ever bound there.
 */
struct vgpu_window_header {
	__u8 magic[8];
	__le32 version;
	__le32 reserved;
	__le64 window;
	__le64 size;
	__le64 slots[VGPU_ARENA_SLOTS_MAX];
};

/**
 * struct vgpu_release - memory that devices kept is not kept any more
 * @hdr: VGPU_MSG_RELEASE
 * @number: number of the memory, as KEPT segments had it; it means nothing after the answer
 *
 * The guest says by it that whatever could keep the memory is closed, by messages and calls
 * before. The host answers when no device and nothing else there uses the memory any more: the
 * guest may use it for something else.
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
	VGPU_OP_MMAP		= 8,	/* class mm: never causes an upcall */
	VGPU_OP_READ_PAGES	= 9,	/* class mm */
	VGPU_OP_WRITE_PAGES	= 10,	/* class mm */
	VGPU_OP_FDINFO		= 11,
	VGPU_OP_BIND		= 12,	/* class mm */
	VGPU_OP_ARENA_GET	= 13,	/* class mm */
	VGPU_OP_PROTECT		= 14,	/* class mm */
	VGPU_OP_CLOCK		= 15,	/* class mm; nothing but what every reply tells */
};

#define VGPU_SEG_IN		(1U << 0)	/* bytes follow in the CALL */
#define VGPU_SEG_OUT		(1U << 1)	/* bytes come back in the REPLY */
/*
 * Not scratch memory but whole pages of the process at their own address, sent
 * along because the driver will probably look there: page aligned, IN only.
 */
#define VGPU_SEG_PAGE		(1U << 2)
/*
 * The segment stands for whole pages at their own address, too, which the device goes on using
 * when the call is over. Instead of their bytes a struct vgpu_kept says where they are in the
 * guest's memory, and the driver is given those very pages. IN only, and only of an ioctl whose
 * argument is another segment; not together with PAGE.
 */
#define VGPU_SEG_KEPT		(1U << 3)

/**
 * struct vgpu_seg - a piece of the process's memory that goes with a call
 * @addr: where it is in the process; for information unless VGPU_SEG_PAGE or KEPT
 * @len: bytes that go along; may be 0
 * @flags: VGPU_SEG_*
 *
 * The bytes of IN segments follow the fixups, those of OUT segments the fd
 * descriptors of the reply; each in the order of the segments, each padded with
 * zeros to a multiple of 8.
 */
struct vgpu_seg {
	__le64 addr;
	__le32 len;
	__le32 flags;
};

#define VGPU_KEPT_WRITE		(1U << 0)	/* the device may write to it */

/**
 * struct vgpu_kept - memory of the process that a device keeps
 * @number: the guest's number of the memory, never 0. RELEASE names it; until that is answered the
 *	guest uses the memory for nothing else. A later call that hands over the very same
 *	pages may use the number again
 * @len: number of bytes at the segment's address, whole pages: the sum of the runs' lengths
 * @flags: VGPU_KEPT_*
 * @reserved: 0
 *
 * One or more struct vgpu_run follow: the pages at the segment's address, in their order there.
 */
struct vgpu_kept {
	__le64 number;
	__le64 len;
	__le32 flags;
	__le32 reserved;
};

/**
 * struct vgpu_run - pages that follow one another in the guest's memory
 * @addr: physical address in the guest, page aligned
 * @len: bytes, a multiple of the page size
 */
struct vgpu_run {
	__le64 addr;
	__le64 len;
};

enum vgpu_fixup_type {
	/* 8 bytes: become the address of @target_offset in segment @target. */
	VGPU_FIXUP_PTR		= 1,
	/* 4 bytes: become an fd of object @target for the time of the call. */
	VGPU_FIXUP_FD_IN	= 2,
	/* 4 bytes, written by the driver on success: an fd that comes back. */
	VGPU_FIXUP_FD_OUT	= 3,
	/* The ioctl's result is an fd that comes back; @seg and @offset are 0. */
	VGPU_FIXUP_FD_RET	= 4,
	/* 4 bytes: like PTR, for structs of 32-bit processes: COMPAT only. */
	VGPU_FIXUP_PTR32	= 5,
	/*
	 * 8 bytes: nanoseconds from now, which become a time of the host's
	 * CLOCK_MONOTONIC. The reply has what the call had there.
	 */
	VGPU_FIXUP_TIME		= 6,
	/*
	 * 4 bytes: become an eventfd of the host for the time of the call. The
	 * guest calls it @target, not 0, and hears with VGPU_MSG_EVENT, once, that
	 * the driver signalled it, or never will; unless the call fails, or until its object is
	 * closed. At most one a call.
	 */
	VGPU_FIXUP_EVENT	= 7,
};

/**
 * struct vgpu_fixup - a place in a segment that the host must translate
 * @type: enum vgpu_fixup_type
 * @seg: segment that holds the place
 * @offset: of the place in it, in bytes, a multiple of 4 (there are packed
 *	structs), the whole field inside the segment; no two fixups overlap, but for an
 *	FD_OUT that comes after an FD_IN of the same place: what the driver left
 *	there is then an fd that comes back only if it replaced the one placed
 * @target: PTR: a segment; FD_IN: an object; EVENT: see there; else 0
 * @target_offset: PTR: offset in the target, at most its length; else 0
 */
struct vgpu_fixup {
	__le16 type;
	__le16 seg;
	__le32 offset;
	__le32 target;
	__le32 target_offset;
};

#define VGPU_IOCTL_ARG_VALUE	0	/* arg goes to the driver as it is */
#define VGPU_IOCTL_ARG_SEG	1	/* arg becomes the address of segment 0 */
/* arg, an object, becomes an fd of it for the time of the call. */
#define VGPU_IOCTL_ARG_FD	2

#define VGPU_CALL_COMPAT	(1U << 0)	/* made by a 32-bit process */
/* IOCTL: fences that it returns will be polled, so watch them from the beginning. */
#define VGPU_CALL_WATCH		(1U << 1)
/* IOCTL: the caller has CAP_SYS_ADMIN in the guest. The host decides what that is good for. */
#define VGPU_CALL_ADMIN		(1U << 2)
/* IOCTL: the reply is to say how the host's other clocks stand to CLOCK_MONOTONIC. */
#define VGPU_CALL_CLOCKS	(1U << 3)
/* READ_PAGES: the driver's operation for debuggers is to give the bytes, or there are none. */
#define VGPU_CALL_DEBUG		(1U << 4)

/* An object is 0 in calls that name none (OPEN). */
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
	__le64 arg;			/* ARG_VALUE: the value; ARG_SEG: 0; ARG_FD: see there */
	/* COMPAT and ARG_SEG: VGPU_LOW_BYTES or more for the segments; else 0 */
	__le64 low;
	__le64 low_len;
	__le32 number;			/* of POLL_EVENTs that come after the call */
	__le32 reserved;
	__le64 reserved2;
};

/*
 * 32-bit processes: drivers cut pointers to 32 bits, and structs may hold no
 * longer ones, so the segments lie below 4 GiB, where the process has nothing
 * else. The guest keeps the range free there for the time of the call: @low and
 * @low_len are page aligned, the end is at most 4 GiB, and the length is at least
 * this: @nr segments, of which those that are not PAGE have @bytes, padded.
 */
#define VGPU_LOW_BYTES(nr, bytes)	((__u64)(bytes) + (__u64)(nr) * 96)
#define VGPU_LOW_END			(1ULL << 32)

/* READ, FDINFO: one OUT segment, the buffer. WRITE: one IN segment. */
struct vgpu_args_rw {
	__le64 reserved[6];
};

struct vgpu_args_llseek {
	__le64 offset;			/* signed */
	__le32 whence;
	__le32 reserved;
	__le64 reserved2[4];
};

/* What a POLL may ask for and a POLL_EVENT tell of: all events of poll(2). */
#define VGPU_POLL_EVENTS	0x27ff

/* From now on every wakeup is told, for whatever it is. */
#define VGPU_POLL_STAY		(1U << 0)

struct vgpu_args_poll {
	__le32 events;
	__le32 flags;			/* VGPU_POLL_STAY */
	__le32 number;			/* any; POLL_EVENTs have it */
	__le32 reserved;
	__le64 reserved2[4];
};

/*
 * MMAP: the shadow maps the object at the same address.
 * prot: PROT_*; flags: MAP_SHARED or MAP_PRIVATE alone.
 * window: number of the window, at whose window_offset (page aligned, not 0) the host
 * shall bind the mapping if it can (VGPU_MAP_WINDOW); both 0: nowhere.
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
 * BIND: what one MMAP mapped at [addr, addr + len), all of which is there still, is to
 * be seen in the window, too. No object. Result: 0, -EBUSY, -EINVAL, -ENODEV, -ENOMEM,
 * -EOPNOTSUPP.
 */
struct vgpu_args_bind {
	__le64 addr;
	__le64 len;
	__le64 window;
	__le64 window_offset;
	__le64 reserved[2];
};

/*
 * ARENA_GET: slot @slot of the window is this lane's, for as long as there is the lane.
 * No object. Result: 0, -EBUSY (it is another lane's), -EEXIST (this lane has one),
 * -EINVAL, -EMFILE, -ENODEV, -ENOMEM.
 */
struct vgpu_args_arena {
	__le64 window;
	__le32 slot;
	__le32 reserved;
	__le64 reserved2[4];
};

/*
 * PROTECT: what there is of mappings in [addr, addr + len), made for reading, can be written
 * to as well. prot: PROT_WRITE, and perhaps PROT_READ. No object. Result: 0, -EACCES,
 * -EINVAL, or what the driver says.
 */
struct vgpu_args_protect {
	__le64 addr;
	__le64 len;
	__le32 prot;
	__le32 reserved;
	__le64 reserved2[3];
};

/*
 * READ_PAGES: one OUT segment receives len bytes; result: bytes that could be
 * read, a multiple of the page size, or -EFAULT for none.
 * WRITE_PAGES: segment 0 (IN) is an array of struct vgpu_range, segment 1 (IN)
 * their bytes, one after the other; addr and len are 0. A range that cannot be
 * written is passed over; result: bytes of the others, or -EFAULT for none.
 * Both only touch mappings made by MMAP. No object.
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
 * struct vgpu_range - where bytes of a WRITE_PAGES or WRITEBACK belong
 * @addr: first byte; MASK: of the page
 * @len: bytes of it that the message has, not 0; MASK: those of the mask, and one for
 *	each bit that is set in it, at least one
 * @flags: VGPU_RANGE_*
 */
struct vgpu_range {
	__le64 addr;
	__le32 len;
	__le32 flags;
};

/**
 * struct vgpu_call - guest: do this file operation
 * @hdr: VGPU_MSG_CALL
 * @op: enum vgpu_op
 * @flags: VGPU_CALL_*
 * @object: the object, or 0
 * @f_flags: the guest file's flags now (O_NONBLOCK, O_APPEND)
 * @nr_segs: struct vgpu_seg that follow
 * @nr_fixups: struct vgpu_fixup that follow those
 * @pos: the guest file's position now
 * @control_seq: control messages up to this number must be applied first
 * @args: of @op; the rest is 0
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
		struct vgpu_args_llseek llseek;
		struct vgpu_args_poll poll;
		struct vgpu_args_mmap mmap;
		struct vgpu_args_bind bind;
		struct vgpu_args_arena arena;
		struct vgpu_args_protect protect;
		struct vgpu_args_pages pages;
		__le64 raw[6];
	} args;
};

/* Which operations the host's file has. */
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
#define VGPU_OBJECT_CLOEXEC	(1U << 2)	/* the fd that comes back has it */
#define VGPU_OBJECT_SAME_DEVICE	(1U << 3)	/* as the object of the call: a DRM lease */
/* Of a SYNC_FILE, in the reply to a call with VGPU_CALL_WATCH, one or the other: */
#define VGPU_OBJECT_WATCHED	(1U << 4)	/* it is not signaled; a POLL_EVENT will tell */
#define VGPU_OBJECT_SIGNALED	(1U << 5)

/**
 * struct vgpu_object_desc - an object that a reply gives to the guest
 * @object: its number, never 0; the same host file has the same number for as
 *	long as the guest holds it, and each appearance in a reply is one
 *	reference that one CLOSE gives back
 * @kind: enum vgpu_object_kind
 * @fops: VGPU_FOP_*
 * @flags: VGPU_OBJECT_*
 * @space: opaque number of the address space that its mappings belong to:
 *	mappings with the same space and offset share memory
 * @size: of its inode (dma-buf), else 0
 * @fixup: index of the FD_OUT or FD_RET fixup that it answers; OPEN: 0
 * @f_flags: the file's O_ACCMODE, O_NONBLOCK and so on
 * @reference: number of the reference, 0 for the first one to an object; no two that
 *	the guest has of it at a time have the same
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
#define VGPU_MAP_PFNMAP		(1U << 6)	/* VM_PFNMAP: nobody else can have its pages */
#define VGPU_MAP_DONTCOPY	(1U << 7)
#define VGPU_MAP_DONTEXPAND	(1U << 8)
#define VGPU_MAP_DONTDUMP	(1U << 9)
#define VGPU_MAP_WINDOW		(1U << 10)	/* bound at the place in the window */
#define VGPU_MAP_ACCESS		(1U << 11)	/* the driver lets debuggers read and write it */
/* The host does not know whether ACCESS; a READ_PAGES with VGPU_CALL_DEBUG finds out. */
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
 * Where the object is armed for everything and was asked, what POLL would give; else 0.
 * With VGPU_CALL_CLOCKS nanoseconds, signed, by which the host's CLOCK_REALTIME and
 * CLOCK_MONOTONIC_RAW are ahead of its CLOCK_MONOTONIC, and its time-stamp counter at clock_in,
 * 0 if it has none; else 0.
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
	__le32 cache;			/* VGPU_CACHE_*, as seen in the window; on success */
	__le32 reserved;
	__le64 reserved2[3];
};

struct vgpu_out_arena {
	__le64 id;			/* of this slot of this lane alone, never 0; on success */
	__le64 reserved[3];
};

/* The error is the host's (a limit, a policy), not the driver's. */
#define VGPU_REPLY_REFUSED	(1U << 0)
/*
 * An fd that no fixup explains was closed; the error is EOPNOTSUPP unless
 * another one came after it. Bytes would have its number, so there are none: it is
 * REFUSED, too, where there could be.
 */
#define VGPU_REPLY_STRAY_FD	(1U << 1)
/*
 * The answer to an upcall did not come in time: the operation failed, and this is
 * the last message of the lane, which the guest closes. The host only waits for
 * that: it answers nothing that comes by the lane any more.
 */
#define VGPU_REPLY_LAST		(1U << 2)

/**
 * struct vgpu_reply - host: what the file operation gave
 * @hdr: VGPU_MSG_REPLY
 * @result: what the operation returned, negative errno included
 *	(-ERESTARTSYS and its kin too: the guest translates them)
 * @pos: the file's position afterwards
 * @flags: VGPU_REPLY_*
 * @nr_objects: struct vgpu_object_desc that follow
 * @reserved: 0
 * @clock_in: the host's CLOCK_MONOTONIC, in nanoseconds, when it had received the CALL's
 *	header
 * @clock_out: likewise when it was about to send this; not before @clock_in
 * @out: of the call's operation; the rest is 0
 *
 * Then the bytes of OUT segments, whole, also when the operation failed; of
 * READ, FDINFO and READ_PAGES only as many as @result says. A reply that is REFUSED
 * carries no objects and no bytes. A reply with objects is answered by an ACK;
 * if the lane ends without it, the host takes the objects back.
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
		struct vgpu_out_arena arena;
		__le64 raw[4];
	} out;
};

/* VGPU_MSG_LANE_READY, ACK, CANCEL, PING and PONG are a header alone. */

/* VGPU_MSG_FETCH: give me the page at @addr of the calling process. */
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
VGPU_ASSERT_SIZE(vgpu_args_llseek, 48);
VGPU_ASSERT_SIZE(vgpu_args_poll, 48);
VGPU_ASSERT_SIZE(vgpu_args_mmap, 48);
VGPU_ASSERT_SIZE(vgpu_args_bind, 48);
VGPU_ASSERT_SIZE(vgpu_args_arena, 48);
VGPU_ASSERT_SIZE(vgpu_args_protect, 48);
VGPU_ASSERT_SIZE(vgpu_args_pages, 48);
VGPU_ASSERT_SIZE(vgpu_range, 16);
VGPU_ASSERT_SIZE(vgpu_call, 96);
VGPU_ASSERT_SIZE(vgpu_object_desc, 48);
VGPU_ASSERT_SIZE(vgpu_out_mmap, 32);
VGPU_ASSERT_SIZE(vgpu_out_poll, 32);
VGPU_ASSERT_SIZE(vgpu_out_bind, 32);
VGPU_ASSERT_SIZE(vgpu_out_arena, 32);
VGPU_ASSERT_SIZE(vgpu_reply, 88);
VGPU_ASSERT_SIZE(vgpu_fetch, 32);
VGPU_ASSERT_SIZE(vgpu_fetched, 24);
VGPU_ASSERT_SIZE(vgpu_writeback, 24);
VGPU_ASSERT_SIZE(vgpu_written, 24);

#endif /* _UAPI_LINUX_VGPU_WIRE_H */
