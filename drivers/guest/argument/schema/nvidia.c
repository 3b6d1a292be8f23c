// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of NVIDIA's own driver, for /dev/nvidiactl, /dev/nvidia0 and so on. The kernel has no
 * header of the driver: the layouts are those of the open modules 550 to 595.
 *
 * The driver recognizes its ioctls by the number alone. Three of them lead to everything else.
 * RM_ALLOC makes an object of a class; the size of its parameters is in a table of the driver,
 * whatever the program states. RM_CONTROL gives an object a command; the program states the
 * size of its parameters, and the driver rejects a wrong one. XFER wraps any other ioctl.
 *
 * If the size of a class has grown with the driver, the table has the largest one: an older
 * driver leaves the bytes behind its own size unchanged. A class that is not listed is counted,
 * and left to demand paging, as are pointers in parameters that no entry names. Memory that the
 * device keeps is handed over only by RM_ALLOC_MEMORY of class 0x71: in RM_ALLOC and
 * VID_HEAP_CONTROL the driver gets the program's own address, cannot pin it, and reports that
 * in its status.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "nvidia_rm.h"

#define NV(nr, s)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, sizeof(s))

/* --- files ------------------------------------------------------------------ */

struct nv_register {
	__s32 control;
};

#define NV_REGISTER_FD		NV(0xc9, struct nv_register)

static const struct vgpu_schema_field register_fd[] = {
	{ VGPU_FD_IN(struct nv_register, control) },
};

/* The driver finds an event by the number of the fd, and by the client. */
struct nv_os_event {
	__u32 client;
	__u32 device;
	__s32 fd;
	__u32 status;
};

#define NV_ALLOC_OS_EVENT	NV(0xce, struct nv_os_event)
#define NV_FREE_OS_EVENT	NV(0xcf, struct nv_os_event)

static const struct vgpu_schema_field os_event[] = {
	{ VGPU_FD_IN(struct nv_os_event, fd) },
};

/* Struct of the open modules 580; older ones are shorter. */
struct nv_dma_buf {
	__s32 fd;
	__u8 rest[2604];
};

#define NV_EXPORT_DMA_BUF	NV(0xd9, struct nv_dma_buf)

/* An fd of -1 asks for a new dma-buf; any other fd is that of a dma-buf to extend. */
static const struct vgpu_schema_field export_dma_buf[] = {
	{ VGPU_FD_IN(struct nv_dma_buf, fd) },
	{ VGPU_FD_OUT(struct nv_dma_buf, fd) },
};

/* --- memory ----------------------------------------------------------------- */

/*
 * The next mmap() of the file maps the memory. @address is a key; for memory to pin it is the
 * address in the program.
 */
struct nv_alloc_memory {
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 class;
	__u32 flags;
	__u32 pad;
	__u64 address;
	__u64 limit;
	__u32 status;
	__u32 pad2;
	__s32 fd;
	__u32 pad3;
};

#define NV_RM_ALLOC_MEMORY	NV(0x27, struct nv_alloc_memory)

#define NV_MEMORY_OS_DESCRIPTOR	0x71	/* the program's own memory */

static const struct vgpu_schema_field alloc_memory[] = {
	{ VGPU_FD_IN(struct nv_alloc_memory, fd) },
	/* The limit is the offset of the last byte, so one byte (.mask) is added to the count. */
	{ VGPU_KEPT(struct nv_alloc_memory, address), .dir = VGPU_INOUT, .mask = 1,
	  .count = VGPU_FIELD(struct nv_alloc_memory, limit),
	  .out_count = VGPU_FIELD(struct nv_alloc_memory, status), .max = RM_NO_MEMORY,
	  .when = VGPU_WHEN_EQUAL(struct nv_alloc_memory, class, NV_MEMORY_OS_DESCRIPTOR) },
};

struct nv_map_memory {
	__u32 client;
	__u32 device;
	__u32 memory;
	__u32 pad;
	__u64 offset;
	__u64 length;
	__u64 address;
	__u32 status;
	__u32 flags;
	__s32 fd;
	__u32 pad2;
};

#define NV_RM_MAP_MEMORY	NV(0x4e, struct nv_map_memory)

static const struct vgpu_schema_field map_memory[] = {
	{ VGPU_FD_IN(struct nv_map_memory, fd) },
};

struct nv_idle_channels {
	__u32 client;
	__u32 device;
	__u32 channel;
	__u32 count;
	__u64 clients;
	__u64 devices;
	__u64 channels;
	__u32 flags;
	__u32 timeout;
	__u32 status;
	__u32 pad;
};

#define NV_RM_IDLE_CHANNELS	NV(0x41, struct nv_idle_channels)

#define IDLE(member) \
	{ VGPU_PTR(struct nv_idle_channels, member), .dir = VGPU_IN, .unit = sizeof(__u32), \
	  .count = VGPU_FIELD(struct nv_idle_channels, count) }

static const struct vgpu_schema_field idle_channels[] = {
	IDLE(clients),
	IDLE(devices),
	IDLE(channels),
};

/* --- RM_ALLOC --------------------------------------------------------------- */

/* Both forms have the same number and are equal up to @params. */
struct nv_alloc {
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 class;
	__u64 params;
	__u32 size;
	__u32 status;
};

struct nv_alloc_rights {
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 class;
	__u64 params;
	__u64 rights;
	__u32 size;
	__u32 flags;
	__u32 status;
	__u32 pad;
};

#define NV_RM_ALLOC		NV(0x2b, struct nv_alloc)
#define NV_RM_ALLOC_RIGHTS	NV(0x2b, struct nv_alloc_rights)

/* An fd in parameters has the size of a pointer. */
struct nv_fd {
	__s32 fd;
	__u32 high;
};

struct nv_event {
	__u32 client;
	__u32 source;
	__u32 class;
	__u32 index;
	struct nv_fd event;
};

#define NV_EVENT		0x05
#define NV_EVENT_OS		0x79

/* Parameters of NV_EVENT, which contain the class of the event: only an OS event has an fd. */
static const struct vgpu_schema_field event_params[] = {
	{ VGPU_FD_IN(struct nv_event, event.fd),
	  .when = VGPU_WHEN_EQUAL(struct nv_event, class, NV_EVENT_OS) },
};

static const struct vgpu_schema_struct an_os_event =
	VGPU_STRUCT_ONE(struct nv_event, { VGPU_FD_IN(struct nv_event, event.fd) });
static const struct vgpu_schema_struct an_event = VGPU_STRUCT(struct nv_event, event_params);

/*
 * Struct of @n bytes with one field. EVENT_AT() is the field for the fd of an event; an fd of 0
 * means that there is no event.
 */
#define WITH_FIELD(n, ...) \
	(const struct vgpu_schema_struct){ .size = (n), VGPU_ONE({ __VA_ARGS__ }) }
#define EVENT_AT(at) \
	VGPU_FD_IN_AT(at), \
	.when = { .ref = { .kind = VGPU_REF_FIELD, .offset = (at), .size = sizeof(__s32) }, \
		  .mask = ~0ULL, .value = 1, .least = true }

/* Parameters that begin with the fd of a capability, a file of /dev/nvidia-caps. */
#define CAPABILITY(n)	WITH_FIELD(n, VGPU_FD_IN_AT(0))

struct nv_imex_session {
	struct nv_fd file;
	__u8 flags[8];
	struct nv_fd event;
	__u8 rest[8];
};

static const struct vgpu_schema_field imex_session[] = {
	{ VGPU_FD_IN(struct nv_imex_session, file.fd) },
	{ EVENT_AT(offsetof(struct nv_imex_session, event)) },
};

static const struct vgpu_schema_struct an_imex_session =
	VGPU_STRUCT(struct nv_imex_session, imex_session);

#define OF_CLASS(c)	.when = VGPU_WHEN_EQUAL(struct nv_alloc, class, c)
#define PARAMS_OF(c)	VGPU_PTR(struct nv_alloc, params), .dir = VGPU_INOUT, OF_CLASS(c)
/* Entries for plain parameters of @n bytes, and for parameters with fields. */
#define PARAMS(c, n)	{ PARAMS_OF(c), .unit = (n) }
#define PARAMS_WITH(c, s) { PARAMS_OF(c), .elem = &(s) }

#define ROOT		4
#define MEMORY		128
#define MEMORY_LIST	152
#define CHANNEL		368
#define COPY		8
#define GRAPHICS	16
#define VIDEO		12

/* Mask and value of the class of a channel of any generation. */
#define CHANNEL_MASK	0xffff80ff
#define CHANNEL_CLASS	0x806f

/*
 * @rights exists in the longer form only. Work on a channel is submitted by stores to mapped
 * memory, and its end is found by loads from there, so channels need a window (LIVE).
 */
static const struct vgpu_schema_field alloc[] = {
	{ VGPU_PTR(struct nv_alloc_rights, rights), .dir = VGPU_INOUT, .unit = sizeof(__u32) },
	{ VGPU_LIVE(struct nv_alloc, class), .error = EINVAL,
	  .when = { .ref = VGPU_FIELD(struct nv_alloc, class), .mask = CHANNEL_MASK,
		    .value = CHANNEL_CLASS } },
	PARAMS(0x00, ROOT),
	PARAMS(0x01, ROOT),
	PARAMS(0x02, 32),			/* context DMA */
	PARAMS_WITH(NV_EVENT, an_event),
	PARAMS_WITH(0x0f, CAPABILITY(16)),	/* fabric manager */
	PARAMS(0x20, ROOT),
	PARAMS(0x3e, MEMORY),
	PARAMS(0x40, MEMORY),
	PARAMS(0x41, ROOT),
	PARAMS(0x42, MEMORY),
	PARAMS(0x60, 4),			/* boost */
	PARAMS(0x70, 24),			/* virtual memory */
	PARAMS(0x71, 40),			/* memory to pin: the address is unchanged */
	PARAMS_WITH(NV_EVENT_OS, an_os_event),
	PARAMS(0x80, 56),			/* device */
	PARAMS(0x81, MEMORY_LIST),
	PARAMS(0x82, MEMORY_LIST),
	PARAMS(0x83, MEMORY_LIST),
	PARAMS(0xb1, 120),			/* resources of the memory controller */
	PARAMS(0xda, 16),			/* semaphore surface */
	PARAMS(0xdb, 8),
	PARAMS(0xde, 8),			/* shared data */
	PARAMS(0xe0, 244),			/* export */
	PARAMS_WITH(0xf1, an_imex_session),
	PARAMS(0xf3, 56),
	PARAMS(0xf8, 48),			/* fabric memory */
	PARAMS_WITH(0xf9, WITH_FIELD(64, EVENT_AT(48))),
	PARAMS(0xfb, 32),
	PARAMS_WITH(0xfd, WITH_FIELD(80, EVENT_AT(72))),
	PARAMS(0xfe, 24),			/* mapper */
	PARAMS(0x2080, 4),			/* subdevice */
	PARAMS(0x2081, 4),
	PARAMS(0x2082, 4),
	PARAMS(0x503b, 88),			/* peer to peer */
	PARAMS(0x503c, 4),
	PARAMS(0x50a0, MEMORY),
	PARAMS(0x83de, 12),			/* debugger */
	PARAMS(0x902d, GRAPHICS),
	PARAMS(0x9067, 12),			/* share of a context */
	PARAMS(0x906f, CHANNEL),
	/* The memory of an event buffer is given by handles of objects, not by addresses. */
	PARAMS_WITH(0x90cd, WITH_FIELD(72, EVENT_AT(40))),
	PARAMS(0x90ce, MEMORY),
	PARAMS(0x90f1, 56),			/* address space */
	PARAMS(0xa06c, 20),			/* group of channels */
	PARAMS(0xa06f, CHANNEL),
	PARAMS(0xa0bc, 20),			/* session of an encoder, of a capture */
	PARAMS(0xa0bd, 20),
	PARAMS(0xa140, GRAPHICS),
	PARAMS(0xa16f, CHANNEL),
	PARAMS(0xb06f, CHANNEL),
	PARAMS(0xb0b5, COPY),
	PARAMS(0xb1cc, 4),			/* profilers */
	PARAMS(0xb2cc, 8),
	PARAMS(0xb4b7, VIDEO),
	PARAMS(0xb8b0, VIDEO),
	PARAMS(0xb8d1, VIDEO),
	PARAMS(0xb8fa, VIDEO),
	PARAMS(0xc06f, CHANNEL),
	PARAMS(0xc0b5, COPY),
	PARAMS(0xc36f, CHANNEL),
	PARAMS(0xc46f, CHANNEL),
	PARAMS(0xc4b0, VIDEO),
	PARAMS(0xc4b7, VIDEO),
	PARAMS(0xc4d1, VIDEO),
	PARAMS(0xc56f, CHANNEL),
	PARAMS(0xc574, 8),
	PARAMS(0xc597, GRAPHICS),
	PARAMS(0xc5b5, COPY),
	PARAMS(0xc5c0, GRAPHICS),
	PARAMS_WITH(0xc637, CAPABILITY(16)),	/* parts of a card */
	PARAMS_WITH(0xc638, CAPABILITY(16)),
	PARAMS_WITH(0xc639, CAPABILITY(8)),
	PARAMS_WITH(0xc640, CAPABILITY(8)),
	PARAMS(0xc661, 2),			/* doorbells */
	PARAMS(0xc697, GRAPHICS),
	PARAMS(0xc6b0, VIDEO),
	PARAMS(0xc6b5, COPY),
	PARAMS(0xc6c0, GRAPHICS),
	PARAMS(0xc6fa, VIDEO),
	PARAMS(0xc761, 2),
	PARAMS(0xc797, GRAPHICS),
	PARAMS(0xc7b0, VIDEO),
	PARAMS(0xc7b5, COPY),
	PARAMS(0xc7b7, VIDEO),
	PARAMS(0xc7c0, GRAPHICS),
	PARAMS(0xc7fa, VIDEO),
	PARAMS(0xc86f, CHANNEL),
	PARAMS(0xc8b5, COPY),
	PARAMS(0xc96f, CHANNEL),
	PARAMS(0xc997, GRAPHICS),
	PARAMS(0xc9b0, VIDEO),
	PARAMS(0xc9b5, COPY),
	PARAMS(0xc9b7, VIDEO),
	PARAMS(0xc9c0, GRAPHICS),
	PARAMS(0xc9d1, VIDEO),
	PARAMS(0xc9fa, VIDEO),
	PARAMS(0xca6f, CHANNEL),
	PARAMS(0xcab5, COPY),
	PARAMS(0xcb33, 4),			/* confidential computing */
	PARAMS(0xcb97, GRAPHICS),
	PARAMS(0xcbc0, GRAPHICS),
	PARAMS(0xcd40, GRAPHICS),
	PARAMS(0xcd97, GRAPHICS),
	PARAMS(0xcdb0, VIDEO),
	PARAMS(0xcdc0, GRAPHICS),
	PARAMS(0xcdd1, VIDEO),
	PARAMS(0xcdfa, VIDEO),
	PARAMS(0xce97, GRAPHICS),
	PARAMS(0xceb0, VIDEO),
	PARAMS(0xceb7, VIDEO),
	PARAMS(0xcec0, GRAPHICS),
	PARAMS(0xced0, VIDEO),
	PARAMS(0xcefa, VIDEO),
	PARAMS(0xcfb0, VIDEO),
	PARAMS(0xcfb7, VIDEO),
	PARAMS(0xcfd1, VIDEO),
	PARAMS(0xcffa, VIDEO),
	PARAMS(0xd1b0, VIDEO),
	PARAMS(0xd1b7, VIDEO),
	PARAMS(0xd1fa, VIDEO),
	{ VGPU_UNKNOWN(struct nv_alloc, params), .count = VGPU_FIELD(struct nv_alloc, class) },
};

#define ALLOC_SHORT	{ .size = sizeof(struct nv_alloc), \
			  .nr_fields = ARRAY_SIZE(alloc) - 1, .fields = alloc + 1 }

/* --- RM_CONTROL ------------------------------------------------------------- */

struct nv_control {
	__u32 client;
	__u32 object;
	__u32 cmd;
	__u32 flags;
	__u64 params;
	__u32 size;
	__u32 status;
};

#define NV_RM_CONTROL		NV(0x2a, struct nv_control)

/* Flag: the parameters are a message without pointers. */
#define NV_CONTROL_SERIALIZED	0x4

/* Parameters that begin with a count and the address of an array. */
struct nv_list {
	__u32 count;
	__u32 pad;
	__u64 list;
};

/* Parameters that begin with a number, a count and the address of an array. */
struct nv_list_of {
	__u32 of;
	__u32 count;
	__u64 list;
};

struct nv_info {
	__u32 index;
	__u32 data;
};

#define LIST(s, t) \
	{ VGPU_PTR(s, list), .dir = VGPU_INOUT, .unit = sizeof(t), .count = VGPU_FIELD(s, count) }

static const struct vgpu_schema_struct has_infos =
	VGPU_STRUCT_ONE(struct nv_list, LIST(struct nv_list, struct nv_info));
static const struct vgpu_schema_struct has_numbers =
	VGPU_STRUCT_ONE(struct nv_list, LIST(struct nv_list, __u32));
static const struct vgpu_schema_struct has_numbers_of =
	VGPU_STRUCT_ONE(struct nv_list_of, LIST(struct nv_list_of, __u32));
static const struct vgpu_schema_struct has_bytes =
	VGPU_STRUCT_ONE(struct nv_list, LIST(struct nv_list, __u8));
static const struct vgpu_schema_struct has_bytes_of =
	VGPU_STRUCT_ONE(struct nv_list_of, LIST(struct nv_list_of, __u8));

struct nv_channel_list {
	__u32 count;
	__u32 pad;
	__u64 handles;
	__u64 channels;
};

#define CHANNELS(member) \
	{ VGPU_PTR(struct nv_channel_list, member), .dir = VGPU_INOUT, .unit = sizeof(__u32), \
	  .count = VGPU_FIELD(struct nv_channel_list, count) }

static const struct vgpu_schema_field channels[] = {
	CHANNELS(handles),
	CHANNELS(channels),
};

static const struct vgpu_schema_struct has_channels = VGPU_STRUCT(struct nv_channel_list, channels);

/* Parameters with three strings, whose buffers have the same size. */
struct nv_build_version {
	__u32 room;
	__u32 pad;
	__u64 driver;
	__u64 version;
	__u64 title;
};

#define STRING(member) \
	{ VGPU_PTR(struct nv_build_version, member), .dir = VGPU_INOUT, \
	  .count = VGPU_FIELD(struct nv_build_version, room) }

static const struct vgpu_schema_field build_version[] = {
	STRING(driver),
	STRING(version),
	STRING(title),
};

static const struct vgpu_schema_struct has_strings =
	VGPU_STRUCT(struct nv_build_version, build_version);

/* Capabilities of pairs of cards: each array has an entry for each pair. */
struct nv_peer_caps {
	__u8 cards[128];
	__u32 count;
	__u8 caps[28];
	__u64 peers;
	__u64 egm_peers;
};

#define PEERS(member) \
	{ VGPU_PTR(struct nv_peer_caps, member), .dir = VGPU_INOUT, .unit = sizeof(__u32), \
	  .count = VGPU_FIELD(struct nv_peer_caps, count), \
	  .times = VGPU_FIELD(struct nv_peer_caps, count) }

static const struct vgpu_schema_field peer_caps[] = {
	PEERS(peers),
	PEERS(egm_peers),
};

static const struct vgpu_schema_struct has_peers = VGPU_STRUCT(struct nv_peer_caps, peer_caps);

struct nv_register_ops {
	__u8 how[20];
	__u32 count;
	__u64 list;
};

static const struct vgpu_schema_struct has_register_ops =
	VGPU_STRUCT_ONE(struct nv_register_ops, LIST(struct nv_register_ops, __u8[32]));

struct nv_debug_memory {
	__u32 memory;
	__u32 count;
	__u32 offset;
	__u32 pad;
	__u64 list;
};

static const struct vgpu_schema_struct has_memory =
	VGPU_STRUCT_ONE(struct nv_debug_memory, LIST(struct nv_debug_memory, __u8));

/*
 * Clients pass objects to each other by a control file that the program has opened: parameters of
 * @n bytes end with the fd of that file.
 */
#define ENDS_WITH_FILE(n)	WITH_FIELD(n, VGPU_FD_IN_AT((n) - 4))
/* Parameters that end with the fd of a card's file, which has the size of a pointer. */
#define ENDS_WITH_CARD(n)	WITH_FIELD(n, VGPU_FD_IN_AT((n) - 8))
#define ENDS_WITH_EVENT(n)	WITH_FIELD(n, EVENT_AT((n) - 8))

/* List of the processes that use the card, in the shadow's namespace: only the shadow is there. */
struct nv_pids {
	__u32 of;
	__u32 class;
	__u32 count;
	__u32 pids[950];
};

static const struct vgpu_schema_struct has_pids =
	VGPU_STRUCT_ONE(struct nv_pids,
			{ VGPU_PIDS(struct nv_pids, pids[0]), .unit = sizeof(__u32),
			  .max = ARRAY_SIZE(((struct nv_pids *)0)->pids) });

/* Size of the card's memory that each process uses. */
struct nv_pid_infos {
	__u32 count;
	__u32 pad;
	struct {
		__u32 pid;
		__u32 what[17];
	} processes[200];
};

static const struct vgpu_schema_field pid_infos[] = {
	{ VGPU_PIDS(struct nv_pid_infos, processes[0].pid), .unit = 72, .max = 200 },
};

static const struct vgpu_schema_struct has_pid_infos =
	VGPU_STRUCT(struct nv_pid_infos, pid_infos);

/* Samples of the card's clock with the time of a host's clock at that moment. */
struct nv_times {
	__u8 clock;
	__u8 count;
	__u8 pad[6];
	struct {
		__u64 cpu;
		__u64 card;
	} samples[16];
};

#define NV_CLOCK_REALTIME	1	/* in microseconds */
#define NV_CLOCK_TSC		2
#define NV_CLOCK_RAW		3	/* one sample, whatever the count */

#define TIME(i, id) \
	VGPU_STAMP(struct nv_times, samples[i].cpu), \
	.when = VGPU_WHEN_EQUAL(struct nv_times, clock, id)
#define TIMES(i) \
	{ TIME(i, NV_CLOCK_REALTIME), .clock = VGPU_CLOCK_REALTIME, .max = NSEC_PER_USEC }, \
	{ TIME(i, NV_CLOCK_TSC), .clock = VGPU_CLOCK_TSC }

static const struct vgpu_schema_field times[] = {
	TIMES(0),
	{ TIME(0, NV_CLOCK_RAW), .clock = VGPU_CLOCK_RAW },
	TIMES(1), TIMES(2), TIMES(3), TIMES(4), TIMES(5), TIMES(6), TIMES(7), TIMES(8),
	TIMES(9), TIMES(10), TIMES(11), TIMES(12), TIMES(13), TIMES(14), TIMES(15),
};

static const struct vgpu_schema_struct has_times = VGPU_STRUCT(struct nv_times, times);

/* Entry whose struct describes the beginning of the parameters. */
#define CONTROL(c, s) \
	{ VGPU_PTR(struct nv_control, params), .dir = VGPU_INOUT, .elem = &(s), \
	  .stride = VGPU_FIELD(struct nv_control, size), \
	  .when = VGPU_WHEN_EQUAL(struct nv_control, cmd, c) }

static const struct vgpu_schema_field control[] = {
	{ VGPU_PTR(struct nv_control, params), .dir = VGPU_INOUT,
	  .count = VGPU_FIELD(struct nv_control, size),
	  .when = VGPU_WHEN_FLAG(struct nv_control, flags, NV_CONTROL_SERIALIZED) },
	CONTROL(0x00000101, has_strings),
	CONTROL(0x00000127, has_peers),
	CONTROL(0x00000d08, CAPABILITY(8)),	/* a channel between nodes */
	CONTROL(0x00003d05, ENDS_WITH_FILE(20)),
	CONTROL(0x00003d06, ENDS_WITH_FILE(4)),
	CONTROL(0x00003d08, ENDS_WITH_FILE(4)),
	CONTROL(0x00003d0a, ENDS_WITH_FILE(76)),
	CONTROL(0x00003d0b, ENDS_WITH_FILE(4)),
	CONTROL(0x00003d0c, ENDS_WITH_FILE(4)),
	CONTROL(0x00410110, has_infos),		/* surface */
	CONTROL(0x00800201, has_numbers),	/* classes */
	CONTROL(0x00801102, has_bytes),		/* capabilities of graphics */
	CONTROL(0x00801104, has_infos),
	CONTROL(0x00801301, has_bytes),		/* capabilities of memory */
	CONTROL(0x00801401, has_bytes),		/* capabilities of the host interface */
	CONTROL(0x00801701, has_bytes),		/* capabilities of channels */
	CONTROL(0x0080170d, has_channels),
	CONTROL(0x00801b01, has_bytes),		/* capabilities of encoders and decoders */
	CONTROL(0x00801c01, has_bytes),
	CONTROL(0x00da0003, ENDS_WITH_EVENT(32)),
	CONTROL(0x00da0005, ENDS_WITH_EVENT(24)),
	CONTROL(0x00e00101, ENDS_WITH_CARD(1048)),
	CONTROL(0x00fd0103, ENDS_WITH_EVENT(8)),
	CONTROL(0x00fd0104, ENDS_WITH_CARD(16)),
	CONTROL(0x20800101, has_infos),		/* card */
	CONTROL(0x2080018d, has_pids),
	CONTROL(0x2080018e, has_pid_infos),
	CONTROL(0x20800122, has_register_ops),
	CONTROL(0x20800123, has_numbers),	/* engines */
	CONTROL(0x20800124, has_numbers_of),	/* classes of an engine */
	CONTROL(0x20800406, has_times),
	CONTROL(0x20800802, has_infos),		/* BIOS */
	CONTROL(0x20801201, has_infos),		/* graphics */
	CONTROL(0x20801301, has_infos),		/* memory */
	CONTROL(0x20801802, has_infos),		/* bus */
	CONTROL(0x20802a01, has_bytes_of),	/* capabilities of one copy engine */
	CONTROL(0x83de0315, has_memory),
	CONTROL(0x83de0316, has_memory),
	FILLS(struct nv_control, params, __u8, size),
	{ VGPU_COMMAND(struct nv_control, cmd) },
};

/* --- XFER ------------------------------------------------------------------- */

/* @cmd is the number of the other ioctl, without its size and type. */
struct nv_xfer {
	__u32 cmd;
	__u32 size;
	__u64 arg;
};

#define NV_XFER			NV(0xd3, struct nv_xfer)

static const struct vgpu_schema_struct an_alloc_memory =
	VGPU_STRUCT(struct nv_alloc_memory, alloc_memory);
static const struct vgpu_schema_struct a_control = VGPU_STRUCT(struct nv_control, control);
/* Both forms of RM_ALLOC begin like this; the longer one's rights are left to demand paging. */
static const struct vgpu_schema_struct an_alloc = ALLOC_SHORT;
static const struct vgpu_schema_struct a_map_memory =
	VGPU_STRUCT(struct nv_map_memory, map_memory);
static const struct vgpu_schema_struct a_register = VGPU_STRUCT(struct nv_register, register_fd);
static const struct vgpu_schema_struct an_event_ioctl = VGPU_STRUCT(struct nv_os_event, os_event);
static const struct vgpu_schema_struct a_dma_buf = VGPU_STRUCT(struct nv_dma_buf, export_dma_buf);

#define WRAPPED(c, s) \
	{ VGPU_PTR(struct nv_xfer, arg), .dir = VGPU_INOUT, .elem = &(s), \
	  .stride = VGPU_FIELD(struct nv_xfer, size), \
	  .when = VGPU_WHEN_EQUAL(struct nv_xfer, cmd, _IOC_NR(c)) }

static const struct vgpu_schema_field xfer[] = {
	WRAPPED(NV_RM_ALLOC_MEMORY, an_alloc_memory),
	WRAPPED(NV_RM_CONTROL, a_control),
	WRAPPED(NV_RM_ALLOC, an_alloc),
	WRAPPED(NV_RM_MAP_MEMORY, a_map_memory),
	WRAPPED(NV_REGISTER_FD, a_register),
	WRAPPED(NV_ALLOC_OS_EVENT, an_event_ioctl),
	WRAPPED(NV_FREE_OS_EVENT, an_event_ioctl),
	WRAPPED(NV_EXPORT_DMA_BUF, a_dma_buf),
	FILLS(struct nv_xfer, arg, __u8, size),
};

/* --- plain data -------------------------------------------------------------- */

#define NV_RM_FREE		NV(0x29, __u8[16])
#define NV_RM_DUP_OBJECT	NV(0x34, __u8[28])
#define NV_RM_SHARE		NV(0x35, __u8[24])
#define NV_RM_VID_HEAP_CONTROL	NV(0x4a, __u8[184])
#define NV_RM_UNMAP_MEMORY	NV(0x4f, __u8[32])
#define NV_RM_ALLOC_CONTEXT_DMA	NV(0x54, __u8[56])
#define NV_RM_MAP_MEMORY_DMA	NV(0x57, __u8[64])
#define NV_RM_UNMAP_MEMORY_DMA	NV(0x58, __u8[48])
#define NV_RM_BIND_CONTEXT_DMA	NV(0x59, __u8[16])
#define NV_RM_UPDATE_MAPPING	NV(0x5e, __u8[40])
#define NV_CARD_INFO		NV(0xc8, __u8[32 * 72])
#define NV_STATUS_CODE		NV(0xd1, __u8[12])
#define NV_CHECK_VERSION	NV(0xd2, __u8[72])
#define NV_ATTACH_CARDS		NV(0xd4, __u8[32 * 4])
#define NV_QUERY_INTERRUPT	NV(0xd5, __u8[8])
#define NV_SYSTEM_PARAMS	NV(0xd6, __u8[8])
#define NV_NUMA_INFO		NV(0xd7, __u8[560])
#define NV_WAIT_OPEN_COMPLETE	NV(0xda, __u8[8])

/*
 * BOOKS marks ioctls that neither access the device's memory nor let others access it, and that
 * do not wait.
 */
static const struct vgpu_schema_ioctl nvidia_ioctls[] = {
	{ VGPU_IOCTL_WITH(NV_RM_ALLOC_MEMORY, alloc_memory) },
	{ VGPU_IOCTL(NV_RM_FREE) },
	{ VGPU_IOCTL_WITH(NV_RM_CONTROL, control) },
	{ .cmd = NV_RM_ALLOC, .name = "NV_RM_ALLOC", .body = ALLOC_SHORT,
	  .flags = VGPU_IOCTL_EXACT },
	{ VGPU_IOCTL_WITH(NV_RM_ALLOC_RIGHTS, alloc), .flags = VGPU_IOCTL_EXACT },
	{ VGPU_IOCTL(NV_RM_DUP_OBJECT) },
	{ VGPU_IOCTL(NV_RM_SHARE) },
	{ VGPU_IOCTL_WITH(NV_RM_IDLE_CHANNELS, idle_channels) },
	{ VGPU_IOCTL(NV_RM_VID_HEAP_CONTROL) },
	{ VGPU_IOCTL_WITH(NV_RM_MAP_MEMORY, map_memory) },
	{ VGPU_IOCTL(NV_RM_UNMAP_MEMORY) },
	{ VGPU_IOCTL(NV_RM_ALLOC_CONTEXT_DMA) },
	{ VGPU_IOCTL(NV_RM_MAP_MEMORY_DMA) },
	{ VGPU_IOCTL(NV_RM_UNMAP_MEMORY_DMA) },
	{ VGPU_IOCTL(NV_RM_BIND_CONTEXT_DMA) },
	{ VGPU_IOCTL(NV_RM_UPDATE_MAPPING), BOOKS },
	{ VGPU_IOCTL(NV_CARD_INFO), BOOKS },
	{ VGPU_IOCTL_WITH(NV_REGISTER_FD, register_fd), BOOKS },
	{ VGPU_IOCTL_WITH(NV_ALLOC_OS_EVENT, os_event), BOOKS },
	{ VGPU_IOCTL_WITH(NV_FREE_OS_EVENT, os_event), BOOKS },
	{ VGPU_IOCTL(NV_STATUS_CODE), BOOKS },
	{ VGPU_IOCTL(NV_CHECK_VERSION), BOOKS },
	{ VGPU_IOCTL_WITH(NV_XFER, xfer) },
	{ VGPU_IOCTL(NV_ATTACH_CARDS), BOOKS },
	{ VGPU_IOCTL(NV_QUERY_INTERRUPT), BOOKS },
	{ VGPU_IOCTL(NV_SYSTEM_PARAMS), BOOKS },
	{ VGPU_IOCTL(NV_NUMA_INFO), BOOKS },
	{ VGPU_IOCTL_WITH(NV_EXPORT_DMA_BUF, export_dma_buf) },
	{ VGPU_IOCTL(NV_WAIT_OPEN_COMPLETE), BOOKS },
};

const struct vgpu_schema vgpu_schema_nvidia = {
	.name = "nvidia",
	VGPU_IOCTLS(nvidia_ioctls),
	/* Stores to mapped memory submit work, and loads wait for its end. */
	.polled = ENOMEM,
	.keepers = VGPU_KEEPERS_NVIDIA,
};
