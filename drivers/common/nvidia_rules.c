// SPDX-License-Identifier: GPL-2.0-only
/* Requests that no guest may make of NVIDIA's driver, see nvidia_rules.h. */
#include "nvidia_rm.h"
#include "nvidia_rules.h"

/* Numbers of ioctls, and the sizes by which the driver recognizes their arguments. */
#define NR_ALLOC_MEMORY		0x27
#define NR_ALLOC_OBJECT		0x28
#define NR_CONTROL		0x2a
#define NR_ALLOC		0x2b
#define NR_SHARE		0x35
#define NR_ALLOC_EVENT		0xce
#define NR_FREE_EVENT		0xcf
#define NR_XFER			0xd3
#define NR_EXPORT_DMABUF	0xd9
#define ALLOC_MEMORY_SIZE	56
#define ALLOC_OBJECT_SIZE	20
#define ALLOC_SIZE		32
#define ALLOC_OLD_SIZE		40
#define ALLOC_RIGHTS_SIZE	48
#define CONTROL_SIZE		32
#define SHARE_SIZE		24
#define OS_EVENT_SIZE		16
#define XFER_SIZE		16

/*
 * Offsets in struct nv_alloc_memory, nv_alloc, nv_alloc_rights, nv_control and nv_xfer of
 * drivers/guest/argument/schema/nvidia.c.
 */
#define ALLOC_CLASS		12
#define ALLOC_PARAMS		16
#define ALLOC_OBJECT		8
#define ALLOC_OLD_FLAGS		32
#define ALLOC_OLD_STATUS	36
#define ALLOC_RIGHTS_FLAGS	36
#define ALLOC_MEMORY_STATUS	40
#define ALLOC_OBJECT_STATUS	16
#define ALLOC_STATUS		28
#define ALLOC_RIGHTS_STATUS	40
#define CONTROL_CMD		8
#define CONTROL_FLAGS		12
#define CONTROL_PARAMS		16
#define CONTROL_PARAMS_SIZE	24
#define CONTROL_STATUS		28
/*
 * Offset of the 16-bit kind of sharing. With SHARE_WITH_ALL any guest that guesses two handles
 * gets the object, and with SHARE_WITH_PART and SHARE_WITH_CARD any that has the card, or the same
 * part of it. These become SHARE_WITH_USER: all shadows of a guest, and of no other one, have the
 * same user. The driver checks the right to share, except for SHARE_WITH_CLIENT.
 */
#define SHARE_WITH		16
#define SHARE_WITH_ALL		1
#define SHARE_WITH_USER		2
#define SHARE_WITH_CLIENT	3
#define SHARE_WITH_PART		5
#define SHARE_WITH_CARD		6
#define SHARE_STATUS		20
#define OS_EVENT_CLIENT		0
#define OS_EVENT_STATUS		12
/*
 * The argument by which a card's file gives out memory as a dma-buf. Its size differs between
 * releases; the status is in its last eight bytes.
 */
#define DMABUF_CLIENT		4
#define DMABUF_STATUS_TO_END	8
#define XFER_NR			0
#define XFER_LEN		4
#define XFER_ADDR		8

/* Commands that report on foreign processes: their ids, names, memory or sessions. */
static const u32 denied_controls[] = {
	0x00000b03,	/* accounting of one process */
	0x00000b04,	/* accounting: list of processes */
	0x2080016e,	/* sessions of encoders */
	0x2080017c,	/* sessions of captures */
	0x208001af,	/* sessions of encoders, a newer form */
	0x20801349,	/* owners of memory */
	0x20802096,	/* who has used the card; addresses of the kernel beside that */
};

/*
 * Commands that undo a guest's share of the card (userspace-lib/engine/memory/channel.c), or that
 * change how the card divides its time between all channels.
 */
static const u32 denied_sharing[] = {
	0x2080111a,	/* stop channels while keys are changed, and let them run again */
	0x2080111b,	/* a newer form */
	0x2080111c,	/* change keys; stops channels of any client */
	0x20801103,	/* bind channels of any client to engines */
	0x20801115,	/* policy of a list of channels */
	0x20801121,	/* state of the scheduler */
	0xa06c0110,	/* let a group of channels run before all others */
};

/*
 * Commands that report the processes that use the card, and the size of their memory. The
 * driver reports only processes that have an id in the caller's namespace (os_find_ns_pid() of
 * its open modules, 580 to 595).
 */
static const u32 of_namespace[] = { 0x2080018d, 0x2080018e };

static const u32 denied_classes[] = {
	/*
	 * NVLink's fabric imports memory by this class: memory of any client, by handles alone,
	 * or at any address. The driver does not check the owner.
	 */
	0xf3,	/* NV01_MEMORY_FLA */
	/*
	 * The memory of a team, which NVLink's switches write to all cards of the team. Teams
	 * are few, and all tenants of the switches share them; a failing team takes the cards
	 * along.
	 */
	0xfd,	/* NV_MEMORY_MULTICAST_FABRIC */
	/*
	 * Commands that a channel carries out later, among them privileged ones that name any
	 * client and its channels. No program of today makes such an object.
	 */
	0x5080,	/* NV50_DEFERRED_API_CLASS */
	/* These manage virtual machines whose cards NVIDIA's own host program divides. */
	0xa081,	/* NVA081_VGPU_CONFIG */
	0xa084,	/* NVA084_KERNEL_HOST_VGPU_DEVICE */
};

/*
 * Commands of this class tell of channels of any client, write registers and change how the card
 * treats errors of memory. Programs may have such an object, and give it one command, by which
 * nvidia-smi verifies the card's settings.
 */
#define CLASS_DIAGNOSIS		0x208f
#define CMD_VERIFY		0x208f1105

/*
 * Classes that RM_ALLOC must not make. RM_ALLOC_MEMORY hands over described memory (0x71) and
 * takes only memory of programs. Memory that RM_ALLOC hands over may be a dma-buf's: a mapping
 * shows its pages but holds no references of them, so they return to the kernel when the guest
 * frees them.
 */
static const u32 denied_in_alloc[] = {
	0x71,	/* NV01_MEMORY_SYSTEM_OS_DESCRIPTOR */
};

/*
 * Kinds of rules for parameters. The driver checks that the client which makes a request belongs
 * to the caller's file. It does not check clients that parameters name, and handles are easy to
 * guess.
 */
enum params_kind {
	OWN_CLIENT,	/* 32 bits are the caller's client, or 0, which is no client */
	/*
	 * 32 bits name a client of whose device the new device has the address space, and become
	 * the caller's client: the driver looks for the other client when the space is first used,
	 * and its handle may be that of another program's then. 0 stands for one address space
	 * that all devices share for which programs have asked so.
	 */
	OWN_DEVICE,
	OWN_CLIENTS,	/* a list of OWN_CLIENTS_MAX clients is the caller's, up to its length */
	OWN_SPACE,	/* 32 bits ask for a new address space, or that of the device */
	OWN_CHANNELS,	/* see vgpu_nvidia_switch_is_own() */
	NO_BYTE,	/* a byte is 0 */
	WITH_USER,	/* 16 bits are a kind of sharing, see SHARE_WITH */
};

#define OWN_CLIENTS_MAX		128
#define OWN_CLIENTS_NR		1024	/* offset of the length of the list */
#define SPACE_NEW		0
#define SPACE_OF_DEVICE		3

/*
 * Rules for the parameters of commands, and of new objects: the number of the ioctl, the command or
 * class, the number of bytes that the rule needs, and the offset of what it looks at.
 */
static const struct params_rule {
	u16 nr;
	u16 len;
	u32 what;
	u32 offset;
	enum params_kind kind;
} params_rules[] = {
	{ NR_ALLOC, 4, 0x05, 0, OWN_CLIENT },	/* event, also for another client */
	{ NR_ALLOC, 4, 0x79, 0, OWN_CLIENT },
	{ NR_ALLOC, 12, RM_CLASS_DEVICE, 4, OWN_DEVICE },
	{ NR_ALLOC, 12, RM_CLASS_DEVICE, 8, OWN_CLIENT },
	{ NR_ALLOC, 4, 0x90f1, 0, OWN_SPACE },
	{ NR_CONTROL, 536, RM_CMD_SWITCH_CHANNELS, 0, OWN_CHANNELS },
	{ NR_CONTROL, 12, 0x00000d04, 8, WITH_USER },
	{ NR_CONTROL, 16, 0x00000d06, 12, WITH_USER },
	{ NR_CONTROL, 8, 0x00000d03, 4, OWN_CLIENT },	/* whether a handle exists */
	{ NR_CONTROL, 4, 0x20800122, 0, OWN_CLIENT },	/* registers of a channel */
	{ NR_CONTROL, 4, 0x208001a6, 0, OWN_CLIENT },
	{ NR_CONTROL, 4, 0x20801123, 0, OWN_CLIENT },	/* identifiers of channels */
	{ NR_CONTROL, 1028, 0x20801124, 0, OWN_CLIENTS },
	{ NR_CONTROL, 8, 0x20801205, 4, OWN_CLIENT },	/* memory where a channel's state goes */
	{ NR_CONTROL, 4, 0x20801208, 0, OWN_CLIENT },
	{ NR_CONTROL, 4, 0x20801209, 0, OWN_CLIENT },
	{ NR_CONTROL, 8, 0x20801211, 4, OWN_CLIENT },
	{ NR_CONTROL, 4, 0x2080123a, 0, OWN_CLIENT },
	{ NR_CONTROL, 17, 0x20801231, 16, NO_BYTE },	/* switches between all users' channels */
	{ NR_CONTROL, 17, 0x20801238, 16, NO_BYTE },
	{ NR_CONTROL, 4, 0x503c0106, 0, OWN_CLIENT },	/* who answers for pages of a process */
};

static_assert(sizeof(struct rm_switch_channels) == 536, "the size in the table");
static_assert(sizeof(struct rm_switch_channels) <= VGPU_NVIDIA_PARAMS_MAX &&
	      OWN_CLIENTS_NR + 4 <= VGPU_NVIDIA_PARAMS_MAX, "engines have room for the largest");

static u32 get32(const u8 *bytes, u32 offset)
{
	__le32 v;

	memcpy(&v, bytes + offset, sizeof(v));
	return le32_to_cpu(v);
}

static u64 get64(const u8 *bytes, u32 offset)
{
	__le64 v;

	memcpy(&v, bytes + offset, sizeof(v));
	return le64_to_cpu(v);
}

/*
 * Return: true if objects of the class tell of channels. The engine has to know of these, and
 * learns of RM_ALLOC alone. Programs do not make such objects by the older form.
 */
static bool is_of_channel(u32 class)
{
	return class == RM_CLASS_DEVICE || class == RM_CLASS_SUBDEVICE ||
	       class == RM_CLASS_GROUP || rm_is_channel(class);
}

bool vgpu_nvidia_switch_is_own(u32 client, const struct rm_switch_channels *params)
{
	u32 i;

	if (params->nr > RM_SWITCH_MAX || params->event)
		return false;
	for (i = 0; i < params->nr; i++)
		if (params->clients[i] != client)
			return false;
	return true;
}

static bool are_own(const u8 *params, u32 client)
{
	u32 nr = get32(params, OWN_CLIENTS_NR), i;

	for (i = 0; i < nr && i < OWN_CLIENTS_MAX; i++)
		if (get32(params, 4 * i) != client)
			return false;
	return nr <= OWN_CLIENTS_MAX;
}

/* Have the engine change the 32 bits at an address. */
static enum vgpu_nvidia_verdict change(struct vgpu_nvidia_look *look, u64 addr, u32 from, u32 to)
{
	look->change = addr;
	look->from = from;
	look->to = to;
	return VGPU_NVIDIA_CHANGE;
}

/* Judge the kind of sharing, which is the lower half of the 32 bits @at. */
static enum vgpu_nvidia_verdict judge_share(struct vgpu_nvidia_look *look, u64 addr, u32 at)
{
	const u32 with = at & U16_MAX;

	if (with != SHARE_WITH_ALL && with != SHARE_WITH_PART && with != SHARE_WITH_CARD)
		return VGPU_NVIDIA_PASS;
	return change(look, addr, at, (at & ~(u32)U16_MAX) | SHARE_WITH_USER);
}

static enum vgpu_nvidia_verdict unless(bool kept)
{
	return kept ? VGPU_NVIDIA_PASS : VGPU_NVIDIA_DENY;
}

static enum vgpu_nvidia_verdict judge_rule(struct vgpu_nvidia_look *look,
					   const struct params_rule *rule, const u8 *params)
{
	const u64 addr = look->params + rule->offset;
	const u8 *at = params + rule->offset;
	struct rm_switch_channels channels;

	switch (rule->kind) {
	case OWN_CLIENT:
		return unless(!get32(at, 0) || get32(at, 0) == look->client);
	case OWN_DEVICE:
		return get32(at, 0) == look->client ? VGPU_NVIDIA_PASS :
		       change(look, addr, get32(at, 0), look->client);
	case OWN_CLIENTS:
		return unless(are_own(params, look->client));
	case OWN_SPACE:
		return unless(get32(at, 0) == SPACE_NEW || get32(at, 0) == SPACE_OF_DEVICE);
	case OWN_CHANNELS:
		memcpy(&channels, params, sizeof(channels));
		return unless(vgpu_nvidia_switch_is_own(look->client, &channels));
	case NO_BYTE:
		return unless(!*at);
	case WITH_USER:
		return judge_share(look, addr, get32(at, 0));
	}
	return VGPU_NVIDIA_DENY;
}

/* Return: the number of bytes that the rules for parameters of a request need; 0: no rules. */
static u32 params_needed(u32 nr, u32 what)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(params_rules); i++)
		if (params_rules[i].nr == nr && params_rules[i].what == what)
			return params_rules[i].len;
	return 0;
}

enum vgpu_nvidia_verdict vgpu_nvidia_judge_params(struct vgpu_nvidia_look *look, const u8 *params)
{
	enum vgpu_nvidia_verdict verdict = VGPU_NVIDIA_PASS, one;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(params_rules); i++) {
		if (params_rules[i].nr != look->nr || params_rules[i].what != look->what)
			continue;
		one = judge_rule(look, &params_rules[i], params);
		if (one == VGPU_NVIDIA_DENY)
			return one;
		/* At most one rule of a request has another verdict. */
		if (one != VGPU_NVIDIA_PASS)
			verdict = one;
	}
	return verdict;
}

/*
 * Arguments to check; no release of the driver takes another size for these ioctls. Releases 515
 * to 530 have RM_ALLOC of 40 bytes, the first of these with the status where others have flags.
 */
static const struct {
	u32 nr;
	u32 len;
	u32 status;
} looked_at[] = {
	{ NR_ALLOC_MEMORY, ALLOC_MEMORY_SIZE, ALLOC_MEMORY_STATUS },
	{ NR_ALLOC_OBJECT, ALLOC_OBJECT_SIZE, ALLOC_OBJECT_STATUS },
	{ NR_CONTROL, CONTROL_SIZE, CONTROL_STATUS },
	{ NR_ALLOC, ALLOC_SIZE, ALLOC_STATUS },
	{ NR_ALLOC, ALLOC_OLD_SIZE, ALLOC_OLD_STATUS },
	{ NR_ALLOC, ALLOC_RIGHTS_SIZE, ALLOC_RIGHTS_STATUS },
	{ NR_SHARE, SHARE_SIZE, SHARE_STATUS },
	{ NR_ALLOC_EVENT, OS_EVENT_SIZE, OS_EVENT_STATUS },
	{ NR_FREE_EVENT, OS_EVENT_SIZE, OS_EVENT_STATUS },
	{ NR_XFER, XFER_SIZE, 0 },
};

static enum vgpu_nvidia_verdict judge(const u32 *list, u32 nr, u32 what)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (list[i] == what)
			return VGPU_NVIDIA_DENY;
	return VGPU_NVIDIA_PASS;
}

static enum vgpu_nvidia_verdict look_at(struct vgpu_nvidia_look *look, u32 nr, u32 len, u64 addr)
{
	u32 i;

	look->addr = addr;
	look->nr = nr;
	look->len = len;
	look->what = 0;
	look->named = 0;
	look->change = 0;
	if (nr == NR_EXPORT_DMABUF && len >= sizeof(struct rm_free)) {
		look->status = len - DMABUF_STATUS_TO_END;
		return VGPU_NVIDIA_LOOK;
	}
	for (i = 0; i < ARRAY_SIZE(looked_at); i++) {
		if (looked_at[i].nr != nr || looked_at[i].len != len)
			continue;
		look->status = looked_at[i].status;
		return VGPU_NVIDIA_LOOK;
	}
	return VGPU_NVIDIA_PASS;
}

enum vgpu_nvidia_verdict vgpu_nvidia_begin(struct vgpu_nvidia_look *look, u32 cmd, u64 arg)
{
	return look_at(look, _IOC_NR(cmd), _IOC_SIZE(cmd), arg);
}

/* Return: true if a class is of clients. */
static bool is_of_clients(u32 class)
{
	return class == 0x00 || class == 0x01 || class == RM_CLASS_CLIENT;
}

/*
 * Flags of RM_ALLOC and RM_CONTROL: parameters are a stream that RM unpacks, so fields have no
 * fixed places.
 */
#define ALLOC_PACKED		0x1
#define CONTROL_PACKED		0x4

/* Judge a request by what its parameters may be, which @params and @size tell the driver. */
static enum vgpu_nvidia_verdict judge_by_params(struct vgpu_nvidia_look *look, const u8 *bytes,
						u64 params, u32 size, bool packed)
{
	look->params_len = params_needed(look->nr, look->what);
	if (!look->params_len)
		return VGPU_NVIDIA_PASS;
	/* The driver must not change one of them when it writes to the other one. */
	if (packed || (params < look->addr + look->len && look->addr < params + look->params_len))
		return VGPU_NVIDIA_DENY;
	look->client = get32(bytes, 0);
	look->params = params;
	return params && size >= look->params_len ? VGPU_NVIDIA_PARAMS : VGPU_NVIDIA_DENY;
}

static enum vgpu_nvidia_verdict judge_class(struct vgpu_nvidia_look *look, const u8 *bytes)
{
	u64 params;
	u32 flags = 0;

	look->what = get32(bytes, ALLOC_CLASS);
	if (look->nr == NR_ALLOC_OBJECT && is_of_channel(look->what))
		return VGPU_NVIDIA_DENY;
	if (look->nr != NR_ALLOC_MEMORY &&
	    judge(denied_in_alloc, ARRAY_SIZE(denied_in_alloc), look->what))
		return VGPU_NVIDIA_DENY;
	if (judge(denied_classes, ARRAY_SIZE(denied_classes), look->what))
		return VGPU_NVIDIA_DENY;
	/*
	 * The driver chooses handles of clients. A program that chose one could leave something
	 * behind for the program to which the driver gives that handle next.
	 */
	if (is_of_clients(look->what) && look->nr != NR_ALLOC_MEMORY &&
	    get32(bytes, ALLOC_OBJECT))
		return VGPU_NVIDIA_DENY;
	/*
	 * The class tells the driver the size of the parameters. Without them a device has the
	 * address space of all; for other classes that is a mistake, or stands for harmless ones.
	 */
	if (look->nr != NR_ALLOC)
		return VGPU_NVIDIA_PASS;
	params = get64(bytes, ALLOC_PARAMS);
	if (!params && look->what != RM_CLASS_DEVICE)
		return VGPU_NVIDIA_PASS;
	if (look->len == ALLOC_RIGHTS_SIZE)
		flags = get32(bytes, ALLOC_RIGHTS_FLAGS);
	else if (look->len == ALLOC_OLD_SIZE)
		flags = get32(bytes, ALLOC_OLD_FLAGS);
	return judge_by_params(look, bytes, params, U32_MAX, flags & ALLOC_PACKED);
}

static enum vgpu_nvidia_verdict judge_control(struct vgpu_nvidia_look *look, const u8 *bytes)
{
	u32 i;

	look->what = get32(bytes, CONTROL_CMD);
	for (i = 0; i < ARRAY_SIZE(of_namespace); i++)
		if (of_namespace[i] == look->what)
			return VGPU_NVIDIA_ALONE;
	if (judge(denied_controls, ARRAY_SIZE(denied_controls), look->what) ||
	    judge(denied_sharing, ARRAY_SIZE(denied_sharing), look->what) ||
	    (look->what >> 16 == CLASS_DIAGNOSIS && look->what != CMD_VERIFY))
		return VGPU_NVIDIA_DENY;
	return judge_by_params(look, bytes, get64(bytes, CONTROL_PARAMS),
			       get32(bytes, CONTROL_PARAMS_SIZE),
			       get32(bytes, CONTROL_FLAGS) & CONTROL_PACKED);
}

enum vgpu_nvidia_verdict vgpu_nvidia_judge(struct vgpu_nvidia_look *look, const u8 *bytes)
{
	switch (look->nr) {
	case NR_XFER:
		/* The driver does not unwrap twice. */
		if (get32(bytes, XFER_NR) == NR_XFER)
			return VGPU_NVIDIA_PASS;
		return look_at(look, get32(bytes, XFER_NR), get32(bytes, XFER_LEN),
			       get64(bytes, XFER_ADDR));
	case NR_SHARE:
		look->what = get32(bytes, SHARE_WITH) & U16_MAX;
		return look->what == SHARE_WITH_CLIENT ? VGPU_NVIDIA_DENY :
		       judge_share(look, look->addr + SHARE_WITH, get32(bytes, SHARE_WITH));
	case NR_ALLOC_EVENT:
	case NR_FREE_EVENT:
	case NR_EXPORT_DMABUF:
		look->named = get32(bytes, look->nr == NR_EXPORT_DMABUF ? DMABUF_CLIENT :
							 OS_EVENT_CLIENT);
		/* The handle 0 is no client that the driver could be asked about. */
		return look->named ? VGPU_NVIDIA_OWN : VGPU_NVIDIA_DENY;
	case NR_CONTROL:
		return judge_control(look, bytes);
	default:
		return judge_class(look, bytes);
	}
}
