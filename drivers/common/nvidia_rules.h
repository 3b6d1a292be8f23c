/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for NVIDIA's driver: requests that no guest may make, whatever the export allows.
 *
 * A list of ioctls cannot express these rules: nearly all requests use one ioctl, and the
 * argument tells them apart. So the engine that runs the guest's call checks the bytes that the
 * driver will read, in the memory that it has laid out for this call. Any process of the guest
 * could change bytes elsewhere after the check. Bytes of that memory can be changed only by
 * another call of the same shadow, with a pointer into that memory.
 *
 *	verdict = vgpu_nvidia_begin(&look, cmd, arg);
 *	while (verdict == VGPU_NVIDIA_LOOK) {
 *		... -EFAULT unless look.len bytes at look.addr are in that memory ...
 *		verdict = vgpu_nvidia_judge(&look, bytes);
 *	}
 *	... -EACCES unless vgpu_policy_nvidia(policy, cmd, look.nr) ...
 *	... ALONE becomes PASS if the shadow is process 1 of a pid namespace, else DENY ...
 *	if (verdict == VGPU_NVIDIA_PARAMS)
 *		... DENY unless look.params_len bytes at look.params are in that memory ...
 *		verdict = vgpu_nvidia_judge_params(&look, params);
 *	... OWN becomes PASS if the driver says that look.named is of one of the guest's control
 *	    files, else DENY; nothing that the guest can delay may come after the question ...
 *	if (verdict == VGPU_NVIDIA_CHANGE)
 *		... look.to to the 32 bits at look.change, and look.from in the reply ...
 *	if (verdict == VGPU_NVIDIA_DENY)
 *		... VGPU_NVIDIA_DENIED to look.addr + look.status, and 0 is the result ...
 */
#ifndef VGPU_NVIDIA_RULES_H
#define VGPU_NVIDIA_RULES_H

#include <linux/ioctl.h>

#include "wire.h"

enum vgpu_nvidia_verdict {
	VGPU_NVIDIA_PASS,
	VGPU_NVIDIA_LOOK,
	VGPU_NVIDIA_DENY,
	VGPU_NVIDIA_ALONE,
	VGPU_NVIDIA_OWN,
	VGPU_NVIDIA_PARAMS,
	VGPU_NVIDIA_CHANGE,
};

struct rm_switch_channels;

/* NV_ERR_NOT_SUPPORTED, 32 bits: the driver's answer to unknown commands. */
#define VGPU_NVIDIA_DENIED	0x56

/* Maximum number of bytes of an argument that are looked at; of larger ones, the first bytes. */
#define VGPU_NVIDIA_LOOK_MAX	56
/* Maximum number of bytes of parameters that are checked. */
#define VGPU_NVIDIA_PARAMS_MAX	1028
/* Maximum number of control files of a guest that the driver is asked about for one request. */
#define VGPU_NVIDIA_ASK_MAX	256

/**
 * struct vgpu_nvidia_look - bytes to check
 * @addr: address from which the driver will read them
 * @nr: number of the ioctl whose argument they are; after the last judgement, number of the
 *	ioctl that the driver carries out, for lists
 * @len: number of bytes; with OWN at least those of struct rm_free
 * @status: offset in the bytes at which the driver would write its status
 * @what: number of the denied request: a command of RM_CONTROL, a class of objects, a kind of
 *	sharing; 0: the ioctl as such
 * @client: client that makes the request, with PARAMS
 * @named: client that the request names, with OWN; 0: none is to be asked about
 * @params: address from which the driver will read parameters, with PARAMS
 * @params_len: number of bytes to check there
 * @change: address of 32 bits that must be changed, with CHANGE; 0: none
 * @from: value of these bits as the guest has set them
 * @to: value of these bits for the driver
 */
struct vgpu_nvidia_look {
	u64 addr;
	u32 nr;
	u32 len;
	u32 status;
	u32 what;
	u32 client;
	u32 named;
	u32 params_len;
	u64 params;
	u64 change;
	u32 from;
	u32 to;
};

/**
 * vgpu_nvidia_begin - find out if there are bytes to check
 * @look: out: the bytes
 * @cmd: command of the ioctl
 * @arg: argument of the ioctl as the driver will get it
 *
 * Return: VGPU_NVIDIA_PASS or VGPU_NVIDIA_LOOK.
 */
enum vgpu_nvidia_verdict vgpu_nvidia_begin(struct vgpu_nvidia_look *look, u32 cmd, u64 arg);

/**
 * vgpu_nvidia_judge - judge the bytes of an argument
 * @look: the bytes; with LOOK, which is returned at most once, the bytes to check next
 * @bytes: copy of the bytes; all values are little-endian
 *
 * Return: enum vgpu_nvidia_verdict.
 */
enum vgpu_nvidia_verdict vgpu_nvidia_judge(struct vgpu_nvidia_look *look, const u8 *bytes);

/**
 * vgpu_nvidia_judge_params - judge the parameters of a command or of a new object
 * @look: what vgpu_nvidia_judge() has filled in; out: @change, @from, @to
 * @params: copy of @look->params_len bytes of the parameters
 *
 * Neither the driver nor its firmware checks clients that parameters name
 * (Documentation/internals/nvidia.rst).
 *
 * Return: VGPU_NVIDIA_PASS, VGPU_NVIDIA_DENY or VGPU_NVIDIA_CHANGE.
 */
enum vgpu_nvidia_verdict vgpu_nvidia_judge_params(struct vgpu_nvidia_look *look, const u8 *params);

/**
 * vgpu_nvidia_switch_is_own - check a command that takes channels off a card, or lets them run
 * @client: client that gives the command
 * @params: copy of the command's parameters
 *
 * Programs may do that to their own channels, and Vulkan's driver does.
 *
 * Return: true if all channels are of the client, and nothing of the kernel's is named.
 */
bool vgpu_nvidia_switch_is_own(u32 client, const struct rm_switch_channels *params);

/*
 * UVM_INITIALIZE, whose argument begins with 64 bits of flags. With VGPU_NVIDIA_UVM_SHARED the
 * driver's device memory is independent of the memory of the process, which is a shadow.
 * Without the flag the card may read and write any memory of the shadow (HMM, ATS), which the
 * program takes for its own. The engine sets the flag, and no program sees it.
 */
#define VGPU_NVIDIA_UVM_INIT	0x30000001
#define VGPU_NVIDIA_UVM_SHARED	0x2ULL

/* Key by which lists name an ioctl of the resource manager. */
#define VGPU_NVIDIA_RM_KEY(nr)	('F' << _IOC_TYPESHIFT | (nr))

/*
 * Compute the key by which lists name an ioctl. The driver takes any type and direction, except
 * in ioctls of unified memory. Their commands are bare numbers without a size. Two of them,
 * UVM_INITIALIZE (0x30000001) and UVM_DEINITIALIZE (0x30000002), only seem to have one.
 */
static inline u32 vgpu_nvidia_key(u32 cmd)
{
	if (!_IOC_SIZE(cmd) || (cmd & ~3) == 0x30000000)
		return cmd & (_IOC_TYPEMASK << _IOC_TYPESHIFT | _IOC_NRMASK << _IOC_NRSHIFT);
	return VGPU_NVIDIA_RM_KEY(_IOC_NR(cmd));
}

#endif /* VGPU_NVIDIA_RULES_H */
