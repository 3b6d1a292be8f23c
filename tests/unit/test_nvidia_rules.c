// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the commands that no guest may give NVIDIA's driver, directly and wrapped. */
#include <string.h>

#include "nvidia_ioctls.h"
#include "nvidia_rm.h"
#include "nvidia_rules.h"
#include "tap.h"

#define NV(nr, n)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, n)
#define CONTROL		NV(0x2a, 32)
#define XFER		NV(0xd3, 16)
#define ADDR		0x3e0000001000ULL
#define INNER		0x3e0000002000ULL

/*
 * These return data of processes: accounting, encoders, captures, users of the card or memory; and
 * those of the second line change when channels run; those of the last one diagnose a card.
 */
static const u32 denied[] = {
	0xb03, 0xb04, 0x2080016e, 0x208001af, 0x2080017c, 0x20801349, 0x20802096,
	0x2080111a, 0x2080111b, 0x2080111c, 0x20801103, 0x20801115, 0x20801121, 0xa06c0110,
	0x208f0403, 0x208f0703, 0x208f1104,
};

/* These return data of the processes of a namespace. */
static const u32 of_namespace[] = { 0x2080018d, 0x2080018e };

static void put32(u8 *p, u32 offset, u32 v)
{
	memcpy(p + offset, &v, sizeof(v));
}

/* The command alone decides, and no other field of the argument. */
static void test_control(void)
{
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX];
	u32 i, bit;

	tap_expect(vgpu_nvidia_begin(&look, CONTROL, ADDR) == VGPU_NVIDIA_LOOK &&
		   look.addr == ADDR && look.len == 32, "a control is looked at");
	for (i = 0; i < ARRAY_SIZE(denied); i++) {
		memset(arg, 0xff, sizeof(arg));
		put32(arg, 8, denied[i]);
		vgpu_nvidia_begin(&look, CONTROL, ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY && look.addr == ADDR &&
			   look.status == 28 && look.what == denied[i], "%#x", denied[i]);
		for (bit = 24; bit < 32; bit++) {
			put32(arg, 8, denied[i] ^ 1U << bit);
			vgpu_nvidia_begin(&look, CONTROL, ADDR);
			tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS,
				   "%#x is another one", denied[i] ^ 1U << bit);
		}
		/* Elsewhere in the argument the command's number has no meaning. */
		memset(arg, 0, sizeof(arg));
		put32(arg, 4, denied[i]);
		put32(arg, 12, denied[i]);
		vgpu_nvidia_begin(&look, CONTROL, ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS, "%#x, beside",
			   denied[i]);
	}
	for (i = 0; i < ARRAY_SIZE(of_namespace); i++) {
		put32(arg, 8, of_namespace[i]);
		vgpu_nvidia_begin(&look, CONTROL, ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_ALONE && look.status == 28,
			   "%#x", of_namespace[i]);
	}
	tap_subject("a denied control");
}

/* The driver accepts any type and direction of an ioctl, but only its own size. */
static void test_number(void)
{
	struct vgpu_nvidia_look look;

	tap_expect(vgpu_nvidia_begin(&look, _IOC(0, 'V', 0x2a, 32), ADDR) == VGPU_NVIDIA_LOOK,
		   "another type, no direction");
	tap_expect(vgpu_nvidia_begin(&look, _IOC(_IOC_READ, 0, 0xd3, 16), ADDR) ==
		   VGPU_NVIDIA_LOOK && look.len == 16, "no type");
	tap_expect(vgpu_nvidia_begin(&look, NV(0x2a, 28), ADDR) == VGPU_NVIDIA_PASS &&
		   vgpu_nvidia_begin(&look, NV(0x2a, 0), ADDR) == VGPU_NVIDIA_PASS &&
		   vgpu_nvidia_begin(&look, NV(0x35, 32), ADDR) == VGPU_NVIDIA_PASS &&
		   vgpu_nvidia_begin(&look, NV(0xd3, 32), ADDR) == VGPU_NVIDIA_PASS,
		   "another size");
	tap_expect(vgpu_nvidia_begin(&look, 0x2a, ADDR) == VGPU_NVIDIA_PASS, "unified memory's");
	tap_expect(vgpu_nvidia_begin(&look, NV(0x2c, 32), ADDR) == VGPU_NVIDIA_PASS &&
		   vgpu_nvidia_begin(&look, NV(0x29, 16), ADDR) == VGPU_NVIDIA_PASS,
		   "another number");
	tap_expect(vgpu_nvidia_begin(&look, NV(0x28, 24), ADDR) == VGPU_NVIDIA_PASS,
		   "another size of the older form");
	tap_subject("what is looked at");
}

static enum vgpu_nvidia_verdict unwrap(struct vgpu_nvidia_look *look, u32 nr, u32 len)
{
	u64 inner = INNER;
	u8 arg[16];

	put32(arg, 0, nr);
	put32(arg, 4, len);
	memcpy(arg + 8, &inner, sizeof(inner));
	vgpu_nvidia_begin(look, XFER, ADDR);
	return vgpu_nvidia_judge(look, arg);
}

static void test_wrapped(void)
{
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";
	u32 i;

	for (i = 0; i < ARRAY_SIZE(denied); i++) {
		put32(arg, 8, denied[i]);
		tap_expect(unwrap(&look, 0x2a, 32) == VGPU_NVIDIA_LOOK && look.addr == INNER &&
			   look.len == 32, "what is in it is looked at");
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY &&
			   look.addr == INNER && look.status == 28, "%#x", denied[i]);
	}
	put32(arg, 8, 0x20800110);
	unwrap(&look, 0x2a, 32);
	tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS, "any other control");
	tap_expect(unwrap(&look, 0x2a, 31) == VGPU_NVIDIA_PASS &&
		   unwrap(&look, 0x2a, 33) == VGPU_NVIDIA_PASS, "another size");
	tap_expect(unwrap(&look, 0x12a, 32) == VGPU_NVIDIA_PASS, "a number with more bits");
	tap_expect(unwrap(&look, 0xd3, 16) == VGPU_NVIDIA_PASS, "not twice");
	tap_expect(unwrap(&look, 0x34, 28) == VGPU_NVIDIA_PASS && look.nr == 0x34,
		   "another number, which lists are told of");
	tap_expect(vgpu_nvidia_begin(&look, NV(0x34, 28), ADDR) == VGPU_NVIDIA_PASS &&
		   look.nr == 0x34, "so they are where nothing is wrapped");
	tap_subject("an ioctl in another");
}

/*
 * An object may be shared with all kinds of receivers but with a client (3). What is shared with
 * everybody (1), or all of a part (5) or a card (6), is shared with the user (2).
 */
static void test_share(void)
{
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX];
	u32 with;

	for (with = 0; with < 9; with++) {
		bool denied_here = with == 3;

		memset(arg, 3, sizeof(arg));
		arg[16] = with;
		arg[17] = 0;
		tap_expect(vgpu_nvidia_begin(&look, NV(0x35, 24), ADDR) == VGPU_NVIDIA_LOOK &&
			   look.len == 24, "a share is looked at");
		tap_expect((vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY) == denied_here &&
			   look.addr == ADDR && look.status == 20, "with %u", with);
		unwrap(&look, 0x35, 24);
		tap_expect((vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY) == denied_here &&
			   look.addr == INNER && look.status == 20, "with %u, wrapped", with);
		tap_expect(with == 1 || with == 5 || with == 6 ?
			   look.change == INNER + 16 && look.from == (0x03030000 | with) &&
			   look.to == 0x03030002 : !look.change, "with %u, changed", with);
	}
	arg[16] = 3;
	arg[17] = 1;
	vgpu_nvidia_begin(&look, NV(0x35, 24), ADDR);
	tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS, "16 bits say with whom");
	tap_subject("who an object is shared with");
}

/* An object may have any class but the denied ones, in each form of the ioctl. */
static void test_alloc(void)
{
	static const struct {
		u32 nr;
		u32 len;
		u32 status;
	} forms[] = { { 0x27, 56, 40 }, { 0x2b, 32, 28 }, { 0x2b, 40, 36 }, { 0x2b, 48, 40 } };
	static const u32 others[] = { 0x5080, 0xa081, 0xa084 };
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX];
	u32 i, class;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		for (class = 0; class < 0x100; class++) {
			/* The object has a number, which the driver chooses for clients. */
			const bool denied = class == 0xf3 || class == 0xfd ||
				(forms[i].nr == 0x2b &&
				 (class == 0x71 || class == 0 || class == 1 || class == 0x41));
			const bool has_rules = forms[i].nr == 0x2b &&
					       (class == 0x05 || class == 0x79 || class == 0x80);
			enum vgpu_nvidia_verdict wanted = denied ? VGPU_NVIDIA_DENY :
				has_rules ? VGPU_NVIDIA_PARAMS : VGPU_NVIDIA_PASS;

			/* Elsewhere in the argument the class's number is a handle, or flags. */
			memset(arg, 0, sizeof(arg));
			put32(arg, 8, 0xf3);
			put32(arg, 16, 0xf3);
			put32(arg, 12, class);
			tap_expect(vgpu_nvidia_begin(&look, NV(forms[i].nr, forms[i].len), ADDR) ==
				   VGPU_NVIDIA_LOOK && look.len == forms[i].len, "it is looked at");
			tap_expect(vgpu_nvidia_judge(&look, arg) == wanted && look.addr == ADDR &&
				   look.status == forms[i].status, "%#x: class %#x", forms[i].nr,
				   class);
			unwrap(&look, forms[i].nr, forms[i].len);
			tap_expect(vgpu_nvidia_judge(&look, arg) == wanted && look.addr == INNER &&
				   look.status == forms[i].status, "%#x: class %#x, wrapped",
				   forms[i].nr, class);
		}
		for (class = 0; class < ARRAY_SIZE(others); class++) {
			put32(arg, 12, others[class]);
			vgpu_nvidia_begin(&look, NV(forms[i].nr, forms[i].len), ADDR);
			tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY,
				   "%#x: class %#x", forms[i].nr, others[class]);
		}
		tap_expect(vgpu_nvidia_begin(&look, NV(forms[i].nr, forms[i].len + 4), ADDR) ==
			   VGPU_NVIDIA_PASS, "another size");
	}
	put32(arg, 8, 0);
	for (class = 0; class < 2; class++) {
		put32(arg, 12, class ? 0x41 : 0);
		vgpu_nvidia_begin(&look, NV(0x2b, 48), ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS,
			   "a client whose handle the driver chooses");
	}
	put32(arg, 12, 0xf3 | 1 << 16);
	vgpu_nvidia_begin(&look, NV(0x2b, 32), ADDR);
	tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS, "32 bits are the class");
	tap_subject("a denied class");
}

/* The engine learns of a program's channels by RM_ALLOC alone. */
static void test_older_form(void)
{
	static const u32 classes[] = { 0x80, 0x2080, 0xa06c, 0xc86f, 0x506f, 0xf3, 0x71 };
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";
	u32 i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		put32(arg, 12, classes[i]);
		vgpu_nvidia_begin(&look, NV(0x28, 20), ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY && look.status == 16,
			   "class %#x", classes[i]);
		unwrap(&look, 0x28, 20);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY, "class %#x, wrapped",
			   classes[i]);
	}
	put32(arg, 12, 0x41);
	vgpu_nvidia_begin(&look, NV(0x28, 20), ADDR);
	tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_PASS, "a client");
	tap_subject("the older form of an allocation");
}

#define OWN	0xc1d00001
#define OTHER	0xc1d00002
#define PARAMS	0x3e0000003000ULL

static u32 flags;

static enum vgpu_nvidia_verdict judge_control(struct vgpu_nvidia_look *look, u32 cmd, u32 size)
{
	u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";
	const u64 params = PARAMS;

	put32(arg, 0, OWN);
	put32(arg, 8, cmd);
	put32(arg, 12, flags);
	memcpy(arg + 16, &params, sizeof(params));
	put32(arg, 24, size);
	vgpu_nvidia_begin(look, CONTROL, ADDR);
	return vgpu_nvidia_judge(look, arg);
}

static enum vgpu_nvidia_verdict judge_class(struct vgpu_nvidia_look *look, u32 class, u64 params)
{
	u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";

	put32(arg, 0, OWN);
	put32(arg, 12, class);
	memcpy(arg + 16, &params, sizeof(params));
	put32(arg, 36, flags);
	vgpu_nvidia_begin(look, NV(0x2b, 48), ADDR);
	return vgpu_nvidia_judge(look, arg);
}

/* The driver lets these name any client. */
static void test_own_client(void)
{
	static const struct {
		u32 what;
		u32 size;
		u32 offset;
	} named[] = {
		{ 0xd03, 12, 4 }, { 0x20800122, 48, 0 }, { 0x208001a6, 1832, 0 },
		{ 0x20801123, 1552, 0 }, { 0x20801205, 16, 4 }, { 0x20801208, 24, 0 },
		{ 0x20801209, 40, 0 }, { 0x20801211, 112, 4 }, { 0x2080123a, 16, 0 },
		{ 0x503c0106, 4, 0 }, { 0x05, 0, 0 }, { 0x79, 0, 0 }, { 0x80, 0, 8 },
	};
	struct vgpu_nvidia_look look;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(named); i++) {
		const u32 what = named[i].what, offset = named[i].offset;
		u8 params[VGPU_NVIDIA_PARAMS_MAX] = "";

		tap_expect((named[i].size ? judge_control(&look, what, named[i].size) :
			    judge_class(&look, what, PARAMS)) == VGPU_NVIDIA_PARAMS &&
			   look.params == PARAMS && look.params_len >= offset + 4 &&
			   look.client == OWN && look.what == what, "%#x is looked at", what);
		if (what == 0x80)
			put32(params, 4, OWN);
		tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS,
			   "%#x: nobody", what);
		put32(params, offset, OWN);
		tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS,
			   "%#x: its own", what);
		put32(params, offset, OTHER);
		tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY,
			   "%#x: another", what);
		if (!named[i].size)
			continue;
		tap_expect(judge_control(&look, what, look.params_len - 1) == VGPU_NVIDIA_DENY,
			   "%#x: too few parameters", what);
	}
	tap_expect(judge_class(&look, 0x79, 0) == VGPU_NVIDIA_PASS, "an event without parameters");
	tap_subject("clients that parameters name");
}

/* A list of clients has a length. */
static void test_own_clients(void)
{
	u8 params[VGPU_NVIDIA_PARAMS_MAX] = "";
	struct vgpu_nvidia_look look;

	tap_expect(judge_control(&look, 0x20801124, 1540) == VGPU_NVIDIA_PARAMS &&
		   look.params_len == 1028, "it is looked at");
	put32(params, 0, OWN);
	put32(params, 4, OTHER);
	put32(params, 1024, 1);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS, "its own");
	put32(params, 1024, 2);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY, "another");
	put32(params, 1024, 0);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS, "none");
	memset(params, 0, 1024);
	for (u32 i = 0; i < 128; i++)
		put32(params, 4 * i, OWN);
	put32(params, 1024, 128);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS, "as many as there may be");
	put32(params, 1024, 129);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY, "more");
	put32(params, 1024, ~0U);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY, "many more");
	tap_subject("a list of clients");
}

/* A device has an address space of its own, not another client's, and not everybody's. */
static void test_space(void)
{
	u8 params[VGPU_NVIDIA_PARAMS_MAX] = "";
	struct vgpu_nvidia_look look;
	u32 index;

	tap_expect(judge_class(&look, 0x80, PARAMS) == VGPU_NVIDIA_PARAMS && look.params_len == 12 &&
		   !look.change, "it is looked at");
	put32(params, 4, OWN);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS, "its own");
	put32(params, 4, OTHER);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_CHANGE &&
		   look.change == PARAMS + 4 && look.from == OTHER && look.to == OWN,
		   "another's becomes its own");
	put32(params, 4, 0);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_CHANGE &&
		   look.change == PARAMS + 4 && !look.from && look.to == OWN,
		   "everybody's becomes its own");
	put32(params, 8, OTHER);
	tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY, "another target");
	tap_expect(judge_class(&look, 0x80, 0) == VGPU_NVIDIA_DENY, "no parameters");
	for (index = 0; index < 6; index++) {
		tap_expect(judge_class(&look, 0x90f1, PARAMS) == VGPU_NVIDIA_PARAMS, "a space");
		put32(params, 0, index);
		tap_expect((vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS) ==
			   (index == 0 || index == 3), "space %u", index);
	}
	tap_subject("whose address space it is");
}

static void test_params(void)
{
	static const u32 users[] = { 0x20801231, 0x20801238 };
	static const struct {
		u32 cmd;
		u32 size;
		u32 offset;
	} policies[] = { { 0xd04, 12, 8 }, { 0xd06, 16, 12 } };
	struct vgpu_nvidia_look look;
	u32 i, with;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		u8 params[VGPU_NVIDIA_PARAMS_MAX] = "";

		tap_expect(judge_control(&look, users[i], 24) == VGPU_NVIDIA_PARAMS, "%#x", users[i]);
		params[17] = 1;
		tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_PASS, "one user");
		params[16] = 1;
		tap_expect(vgpu_nvidia_judge_params(&look, params) == VGPU_NVIDIA_DENY, "all users");
	}
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		tap_expect(judge_control(&look, policies[i].cmd, policies[i].size) ==
			   VGPU_NVIDIA_PARAMS, "%#x", policies[i].cmd);
		for (with = 0; with < 8; with++) {
			u8 params[VGPU_NVIDIA_PARAMS_MAX] = "";

			put32(params, policies[i].offset, with | 4 << 16);
			tap_expect(vgpu_nvidia_judge_params(&look, params) ==
				   (with == 1 || with == 5 || with == 6 ? VGPU_NVIDIA_CHANGE :
				    VGPU_NVIDIA_PASS), "%#x: with %u", policies[i].cmd, with);
			tap_expect(with != 1 || (look.change == PARAMS + policies[i].offset &&
						 look.from == 0x40001 && look.to == 0x40002),
				   "%#x: with the user", policies[i].cmd);
		}
	}
	tap_expect(judge_control(&look, 0x208f1105, 8) == VGPU_NVIDIA_PASS,
		   "the card's settings may be verified");
	tap_subject("other parameters");
}

/* Parameters that RM unpacks have no places that could be looked at. */
static void test_packed(void)
{
	struct vgpu_nvidia_look look;
	u32 i;

	flags = ~4U;
	tap_expect(judge_control(&look, 0x20801208, 24) == VGPU_NVIDIA_PARAMS, "other flags");
	flags = 4;
	tap_expect(judge_control(&look, 0x20801208, 24) == VGPU_NVIDIA_DENY &&
		   judge_control(&look, RM_CMD_SWITCH_CHANNELS, 536) == VGPU_NVIDIA_DENY, "packed");
	tap_expect(judge_control(&look, 0x20800110, 24) == VGPU_NVIDIA_PASS, "without rules");
	flags = ~1U;
	tap_expect(judge_class(&look, 0x80, PARAMS) == VGPU_NVIDIA_PARAMS, "other flags of objects");
	flags = 1;
	tap_expect(judge_class(&look, 0x80, PARAMS) == VGPU_NVIDIA_DENY &&
		   judge_class(&look, 0x79, PARAMS) == VGPU_NVIDIA_DENY, "packed, of objects");
	tap_expect(judge_class(&look, 0x41, PARAMS) == VGPU_NVIDIA_PASS, "an object without rules");
	flags = 0;
	/* A value that is put back into parameters must not become the status. */
	for (i = 0; i < 64; i += 4)
		tap_expect(judge_class(&look, 0x80, ADDR - 12 + i) ==
			   (i && i < 60 ? VGPU_NVIDIA_DENY : VGPU_NVIDIA_PARAMS),
			   "parameters %u bytes after those before the argument", i);
	tap_subject("packed parameters");
}

/* These have no client that the driver checks, so it has to be asked. */
static void test_ask(void)
{
	static const struct {
		u32 nr;
		u32 len;
		u32 client;
		u32 status;
	} asked[] = { { 0xce, 16, 0, 12 }, { 0xcf, 16, 0, 12 }, { 0xd9, 2608, 4, 2600 },
		      { 0xd9, 1584, 4, 1576 } };
	struct vgpu_nvidia_look look;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";

		put32(arg, asked[i].client, OTHER);
		tap_expect(vgpu_nvidia_begin(&look, NV(asked[i].nr, asked[i].len), ADDR) ==
			   VGPU_NVIDIA_LOOK && look.len == asked[i].len, "%#x", asked[i].nr);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_OWN &&
			   look.named == OTHER && look.status == asked[i].status, "%#x: a client",
			   asked[i].nr);
		tap_expect(unwrap(&look, asked[i].nr, asked[i].len) == VGPU_NVIDIA_LOOK &&
			   vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_OWN && look.addr == INNER,
			   "%#x, wrapped", asked[i].nr);
		put32(arg, asked[i].client, 0);
		vgpu_nvidia_begin(&look, NV(asked[i].nr, asked[i].len), ADDR);
		tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_DENY, "%#x: no client",
			   asked[i].nr);
	}
	tap_expect(vgpu_nvidia_begin(&look, NV(0xd9, 8), ADDR) == VGPU_NVIDIA_PASS &&
		   vgpu_nvidia_begin(&look, NV(0xce, 12), ADDR) == VGPU_NVIDIA_PASS,
		   "another size, which the driver refuses");
	tap_subject("clients that the driver is asked about");
}

/* Programs may stop their own channels, and let them run again. */
static void test_switch(void)
{
	struct rm_switch_channels params = { .nr = 2, .clients = { OWN, OWN, OTHER } };
	struct vgpu_nvidia_look look;

	tap_expect(judge_control(&look, RM_CMD_SWITCH_CHANNELS, sizeof(params)) ==
		   VGPU_NVIDIA_PARAMS && look.params_len == sizeof(params), "channels are looked at");
	tap_expect(vgpu_nvidia_judge_params(&look, (u8 *)&params) == VGPU_NVIDIA_PASS, "its own");
	params.nr = 3;
	tap_expect(vgpu_nvidia_judge_params(&look, (u8 *)&params) == VGPU_NVIDIA_DENY,
		   "those of another client");
	params.nr = RM_SWITCH_MAX + 1;
	tap_expect(!vgpu_nvidia_switch_is_own(OWN, &params), "more than there may be");
	params.nr = 2;
	params.event = 1;
	tap_expect(!vgpu_nvidia_switch_is_own(OWN, &params), "an address of the kernel");
	params.event = 0;
	tap_expect(judge_control(&look, RM_CMD_SWITCH_CHANNELS, sizeof(params) - 1) ==
		   VGPU_NVIDIA_DENY, "another size");
	tap_subject("channels of the program's own");
}

static void test_key(void)
{
	const u32 control = 'F' << 8 | 0x2a;

	tap_expect(vgpu_nvidia_key(CONTROL) == control &&
		   vgpu_nvidia_key(_IOC(0, 'V', 0x2a, 32)) == control &&
		   vgpu_nvidia_key(_IOC(_IOC_READ, 0, 0x2a, 1)) == control, "any type is one");
	tap_expect(vgpu_nvidia_key(0x2a) == 0x2a && vgpu_nvidia_key(0x7ff) == 0x7ff &&
		   vgpu_nvidia_key(0x30000001) == 1 && vgpu_nvidia_key(0x30000002) == 2,
		   "unified memory has its own");
	tap_expect(vgpu_nvidia_key(0x3000002a) == control, "and no more of them");
	tap_subject("what names an ioctl");
}

static bool name_is(u32 cmd, const char *wanted)
{
	const char *name = vgpu_nvidia_name(vgpu_nvidia_key(cmd));

	return name ? wanted && !strcmp(name, wanted) : !wanted;
}

/* Policies list ioctls by name, so each ioctl has one name, and each name one ioctl. */
static void test_names(void)
{
	const struct vgpu_nvidia_ioctl *all = vgpu_nvidia_ioctls;
	u32 i, j;

	for (i = 0; i < vgpu_nvidia_nr_ioctls; i++) {
		tap_expect(vgpu_nvidia_name(all[i].key) == all[i].name, "%s", all[i].name);
		for (j = 0; j < i; j++)
			tap_expect(all[i].key != all[j].key && strcmp(all[i].name, all[j].name),
				   "%s is not %s", all[i].name, all[j].name);
	}
	tap_expect(name_is(CONTROL, "NV_ESC_RM_CONTROL") &&
		   name_is(XFER, "NV_ESC_IOCTL_XFER_CMD") &&
		   name_is(_IOC(0, 'V', 0x2a, 1), "NV_ESC_RM_CONTROL"), "the driver's own");
	tap_expect(name_is(0x2a, "UVM_SET_PREFERRED_LOCATION") &&
		   name_is(0x7ff, "UVM_IS_8_SUPPORTED") &&
		   name_is(0x30000001, "UVM_INITIALIZE"), "unified memory's");
	tap_expect(name_is(NV(0, 8), NULL) && name_is(0x7fe, NULL), "no ioctl's");
	tap_subject("names of ioctls");
}

int main(void)
{
	test_control();
	test_number();
	test_wrapped();
	test_share();
	test_alloc();
	test_older_form();
	test_own_client();
	test_own_clients();
	test_space();
	test_params();
	test_packed();
	test_ask();
	test_switch();
	test_key();
	test_names();
	return tap_done();
}
