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
 * those of the second line change when channels run.
 */
static const u32 denied[] = {
	0xb03, 0xb04, 0x2080016e, 0x208001af, 0x2080017c, 0x20801349,
	0x2080111a, 0x2080111b, 0x20801115, 0x20801121, 0xa06c0110,
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

/* An object may be shared with all kinds of receivers but with a client (3). */
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
	} forms[] = { { 0x27, 56, 40 }, { 0x2b, 32, 28 }, { 0x2b, 48, 40 } };
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX];
	u32 i, class;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		for (class = 0; class < 0x100; class++) {
			const bool denied = class == 0xf3 || class == 0xfd ||
					    (class == 0x71 && forms[i].nr == 0x2b);
			enum vgpu_nvidia_verdict wanted = denied ? VGPU_NVIDIA_DENY :
							  VGPU_NVIDIA_PASS;

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
		tap_expect(vgpu_nvidia_begin(&look, NV(forms[i].nr, forms[i].len + 8), ADDR) ==
			   VGPU_NVIDIA_PASS, "another size");
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

/* Programs may stop their own channels, and let them run again. */
static void test_switch(void)
{
	struct rm_switch_channels params = { .nr = 2, .clients = { 7, 7, 8 } };
	struct rm_control control = { .client = 7, .params_size = sizeof(params) };
	struct vgpu_nvidia_look look;
	u8 arg[VGPU_NVIDIA_LOOK_MAX] = "";

	put32(arg, 8, RM_CMD_SWITCH_CHANNELS);
	vgpu_nvidia_begin(&look, CONTROL, ADDR);
	tap_expect(vgpu_nvidia_judge(&look, arg) == VGPU_NVIDIA_SWITCH, "channels are looked at");
	tap_expect(vgpu_nvidia_switch_is_own(&control, &params), "its own");
	params.nr = 3;
	tap_expect(!vgpu_nvidia_switch_is_own(&control, &params), "those of another client");
	params.nr = RM_SWITCH_MAX + 1;
	tap_expect(!vgpu_nvidia_switch_is_own(&control, &params), "more than there may be");
	params.nr = 2;
	params.event = 1;
	tap_expect(!vgpu_nvidia_switch_is_own(&control, &params), "an address of the kernel");
	params.event = 0;
	control.params_size--;
	tap_expect(!vgpu_nvidia_switch_is_own(&control, &params), "another size");
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
	test_switch();
	test_key();
	test_names();
	return tap_done();
}
