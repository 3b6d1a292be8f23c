/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What no guest may ask of NVIDIA's driver, whatever an export allows.
 *
 * A list of ioctls cannot say it, as nearly all goes by one: it is in the argument. So whoever
 * makes a guest's call looks there, at the bytes that the driver will read, in the memory that
 * it has laid out for this call. Elsewhere any process of the guest could change them after the
 * look; there only another call of the same shadow could, by a pointer into that memory.
 *
 *	verdict = vgpu_nvidia_begin(&look, cmd, arg);
 *	while (verdict == VGPU_NVIDIA_LOOK) {
 *		... -EFAULT unless look.len bytes at look.addr are in that memory ...
 *		verdict = vgpu_nvidia_judge(&look, bytes);
 *	}
 *	... -EACCES unless vgpu_policy_nvidia(policy, cmd, look.nr) ...
 *	... ALONE becomes PASS, or DENY where the shadow is not 1 of a namespace of process ids ...
 *	if (verdict == VGPU_NVIDIA_DENY)
 *		... VGPU_NVIDIA_DENIED to look.addr + look.status, and 0 is the result ...
 */
#ifndef VGPU_NVIDIA_RULES_H
#define VGPU_NVIDIA_RULES_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>
#else
#include <linux/ioctl.h>
#include "wire_user.h"
#endif

enum vgpu_nvidia_verdict {
	VGPU_NVIDIA_PASS,
	VGPU_NVIDIA_LOOK,
	VGPU_NVIDIA_DENY,
	VGPU_NVIDIA_ALONE,
};

/* NV_ERR_NOT_SUPPORTED, 32 bits: so the driver answers commands that it does not know. */
#define VGPU_NVIDIA_DENIED	0x56

/* No place that is looked at has more bytes. */
#define VGPU_NVIDIA_LOOK_MAX	56

/**
 * struct vgpu_nvidia_look - a place to look at
 * @addr: where the driver will read it
 * @nr: of the ioctl whose argument is there; after the last judgement, of the ioctl that the
 *	driver carries out, for lists
 * @len: bytes
 * @status: where in them the driver would tell its status
 * @what: number of what was denied: a command of RM_CONTROL, a class of objects, a kind of sharing
 */
struct vgpu_nvidia_look {
	u64 addr;
	u32 nr;
	u32 len;
	u32 status;
	u32 what;
};

/**
 * vgpu_nvidia_begin - is there anything to look at?
 * @look: out
 * @cmd: the command
 * @arg: its argument, as the driver will get it
 *
 * Return: VGPU_NVIDIA_PASS or VGPU_NVIDIA_LOOK.
 */
enum vgpu_nvidia_verdict vgpu_nvidia_begin(struct vgpu_nvidia_look *look, u32 cmd, u64 arg);

/**
 * vgpu_nvidia_judge - judge what was looked at
 * @look: what for; for LOOK, which comes once at most, another place
 * @bytes: what is there, little endian as all of it
 *
 * Return: enum vgpu_nvidia_verdict.
 */
enum vgpu_nvidia_verdict vgpu_nvidia_judge(struct vgpu_nvidia_look *look, const u8 *bytes);

/*
 * UVM_INITIALIZE, whose argument begins with flags, 64 bits. With this one the driver's device
 * memory has nothing to do with the memory of the process, which is a shadow: without it the card
 * may read and write any of that (HMM, ATS), where the program takes it for its own. So the
 * engine sets it, and no program sees that.
 */
#define VGPU_NVIDIA_UVM_INIT	0x30000001
#define VGPU_NVIDIA_UVM_SHARED	0x2ULL

/* The number by which lists name an ioctl of the driver's own. */
#define VGPU_NVIDIA_RM_KEY(nr)	('F' << _IOC_TYPESHIFT | (nr))

/*
 * What an ioctl of its files is judged by in lists: the driver takes any type and direction, but
 * of unified memory, whose numbers have no size (and two that begin with 3).
 */
static inline u32 vgpu_nvidia_key(u32 cmd)
{
	if (!_IOC_SIZE(cmd) || (cmd & ~3) == 0x30000000)
		return cmd & (_IOC_TYPEMASK << _IOC_TYPESHIFT | _IOC_NRMASK << _IOC_NRSHIFT);
	return VGPU_NVIDIA_RM_KEY(_IOC_NR(cmd));
}

#endif /* VGPU_NVIDIA_RULES_H */
