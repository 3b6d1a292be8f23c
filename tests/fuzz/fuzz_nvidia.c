// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for the rules for NVIDIA's driver: any ioctl, with any memory of a call. An engine is
 * played: it judges the argument and the parameters, and makes the change that the rules want. Then
 * the request is looked at as the driver would, which must not carry out what is denied.
 */
#include "fuzz.h"
#include "nvidia_ioctls.h"
#include "nvidia_rm.h"
#include "nvidia_rules.h"

/* Address of the memory: pointers into it have few bytes that are not 0. */
#define BASE		0x40ULL
#define MEMORY_MAX	4096U
/* Commands, by which others come in NR_XFER. */
#define NV(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define NR_XFER		0xd3
#define NR_CONTROL	0x2a
#define NR_ALLOC	0x2b

/**
 * struct rules_head - parameters of an input, which the memory follows
 * @cmd: command of the ioctl
 * @options: RULES_*
 * @known: number of an entry of commands[]
 * @offset: offset of the argument in the memory
 */
struct rules_head {
	u32 cmd;
	u8 options;
	u8 known;
	u16 offset;
};

/* The command is that of @cmd, and not one of commands[]. */
#define RULES_RAW	1

static const u32 commands[] = {
	RM_IOCTL_CONTROL, RM_IOCTL_ALLOC, RM_IOCTL_SHARE, RM_IOCTL_FREE, RM_IOCTL_DUP,
	NV(NR_XFER, 16), _IOC(_IOC_READ, 0, NR_XFER, 16), NV(NR_ALLOC, 32), NV(NR_ALLOC, 40),
	NV(0x27, 56), NV(0x28, 20), NV(0xce, 16), NV(0xcf, 16), NV(0xd9, 24),
};

static u8 memory[MEMORY_MAX];
static u32 memory_len;

static bool is_there(u64 addr, u64 len)
{
	return addr >= BASE && addr - BASE <= memory_len && len <= memory_len - (addr - BASE);
}

/* Return: 32 bits at an address, or those of @none if they are not there. */
static u32 get32(u64 addr, u32 none)
{
	if (is_there(addr, sizeof(none)))
		memcpy(&none, memory + (addr - BASE), sizeof(none));
	return none;
}

static u64 get64(u64 addr)
{
	return get32(addr, 0) | (u64)get32(addr + 4, 0) << 32;
}

/* Return: a copy of the bytes, in memory of exactly their size; NULL: they are not there. */
static u8 *copy_of(u64 addr, u64 len, u32 most)
{
	const size_t size = min_t(u64, len, most);
	u8 *copy;

	if (!is_there(addr, len))
		return NULL;
	copy = malloc(size ? size : 1);
	if (!copy)
		abort();
	memcpy(copy, memory + (addr - BASE), size);
	return copy;
}

static void check_change(const struct vgpu_nvidia_look *look)
{
	const u64 at = look->change;

	FUZZ_ASSERT(is_there(at, sizeof(u32)) && get32(at, 0) == look->from);
	FUZZ_ASSERT(look->from != look->to);
	FUZZ_ASSERT((at >= look->addr && at + 4 <= look->addr + look->len) ||
		    (at >= look->params && at + 4 <= look->params + look->params_len));
}

/* Judges a request as engines do. *@there: out: false if bytes are not there: the call fails. */
static enum vgpu_nvidia_verdict judge(u32 cmd, u64 arg, struct vgpu_nvidia_look *look, bool *there)
{
	enum vgpu_nvidia_verdict verdict = vgpu_nvidia_begin(look, cmd, arg);
	bool looked = verdict == VGPU_NVIDIA_LOOK;
	unsigned int looks = 0;
	u8 *bytes;

	*there = true;
	while (verdict == VGPU_NVIDIA_LOOK) {
		FUZZ_ASSERT(looks++ < 2 && look->len);
		bytes = copy_of(look->addr, look->len, VGPU_NVIDIA_LOOK_MAX);
		*there = bytes;
		if (!bytes)
			return VGPU_NVIDIA_DENY;
		verdict = vgpu_nvidia_judge(look, bytes);
		free(bytes);
	}
	if (verdict == VGPU_NVIDIA_PARAMS) {
		FUZZ_ASSERT(look->params && look->params_len &&
			    look->params_len <= VGPU_NVIDIA_PARAMS_MAX);
		bytes = copy_of(look->params, look->params_len, VGPU_NVIDIA_PARAMS_MAX);
		if (!bytes)
			return VGPU_NVIDIA_DENY;
		/* The driver must not write to one of them when it writes to the other one. */
		FUZZ_ASSERT(look->params >= look->addr + look->len ||
			    look->params + look->params_len <= look->addr);
		verdict = vgpu_nvidia_judge_params(look, bytes);
		FUZZ_ASSERT(verdict == VGPU_NVIDIA_PASS || verdict == VGPU_NVIDIA_DENY ||
			    verdict == VGPU_NVIDIA_CHANGE);
		free(bytes);
	}
	if (verdict == VGPU_NVIDIA_DENY)
		FUZZ_ASSERT(looked && look->status + sizeof(u32) <= look->len);
	if (verdict == VGPU_NVIDIA_OWN)
		FUZZ_ASSERT(look->named && look->len >= sizeof(struct rm_free));
	if (verdict == VGPU_NVIDIA_CHANGE)
		check_change(look);
	return verdict;
}

/* Checks that the driver would not carry out a control that is denied, or of another client. */
static void drive_control(u64 arg)
{
	static const u32 denied[] = { 0xb03, 0x20801349, 0x2080111c, 0xa06c0110, 0x208f1104 };
	static const u32 of_client[] = { 0x503c0106, 0x20800122, 0x2080123a };
	const u32 what = get32(arg + 8, 0);
	u32 i, named;

	for (i = 0; i < ARRAY_SIZE(denied); i++)
		FUZZ_ASSERT(what != denied[i]);
	for (i = 0; i < ARRAY_SIZE(of_client); i++) {
		if (what != of_client[i] || get32(arg + 24, 0) < sizeof(named))
			continue;
		named = get32(get64(arg + 16), 0);
		FUZZ_ASSERT(!named || named == get32(arg, 0));
	}
}

/* The same for a new object: classes that are denied, an event, and a device's address space. */
static void drive_alloc(u64 arg)
{
	const u32 what = get32(arg + 12, 0);
	const u64 params = get64(arg + 16);

	FUZZ_ASSERT(what != 0x71 && what != 0xf3 && what != 0x5080);
	if (what == 0x05)
		FUZZ_ASSERT(!get32(params, 0) || get32(params, 0) == get32(arg, 0));
	if (what == RM_CLASS_DEVICE)
		FUZZ_ASSERT(get32(params + 4, 0) == get32(arg, 0));
}

/* Carries a request out as the driver would, which unwraps once. */
static void drive(u32 cmd, u64 arg)
{
	u32 nr = _IOC_NR(cmd), len = _IOC_SIZE(cmd);

	if (nr == NR_XFER && len == 16) {
		nr = get32(arg, 0);
		len = get32(arg + 4, 0);
		arg = get64(arg + 8);
	}
	if (nr == NR_CONTROL && len == 32)
		drive_control(arg);
	if (nr == NR_ALLOC && (len == 32 || len == 40 || len == 48))
		drive_alloc(arg);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	enum vgpu_nvidia_verdict verdict;
	struct vgpu_nvidia_look look;
	struct rules_head head;
	bool there;
	u64 arg;
	u32 cmd;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	memory_len = min_t(size_t, len - sizeof(head), MEMORY_MAX);
	memcpy(memory, data + sizeof(head), memory_len);
	cmd = head.options & RULES_RAW ? head.cmd : commands[head.known % ARRAY_SIZE(commands)];
	arg = BASE + head.offset;
	memset(&look, 0, sizeof(look));
	verdict = judge(cmd, arg, &look, &there);
	vgpu_nvidia_name(VGPU_NVIDIA_RM_KEY(look.nr));
	vgpu_nvidia_name(vgpu_nvidia_key(cmd));
	if (verdict == VGPU_NVIDIA_CHANGE) {
		memcpy(memory + (look.change - BASE), &look.to, sizeof(look.to));
		/* Nothing is left to change then. */
		verdict = judge(cmd, arg, &look, &there);
		FUZZ_ASSERT(verdict == VGPU_NVIDIA_PASS);
	}
	if (verdict == VGPU_NVIDIA_PASS && there)
		drive(cmd, arg);
	return 0;
}
