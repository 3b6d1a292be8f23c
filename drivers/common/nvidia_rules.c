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
#define NR_XFER			0xd3
#define ALLOC_MEMORY_SIZE	56
#define ALLOC_OBJECT_SIZE	20
#define ALLOC_SIZE		32
#define ALLOC_RIGHTS_SIZE	48
#define CONTROL_SIZE		32
#define SHARE_SIZE		24
#define XFER_SIZE		16

/*
 * Offsets in struct nv_alloc_memory, nv_alloc, nv_alloc_rights, nv_control and nv_xfer of
 * drivers/guest/argument/schema/nvidia.c.
 */
#define ALLOC_CLASS		12
#define ALLOC_MEMORY_STATUS	40
#define ALLOC_OBJECT_STATUS	16
#define ALLOC_STATUS		28
#define ALLOC_RIGHTS_STATUS	40
#define CONTROL_CMD		8
#define CONTROL_STATUS		28
/*
 * Offset of the 16-bit kind of sharing. The driver checks the right to share, except for the
 * kind SHARE_WITH_CLIENT.
 */
#define SHARE_WITH		16
#define SHARE_WITH_CLIENT	3
#define SHARE_STATUS		20
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
};

/*
 * Commands that undo a guest's share of the card (userspace-lib/engine/memory/channel.c), or that
 * change how the card divides its time between all channels.
 */
static const u32 denied_sharing[] = {
	0x2080111a,	/* stop channels while keys are changed, and let them run again */
	0x2080111b,	/* a newer form */
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
};

/*
 * Classes that RM_ALLOC must not make. RM_ALLOC_MEMORY hands over described memory (0x71) and
 * takes only memory of programs. Memory that RM_ALLOC hands over may be a dma-buf's: a mapping
 * shows its pages but holds no references of them, so they return to the kernel when the guest
 * frees them.
 */
static const u32 denied_in_alloc[] = {
	0x71,	/* NV01_MEMORY_SYSTEM_OS_DESCRIPTOR */
};

static u32 get32(const u8 *bytes, u32 offset)
{
	__le32 v;

	memcpy(&v, bytes + offset, sizeof(v));
	return le32_to_cpu(v);
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

bool vgpu_nvidia_switch_is_own(const struct rm_control *control,
			       const struct rm_switch_channels *params)
{
	u32 i;

	if (control->params_size != sizeof(*params) || params->nr > RM_SWITCH_MAX || params->event)
		return false;
	for (i = 0; i < params->nr; i++)
		if (params->clients[i] != control->client)
			return false;
	return true;
}

/* Arguments to check; the driver takes no other size for these ioctls. */
static const struct {
	u32 nr;
	u32 len;
	u32 status;
} looked_at[] = {
	{ NR_ALLOC_MEMORY, ALLOC_MEMORY_SIZE, ALLOC_MEMORY_STATUS },
	{ NR_ALLOC_OBJECT, ALLOC_OBJECT_SIZE, ALLOC_OBJECT_STATUS },
	{ NR_CONTROL, CONTROL_SIZE, CONTROL_STATUS },
	{ NR_ALLOC, ALLOC_SIZE, ALLOC_STATUS },
	{ NR_ALLOC, ALLOC_RIGHTS_SIZE, ALLOC_RIGHTS_STATUS },
	{ NR_SHARE, SHARE_SIZE, SHARE_STATUS },
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

enum vgpu_nvidia_verdict vgpu_nvidia_judge(struct vgpu_nvidia_look *look, const u8 *bytes)
{
	__le64 addr;
	__le16 with;
	u32 i;

	if (look->nr == NR_XFER) {
		/* The driver does not unwrap twice. */
		if (get32(bytes, XFER_NR) == NR_XFER)
			return VGPU_NVIDIA_PASS;
		memcpy(&addr, bytes + XFER_ADDR, sizeof(addr));
		return look_at(look, get32(bytes, XFER_NR), get32(bytes, XFER_LEN),
			       le64_to_cpu(addr));
	}
	if (look->nr == NR_SHARE) {
		memcpy(&with, bytes + SHARE_WITH, sizeof(with));
		look->what = le16_to_cpu(with);
		return look->what == SHARE_WITH_CLIENT ? VGPU_NVIDIA_DENY : VGPU_NVIDIA_PASS;
	}
	if (look->nr == NR_ALLOC || look->nr == NR_ALLOC_MEMORY || look->nr == NR_ALLOC_OBJECT) {
		look->what = get32(bytes, ALLOC_CLASS);
		if (look->nr == NR_ALLOC_OBJECT && is_of_channel(look->what))
			return VGPU_NVIDIA_DENY;
		if (look->nr != NR_ALLOC_MEMORY &&
		    judge(denied_in_alloc, ARRAY_SIZE(denied_in_alloc), look->what))
			return VGPU_NVIDIA_DENY;
		return judge(denied_classes, ARRAY_SIZE(denied_classes), look->what);
	}
	look->what = get32(bytes, CONTROL_CMD);
	if (look->what == RM_CMD_SWITCH_CHANNELS)
		return VGPU_NVIDIA_SWITCH;
	for (i = 0; i < ARRAY_SIZE(of_namespace); i++)
		if (of_namespace[i] == look->what)
			return VGPU_NVIDIA_ALONE;
	return judge(denied_controls, ARRAY_SIZE(denied_controls), look->what) ?:
	       judge(denied_sharing, ARRAY_SIZE(denied_sharing), look->what);
}
