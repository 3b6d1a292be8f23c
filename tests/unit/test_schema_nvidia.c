// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of NVIDIA's ioctls, by the driver's numbers and offsets and not by the names of the
 * tables: which memory is sent, which places become fds of the host, and what stays unchanged.
 */
#include <stdio.h>

#include "marshal_test.h"
#include "nvidia_ioctls.h"
#include "nvidia_rules.h"

#define NV(nr, n)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, n)
#define ALLOC		NV(0x2b, 32)
#define ALLOC_RIGHTS	NV(0x2b, 48)
#define CONTROL		NV(0x2a, 32)
#define XFER		NV(0xd3, 16)

#define FD		12
#define NO_FD		0x7fffffff

static const struct vgpu_schema *const nvidia = &vgpu_schema_nvidia;
static const struct vgpu_schema *const uvm = &vgpu_schema_uvm;

static void put32(void *p, u32 offset, u32 v)
{
	memcpy((u8 *)p + offset, &v, sizeof(v));
}

static void put64(void *p, u32 offset, u64 v)
{
	memcpy((u8 *)p + offset, &v, sizeof(v));
}

static u32 get32(const void *p, u32 offset)
{
	u32 v;

	memcpy(&v, (const u8 *)p + offset, sizeof(v));
	return v;
}

static u64 get64(const void *p, u32 offset)
{
	u64 v;

	memcpy(&v, (const u8 *)p + offset, sizeof(v));
	return v;
}

/* Parameters and results of look_driver(), which follows up to three nested pointers. */
struct look {
	u32 at[3];		/* offsets of the pointers */
	u32 nr;			/* number of pointers */
	u32 fd;			/* offset of a number behind the last pointer */
	u32 len;		/* number of bytes behind the last pointer */
	u32 seen;		/* number found */
	u64 addr;		/* address in the last pointer */
	u32 object;		/* object of the number, if it is an fd */
	u32 fetches;		/* accesses to memory that was not sent */
};

static long look_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct look *look = data;
	u32 i;
	u8 *p;

	for (i = 0; i < look->nr; i++) {
		p = driver_mem(h, arg, look->at[i] + 8, USER_READ);
		if (!p)
			return -EFAULT;
		arg = get64(p, look->at[i]);
	}
	look->addr = arg;
	p = arg ? driver_mem(h, arg, look->len, USER_READ | USER_WRITE) : NULL;
	if (p) {
		look->seen = get32(p, look->fd);
		look->object = driver_fd_object(h, look->seen);
		/* Change the last byte, which has to come back. */
		if (look->fd + 4 < look->len)
			p[look->len - 1] ^= 0x5a;
	}
	look->fetches = h->fetches;
	return 0;
}

static long run(const struct vgpu_schema *schema, u32 cmd, void *arg, struct look *look)
{
	return call(schema, cmd, arg, look_driver, look);
}

/* --- fds ---------------------------------------------------------------------- */

/* Tries values of the fd that is in the struct behind the pointers of @where. */
static void expect_fd(const struct vgpu_schema *schema, u32 cmd, void *arg, u8 *p,
		      const struct look *where, bool zero_is_none, const char *name)
{
	static const struct {
		s32 fd;
		u32 seen;
		u32 object;
	} cases[] = {
		{ FD, 0, FD + USER_OBJECT },
		{ -1, -1, 0 },
		{ -7, -7, 0 },
		{ 500, NO_FD, 0 },
		{ USER_FD_LOCAL, NO_FD, 0 },
	};
	struct look look;
	u8 last;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		look = *where;
		put32(p, where->fd, cases[i].fd);
		last = p[where->len - 1];
		tap_expect(!run(schema, cmd, arg, &look), "%s: %d", name, cases[i].fd);
		tap_expect(look.object == cases[i].object, "%s: %d is object %u", name, cases[i].fd,
			   look.object);
		tap_expect(cases[i].object || look.seen == cases[i].seen, "%s: %d is %#x", name,
			   cases[i].fd, look.seen);
		tap_expect((s32)get32(p, where->fd) == cases[i].fd, "%s: %d stays", name,
			   cases[i].fd);
		tap_expect(!look.fetches, "%s: %u fetches", name, look.fetches);
		tap_expect(where->fd + 4 == where->len || p[where->len - 1] == (u8)(last ^ 0x5a),
			   "%s: the rest comes back", name);
	}
	look = *where;
	put32(p, where->fd, 0);
	run(schema, cmd, arg, &look);
	tap_expect(look.seen == (zero_is_none ? 0 : NO_FD), "%s: 0 is %#x", name, look.seen);
}

static void fds_of_arguments(void)
{
	static const struct {
		const struct vgpu_schema *schema;
		u32 cmd;
		u32 fd;
		u32 len;
		const char *name;
	} cases[] = {
		{ &vgpu_schema_nvidia, NV(0xc9, 4), 0, 4, "REGISTER_FD" },
		{ &vgpu_schema_nvidia, NV(0xce, 16), 8, 16, "ALLOC_OS_EVENT" },
		{ &vgpu_schema_nvidia, NV(0xcf, 16), 8, 16, "FREE_OS_EVENT" },
		{ &vgpu_schema_nvidia, NV(0x27, 56), 48, 56, "RM_ALLOC_MEMORY" },
		{ &vgpu_schema_nvidia, NV(0x4e, 56), 48, 56, "RM_MAP_MEMORY" },
		{ &vgpu_schema_nvidia, NV(0xd9, 2608), 0, 2608, "EXPORT_TO_DMABUF_FD" },
		{ &vgpu_schema_nvidia, NV(0xd9, 2600), 0, 2600, "EXPORT_TO_DMABUF_FD, older" },
		{ &vgpu_schema_uvm, 75, 0, 8, "MM_INITIALIZE" },
		{ &vgpu_schema_uvm, 37, 24, 40, "REGISTER_GPU" },
		{ &vgpu_schema_uvm, 25, 16, 32, "REGISTER_GPU_VASPACE" },
		{ &vgpu_schema_uvm, 27, 16, 56, "REGISTER_CHANNEL" },
		{ &vgpu_schema_uvm, 33, 9248, 9264, "MAP_EXTERNAL_ALLOCATION" },
		{ &vgpu_schema_uvm, 56, 44, 64, "TOOLS_INIT_EVENT_TRACKER" },
		{ &vgpu_schema_uvm, 76, 44, 64, "TOOLS_INIT_EVENT_TRACKER_V2" },
		{ &vgpu_schema_uvm, 78, 40, 56, "ALLOC_DEVICE_P2P" },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct look look = { .fd = cases[i].fd, .len = cases[i].len };
		u8 *arg;

		start();
		arg = user_alloc(cases[i].len);
		memset(arg, 0x11, cases[i].len);
		expect_fd(cases[i].schema, cases[i].cmd, arg, arg, &look, false, cases[i].name);
	}
	tap_subject("fds in arguments");
}

/* A driver that replaces an fd of -1 by that of a new dma-buf, and leaves other fds alone. */
static long dma_buf_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	u8 *p = driver_mem(h, arg, 2608, USER_READ | USER_WRITE);

	if ((s32)get32(p, 0) == -1)
		put32(p, 0, driver_fd_new(h, 77));
	put32(p, 2600, *(u32 *)data);
	return 0;
}

static void dma_buf(void)
{
	u32 status = 5;
	u8 *arg;

	start();
	arg = user_alloc(2608);
	put32(arg, 0, -1);
	tap_expect(!call(nvidia, NV(0xd9, 2608), arg, dma_buf_driver, &status), "a new one");
	tap_expect(user.installed == 1 && get32(arg, 0) == USER_FD_NEW &&
		   user.new_objects[0] == 77, "it is %d", get32(arg, 0));
	put32(arg, 0, FD);
	tap_expect(!call(nvidia, NV(0xd9, 2608), arg, dma_buf_driver, &status) &&
		   user.installed == 1 && get32(arg, 0) == FD, "one that there was");
	tap_expect(get32(arg, 2600) == 5, "status");
	tap_subject("a dma-buf out of an argument");
}

static u8 *alloc_make(u32 class, u32 len)
{
	u8 *arg, *p;

	start();
	arg = user_alloc(48);
	p = user_alloc(len);
	memset(p, 0x22, len);
	put32(arg, 12, class);
	put64(arg, 16, (uintptr_t)p);
	return arg;
}

static u8 *wrap(u32 nr, u8 *arg, u32 len)
{
	u8 *outer = user_alloc(16);

	put32(outer, 0, nr);
	put32(outer, 4, len);
	put64(outer, 8, (uintptr_t)arg);
	return outer;
}

static void fds_of_classes(void)
{
	static const struct {
		u32 class;
		u32 fd;
		u32 len;
		bool zero_is_none;
		const char *name;
	} cases[] = {
		{ 0x79, 16, 24, false, "OS_EVENT" },
		{ 0x0f, 0, 16, false, "fabric manager" },
		{ 0xf1, 0, 32, false, "IMEX, its capability" },
		{ 0xf1, 16, 32, true, "IMEX, its event" },
		{ 0xf9, 48, 64, true, "fabric import" },
		{ 0xfd, 72, 80, true, "multicast" },
		{ 0x90cd, 40, 72, true, "event buffer" },
		{ 0xc637, 0, 16, false, "a part" },
		{ 0xc638, 0, 16, false, "a part of a part" },
		{ 0xc639, 0, 8, false, "configuration" },
		{ 0xc640, 0, 8, false, "monitor" },
	};
	u32 i;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct look look = {
			.at = { 16 }, .nr = 1, .fd = cases[i].fd, .len = cases[i].len,
		};

		arg = alloc_make(cases[i].class, cases[i].len);
		expect_fd(nvidia, ALLOC, arg, (u8 *)(uintptr_t)get64(arg, 16), &look,
			  cases[i].zero_is_none, cases[i].name);
		expect_fd(nvidia, ALLOC_RIGHTS, arg, (u8 *)(uintptr_t)get64(arg, 16), &look,
			  cases[i].zero_is_none, cases[i].name);
	}
	tap_subject("fds in parameters of classes");
}

/* An event whose class is only in its parameters has an fd, too. */
static void event_class(void)
{
	struct look look = { .at = { 16 }, .nr = 1, .fd = 16, .len = 24 };
	u8 *arg = alloc_make(0x05, 24), *p = (u8 *)(uintptr_t)get64(arg, 16);

	put32(p, 8, 0x79);
	expect_fd(nvidia, ALLOC, arg, p, &look, false, "OS_EVENT, of an EVENT");
	put32(p, 8, 0x7e);
	put32(p, 16, FD);
	tap_expect(!run(nvidia, ALLOC, arg, &look) && look.seen == FD, "another one: %u",
		   look.seen);
	tap_subject("the class of an event");
}

static u8 *control_make(u32 cmd, u32 len)
{
	u8 *arg, *p;

	start();
	arg = user_alloc(32);
	p = user_alloc(len);
	memset(p, 0x22, len);
	put32(arg, 8, cmd);
	put64(arg, 16, (uintptr_t)p);
	put32(arg, 24, len);
	return arg;
}

static void fds_of_controls(void)
{
	static const struct {
		u32 cmd;
		u32 fd;
		u32 len;
		bool zero_is_none;
		const char *name;
	} cases[] = {
		{ 0x3d05, 16, 24, false, "EXPORT_OBJECT_TO_FD" },
		{ 0x3d06, 0, 20, false, "IMPORT_OBJECT_FROM_FD" },
		{ 0x3d08, 0, 80, false, "GET_EXPORT_OBJECT_INFO" },
		{ 0x3d0a, 72, 76, false, "CREATE_EXPORT_OBJECT_FD" },
		{ 0x3d0b, 0, 2128, false, "EXPORT_OBJECTS_TO_FD" },
		{ 0x3d0c, 0, 652, false, "IMPORT_OBJECTS_FROM_FD" },
		{ 0x0d08, 0, 16, false, "SUBSCRIBE_TO_IMEX_CHANNEL" },
		{ 0xfd0104, 8, 16, false, "multicast: ATTACH_GPU" },
		{ 0xfd0103, 0, 8, true, "multicast: REGISTER_EVENT" },
		{ 0xe00101, 1040, 1048, false, "EXPORT_MEM" },
		{ 0xda0003, 24, 32, true, "REGISTER_WAITER" },
		{ 0xda0005, 16, 24, true, "UNREGISTER_WAITER" },
	};
	struct look look;
	u32 i;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		look = (struct look) {
			.at = { 16 }, .nr = 1, .fd = cases[i].fd, .len = cases[i].len,
		};
		arg = control_make(cases[i].cmd, cases[i].len);
		expect_fd(nvidia, CONTROL, arg, (u8 *)(uintptr_t)get64(arg, 16), &look,
			  cases[i].zero_is_none, cases[i].name);
	}
	/* Another command, and a serialized message (flag 4), have a plain number there. */
	arg = control_make(0x3d07, 80);
	put32((void *)(uintptr_t)get64(arg, 16), 0, FD);
	look = (struct look) { .at = { 16 }, .nr = 1, .len = 80 };
	tap_expect(!run(nvidia, CONTROL, arg, &look) && look.seen == FD, "another command");
	put32(arg, 8, 0x3d08);
	put32(arg, 12, 4);
	tap_expect(!run(nvidia, CONTROL, arg, &look) && look.seen == FD, "a message");
	tap_subject("fds in parameters of commands");
}

/* --- sizes -------------------------------------------------------------------- */

/* Makes the call, and returns the length of the last segment; 0: only the argument is sent. */
static u32 last_len(const struct vgpu_schema *schema, u32 cmd, const void *arg)
{
	struct look look = { .len = 1 };
	struct vgpu_marshal m;
	u32 len;

	host_ioctl_keep(&host, &m, schema, cmd, (uintptr_t)arg, false, look_driver, &look);
	len = m.nr_segs > 1 ? m.info[m.nr_segs - 1].len : 0;
	vgpu_marshal_fini(&m);
	return len;
}

static void class_sizes(void)
{
	static const struct {
		u32 class;
		u32 len;
	} cases[] = {
		{ 0x00, 4 }, { 0x41, 4 }, { 0x3e, 128 }, { 0x40, 128 }, { 0x70, 24 },
		{ 0x71, 40 }, { 0x79, 24 }, { 0x80, 56 }, { 0x83, 152 }, { 0xb1, 120 },
		{ 0xde, 8 }, { 0xe0, 244 }, { 0xf8, 48 }, { 0xfd, 80 }, { 0x2080, 4 },
		{ 0x503b, 88 }, { 0x83de, 12 }, { 0x9067, 12 }, { 0x90cd, 72 }, { 0x90f1, 56 },
		{ 0xa06c, 20 }, { 0xc574, 8 }, { 0xc637, 16 }, { 0xc640, 8 }, { 0xc661, 2 },
		{ 0xc8b5, 8 }, { 0xc86f, 368 }, { 0xca6f, 368 }, { 0xcbc0, 16 }, { 0xd1fa, 12 },
		/* These have no parameters, are not listed, or are no class. */
		{ 0x04, 0 }, { 0xc361, 0 }, { 0xc57d, 0 }, { 0xcc6f, 0 }, { 0xffffffff, 0 },
	};
	u32 i, got;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		arg = alloc_make(cases[i].class, 4096);
		host.live = true;
		put32(arg, 24, 4096);
		got = last_len(nvidia, ALLOC, arg);
		tap_expect(got == cases[i].len, "%#x: %u", cases[i].class, got);
		/* The longer form's pointer to rights is null here. */
		put64(arg, 24, 0);
		got = last_len(nvidia, ALLOC_RIGHTS, arg);
		tap_expect(got == cases[i].len, "%#x: %u, longer form", cases[i].class, got);
		put64(arg, 16, 0);
		tap_expect(!last_len(nvidia, ALLOC, arg), "%#x: none", cases[i].class);
	}
	tap_subject("parameters of classes");
}

static void unknown_class(void)
{
	struct look look = { .at = { 16 }, .nr = 1, .len = 64 };
	u8 *arg = alloc_make(0xc57d, 64);

	tap_expect(!run(nvidia, ALLOC, arg, &look) && look.addr == get64(arg, 16) &&
		   look.fetches == 1, "the program's own address");
	/* A pointer that leads nowhere stays as it is, too. */
	put32(arg, 12, 0x80);
	put64(arg, 16, 0x1000);
	tap_expect(run(nvidia, ALLOC, arg, &look) == 0 && look.addr == 0x1000, "%#llx",
		   (unsigned long long)look.addr);
	tap_subject("parameters that stay where they are");
}

static void rights(void)
{
	struct look look = { .at = { 24 }, .nr = 1, .len = 4 };
	u8 *arg = alloc_make(0x80, 56), *mask = user_alloc(4);

	put32(mask, 0, 0x33);
	put64(arg, 24, (uintptr_t)mask);
	tap_expect(!run(nvidia, ALLOC_RIGHTS, arg, &look) && look.seen == 0x33 &&
		   look.addr != (uintptr_t)mask && !look.fetches, "they come along");
	/* The shorter form has another meaning for that place. */
	look.fetches = 0;
	run(nvidia, ALLOC, arg, &look);
	tap_expect(look.addr == (uintptr_t)mask, "a size and a status");
	tap_subject("rights");
}

/* Classes whose programs and device communicate by mapped memory do not work with copies. */
static void live_classes(void)
{
	static const struct {
		u32 class;
		bool live;
	} cases[] = {
		{ 0x906f, true }, { 0xa06f, true }, { 0xa16f, true }, { 0xc86f, true },
		{ 0xca6f, true }, { 0xfe6f, true }, { 0x6f, false }, { 0x1906f, false },
		{ 0xa06c, false }, { 0xc8b5, false }, { 0xcbc0, false }, { 0x79, false },
		{ 0x41, false },
	};
	struct vgpu_marshal m;
	struct look look;
	u32 i, j;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (j = 0; j < 6; j++) {
			static const u32 cmds[] = { ALLOC, ALLOC_RIGHTS, XFER };
			bool copied = j & 1;
			long got;

			arg = alloc_make(cases[i].class, 512);
			put64(arg, 24, 0);
			host.live = !copied;
			look = (struct look) { .len = 1 };
			got = host_ioctl_keep(&host, &m, nvidia, cmds[j / 2],
					      (uintptr_t)(j / 2 == 2 ? wrap(0x2b, arg, 32) : arg),
					      false, look_driver, &look);
			tap_expect(got == (copied && cases[i].live ? -EINVAL : 0), "%#x: %ld",
				   cases[i].class, got);
			tap_expect(host.calls == !got, "%#x: %u calls", cases[i].class,
				   host.calls);
			tap_expect(m.found.wants_live == cases[i].live, "%#x: of use as a copy",
				   cases[i].class);
			vgpu_marshal_fini(&m);
		}
	}
	tap_subject("classes that need the memory itself");
}

static void control_sizes(void)
{
	static const u32 lens[] = { 1, 3, 4, 7, 16, 128, 4097, 14408, 1 << 20 };
	u32 i, got;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		arg = control_make(0x20800110, lens[i]);
		got = last_len(nvidia, CONTROL, arg);
		tap_expect(got == lens[i], "%u: %u", lens[i], got);
		/* The struct of a command with an fd may end before the fd, or be longer. */
		put32(arg, 8, 0xe00101);
		got = last_len(nvidia, CONTROL, arg);
		tap_expect(got == lens[i], "%u: %u, with a place in it", lens[i], got);
	}
	arg = control_make(0x20800110, 16);
	put32(arg, 24, 0);
	tap_expect(!last_len(nvidia, CONTROL, arg), "no size");
	put32(arg, 24, 0xffffffff);
	tap_expect(!last_len(nvidia, CONTROL, arg), "a size that there cannot be");
	put32(arg, 24, 16);
	put64(arg, 16, 0);
	tap_expect(!last_len(nvidia, CONTROL, arg), "no pointer");
	put64(arg, 16, 0x1000);
	tap_expect(!last_len(nvidia, CONTROL, arg), "a pointer to nothing");
	tap_subject("parameters of commands");
}

/* Commands have a count at @count, and at @list a pointer to elements of @unit bytes. */
static void control_lists(void)
{
	static const struct {
		u32 cmd;
		u32 len;
		u32 count;
		u32 list;
		u32 unit;
	} cases[] = {
		{ 0x101, 40, 0, 8, 1 }, { 0x101, 40, 0, 16, 1 }, { 0x101, 40, 0, 24, 1 },
		{ 0x127, 176, 128, 160, 4 }, { 0x127, 176, 128, 168, 4 },
		{ 0x410110, 16, 0, 8, 8 }, { 0x800201, 16, 0, 8, 4 }, { 0x801102, 16, 0, 8, 1 },
		{ 0x801104, 16, 0, 8, 8 }, { 0x801301, 16, 0, 8, 1 }, { 0x801401, 16, 0, 8, 1 },
		{ 0x801701, 16, 0, 8, 1 }, { 0x80170d, 24, 0, 8, 4 }, { 0x80170d, 24, 0, 16, 4 },
		{ 0x801b01, 16, 0, 8, 1 }, { 0x801c01, 24, 0, 8, 1 }, { 0x20800101, 16, 0, 8, 8 },
		{ 0x20800122, 48, 20, 24, 32 }, { 0x20800123, 16, 0, 8, 4 },
		{ 0x20800124, 16, 4, 8, 4 }, { 0x20800802, 16, 0, 8, 8 },
		{ 0x20801201, 32, 0, 8, 8 },
		{ 0x20801301, 16, 0, 8, 8 }, { 0x20801802, 16, 0, 8, 8 },
		{ 0x20802a01, 16, 4, 8, 1 }, { 0x83de0315, 24, 4, 16, 1 },
		{ 0x83de0316, 24, 4, 16, 1 },
	};
	struct look look;
	u32 i, got, want;
	u8 *arg, *p;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		arg = control_make(cases[i].cmd, cases[i].len);
		p = (u8 *)(uintptr_t)get64(arg, 16);
		memset(p, 0, cases[i].len);
		put32(p, cases[i].count, 9);
		put64(p, cases[i].list, (uintptr_t)user_alloc(4096));
		/* There is an element for each pair of cards, or for each card. */
		want = cases[i].unit * (cases[i].cmd == 0x127 ? 81 : 9);
		got = last_len(nvidia, CONTROL, arg);
		tap_expect(got == want, "%#x: %u, not %u", cases[i].cmd, got, want);
		look = (struct look) {
			.at = { 16, cases[i].list }, .nr = 2, .fd = 0, .len = want,
		};
		tap_expect(!run(nvidia, CONTROL, arg, &look) && !look.fetches, "%#x: %u fetches",
			   cases[i].cmd, look.fetches);
		tap_expect(((u8 *)(uintptr_t)get64(p, cases[i].list))[want - 1] == 0x5a,
			   "%#x: comes back", cases[i].cmd);
		/* A count beyond all limits is not followed. */
		put32(p, cases[i].count, 0xffffffff);
		tap_expect(last_len(nvidia, CONTROL, arg) == cases[i].len, "%#x: too many",
			   cases[i].cmd);
		/* Parameters that end before the pointer are sent without the list. */
		put32(arg, 24, cases[i].list);
		tap_expect(last_len(nvidia, CONTROL, arg) == cases[i].list, "%#x: too short",
			   cases[i].cmd);
	}
	tap_subject("lists in parameters of commands");
}

/* The address of memory that the device would keep stays the program's own. */
static void kept_memory(void)
{
	static const struct {
		u32 cmd;
		u32 len;
		u32 place;
	} cases[] = {
		{ NV(0x27, 56), 56, 24 },
		{ NV(0x4a, 184), 184, 64 },
		{ NV(0x4e, 56), 56, 32 },
		{ NV(0x4f, 32), 32, 16 },
		{ NV(0x5e, 40), 40, 16 },
	};
	u32 i;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct look look = { .at = { cases[i].place }, .nr = 1, .len = 4096 };
		void *kept;

		start();
		arg = user_alloc(cases[i].len);
		kept = user_alloc_pages(4096);
		put32(arg, 12, 0x71);
		put32(arg, 8, cases[i].cmd == NV(0x4a, 184) ? 27 : 0);
		put64(arg, cases[i].place, (uintptr_t)kept);
		tap_expect(!run(nvidia, cases[i].cmd, arg, &look) &&
			   look.addr == (uintptr_t)kept && look.fetches == 1, "%#x: %#llx",
			   cases[i].cmd, (unsigned long long)look.addr);
	}
	tap_subject("memory that the device would keep");
}

/*
 * When the guest or the host has no room for memory that the device would keep, the ioctl succeeds
 * and RM's own status says so. Other errors are errors of the ioctl.
 */
static void kept_too_much(void)
{
	static const struct {
		bool by_host;
		int error;
		long result;
		u32 status;
	} cases[] = {
		{ false, ENOMEM, 0, 0x51 }, { false, ENOSPC, 0, 0x51 }, { false, EINTR, -EINTR, 0 },
		{ true, ENOMEM, 0, 0x51 }, { true, EACCES, -EACCES, 0 },
	};
	struct look look = {};
	u8 *arg, *outer;
	long result;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		start();
		arg = user_alloc(56);
		put32(arg, 12, 0x71);
		put64(arg, 24, (uintptr_t)user_alloc_pages(4096));
		put64(arg, 32, 4095);
		outer = user_alloc(16);
		put32(outer, 0, 0x27);
		put32(outer, 4, 56);
		put64(outer, 8, (uintptr_t)arg);
		if (cases[i / 2].by_host)
			host.refuse = cases[i / 2].error;
		else
			user.fail_keep = cases[i / 2].error;
		result = i % 2 ? run(nvidia, XFER, outer, &look) :
			 run(nvidia, NV(0x27, 56), arg, &look);
		tap_expect(result == cases[i / 2].result && get32(arg, 40) == cases[i / 2].status,
			   "%u: %ld, status %#x", i, result, get32(arg, 40));
		user.fail_keep = 0;
		host.refuse = 0;
	}
	/* A too short argument has no place for the status. */
	for (i = 0; i < 2; i++) {
		start();
		arg = user_alloc(56);
		put32(arg, 12, 0x71);
		put64(arg, 24, (uintptr_t)user_alloc_pages(4096));
		outer = user_alloc(16);
		put32(outer, 0, 0x27);
		put32(outer, 4, 32);
		put64(outer, 8, (uintptr_t)arg);
		user.fail_keep = ENOMEM;
		result = i ? run(nvidia, XFER, outer, &look) : run(nvidia, NV(0x27, 32), arg, &look);
		tap_expect(result != 0 && !get32(arg, 40), "short %u: %ld, %#x", i, result,
			   get32(arg, 40));
		user.fail_keep = 0;
	}
	/* Another class has no memory of the program, so the host's errno is the ioctl's. */
	start();
	arg = user_alloc(56);
	put32(arg, 12, 0x3e);
	put64(arg, 24, 4096);
	put64(arg, 32, 4095);
	host.refuse = ENOMEM;
	tap_expect(run(nvidia, NV(0x27, 56), arg, &look) == -ENOMEM && !get32(arg, 40),
		   "another class");
	host.refuse = 0;
	tap_subject("more memory than may be kept");
}

static void idle_channels(void)
{
	u8 *arg;
	u32 i;

	for (i = 0; i < 3; i++) {
		struct look look = { .at = { 16 + 8 * i }, .nr = 1, .len = 20 };

		start();
		arg = user_alloc(56);
		put32(arg, 12, 5);
		put64(arg, 16 + 8 * i, (uintptr_t)user_alloc(20));
		/* The driver only reads this memory. */
		look.fd = 16;
		tap_expect(!run(nvidia, NV(0x41, 56), arg, &look) && !look.fetches, "%u", i);
	}
	tap_subject("channels to wait for");
}

/* --- wrapped ------------------------------------------------------------------ */

static void wrapped(void)
{
	static const struct {
		u32 nr;
		u32 fd;
		u32 len;
	} flat[] = {
		{ 0xc9, 0, 4 }, { 0xce, 8, 16 }, { 0xcf, 8, 16 }, { 0x27, 48, 56 },
		{ 0x4e, 48, 56 }, { 0xd9, 0, 2608 },
	};
	struct look look;
	u8 *arg, *outer;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flat); i++) {
		start();
		arg = user_alloc(flat[i].len);
		memset(arg, 0x11, flat[i].len);
		outer = wrap(flat[i].nr, arg, flat[i].len);
		look = (struct look) {
			.at = { 8 }, .nr = 1, .fd = flat[i].fd, .len = flat[i].len,
		};
		expect_fd(nvidia, XFER, outer, arg, &look, false, "flat");
	}
	arg = alloc_make(0x79, 24);
	look = (struct look) { .at = { 8, 16 }, .nr = 2, .fd = 16, .len = 24 };
	expect_fd(nvidia, XFER, wrap(0x2b, arg, 48), (u8 *)(uintptr_t)get64(arg, 16), &look, false,
		  "RM_ALLOC");
	arg = control_make(0x3d05, 24);
	expect_fd(nvidia, XFER, wrap(0x2a, arg, 32), (u8 *)(uintptr_t)get64(arg, 16), &look, false,
		  "RM_CONTROL");
	arg = control_make(0x20800101, 16);
	put32((void *)(uintptr_t)get64(arg, 16), 0, 9);
	put64((void *)(uintptr_t)get64(arg, 16), 8, (uintptr_t)user_alloc(72));
	look = (struct look) { .at = { 8, 16, 8 }, .nr = 3, .len = 72 };
	tap_expect(!run(nvidia, XFER, wrap(0x2a, arg, 32), &look) && !look.fetches,
		   "a list in it: %u fetches", look.fetches);

	/* These inner ioctls have no described fields, or end before one. */
	start();
	arg = user_alloc(16384);
	tap_expect(last_len(nvidia, XFER, wrap(0x29, arg, 16)) == 16, "plain");
	tap_expect(last_len(nvidia, XFER, wrap(0xee, arg, 16384)) == 16384, "any");
	put32(arg, 48, FD);
	look = (struct look) { .at = { 8 }, .nr = 1, .fd = 48, .len = 52 };
	run(nvidia, XFER, wrap(0x27, arg, 48), &look);
	tap_expect(look.seen != FD || look.fetches, "behind its end nothing is read");
	tap_expect(!last_len(nvidia, XFER, wrap(0x2a, arg, 0)), "no size");
	tap_expect(!last_len(nvidia, XFER, wrap(0x2a, NULL, 32)), "no pointer");
	tap_subject("an ioctl in another");
}

/* --- finding ------------------------------------------------------------------ */

static void uvm_sizes(void)
{
	static const struct {
		u32 cmd;
		u32 len;
	} cases[] = {
		{ 0x30000001, 16 }, { 23, 16 }, { 24, 16 }, { 25, 32 }, { 26, 20 }, { 27, 56 },
		{ 28, 28 }, { 33, 9264 }, { 34, 24 }, { 37, 40 }, { 38, 20 }, { 39, 8 },
		{ 42, 40 }, { 46, 40 }, { 51, 80 }, { 65, 40 }, { 66, 40 }, { 68, 9248 },
		{ 70, 24 }, { 72, 24 }, { 73, 24 }, { 75, 8 },
	};
	struct vgpu_marshal m;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct look look = { .len = cases[i].len };
		u8 *arg;

		start();
		arg = user_alloc(cases[i].len);
		host_ioctl_keep(&host, &m, uvm, cases[i].cmd, (uintptr_t)arg, false, look_driver,
				&look);
		tap_expect(m.nr_segs == 1 && m.info[0].len == cases[i].len && !look.fetches,
			   "%#x: %u", cases[i].cmd, m.nr_segs ? m.info[0].len : 0);
		vgpu_marshal_fini(&m);
	}
	tap_expect(!vgpu_schema_find(uvm, 1, false) && !vgpu_schema_find(uvm, 2, false) &&
		   !vgpu_schema_find(uvm, 25 | 8 << 16, false), "numbers are whole");
	tap_subject("sizes of bare numbers");
}

static void flags(void)
{
	static const u32 quiet[] = { NV(0xc8, 2304), NV(0xc9, 4), NV(0xd2, 72), NV(0xd6, 8) };
	/* These allocate, free, move or write device memory. */
	static const u32 loud[] = {
		ALLOC, ALLOC_RIGHTS, CONTROL, XFER, NV(0x27, 56), NV(0x29, 16), NV(0x34, 28),
		NV(0x35, 24), NV(0x41, 56), NV(0x4a, 184), NV(0x4e, 56), NV(0x4f, 32),
		NV(0xd9, 2608),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(quiet); i++)
		tap_expect(vgpu_schema_find(nvidia, quiet[i], false)->flags & VGPU_IOCTL_NO_MAPPED,
			   "%#x", quiet[i]);
	for (i = 0; i < ARRAY_SIZE(loud); i++)
		tap_expect(!(vgpu_schema_find(nvidia, loud[i], false)->flags &
			     VGPU_IOCTL_NO_MAPPED), "%#x", loud[i]);
	tap_expect(!(vgpu_schema_find(uvm, 33, false)->flags & VGPU_IOCTL_NO_MAPPED) &&
		   !(vgpu_schema_find(uvm, 34, false)->flags & VGPU_IOCTL_NO_MAPPED), "ranges");
	tap_subject("what touches mapped memory");
}

static void exports(void)
{
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "nvidia", "", "/dev/nvidiactl") ==
		   nvidia, "the control file");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "nvidia", "", "/dev/nvidia0") ==
		   nvidia, "a card");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "nvidia-uvm", "", "/dev/nvidia-uvm") ==
		   uvm, "unified memory");
	tap_expect(!vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "nvidia-caps", "",
					   "/dev/nvidia-caps/1"), "a capability");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_RENDER, "nvidia", "", "") ==
		   &vgpu_schema_drm, "a DRM device");
	tap_subject("whose schema it is");
}

static void has_host_names(const struct vgpu_schema *schema)
{
	u32 i;

	for (i = 0; i < schema->nr_ioctls; i++)
		tap_expect(vgpu_nvidia_name(vgpu_nvidia_key(schema->ioctls[i].cmd)), "%s",
			   schema->ioctls[i].name);
}

/* The host's table has a name for each ioctl that a guest describes. */
static void host_names(void)
{
	has_host_names(nvidia);
	has_host_names(uvm);
	tap_subject("the host's name of an ioctl");
}

int main(void)
{
	fds_of_arguments();
	dma_buf();
	fds_of_classes();
	event_class();
	fds_of_controls();
	class_sizes();
	unknown_class();
	rights();
	live_classes();
	control_sizes();
	control_lists();
	kept_memory();
	kept_too_much();
	idle_channels();
	wrapped();
	uvm_sizes();
	flags();
	exports();
	host_names();
	return tap_done();
}
