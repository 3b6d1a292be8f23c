/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy: the rules of what a guest may do with an export, and the limits of its resources. The
 * engine that runs the guest's calls (module or user space) applies them.
 */
#ifndef VGPU_POLICY_H
#define VGPU_POLICY_H

#include "wire.h"

#ifdef __KERNEL__
#include "uapi/linux/vgpu_host.h"
#else
#include <linux/vgpu_host.h>
#endif

/**
 * struct vgpu_policy - rules for the openers of an export
 * @kind: VGPU_EXPORT_*
 * @master: true if openers may become DRM master
 * @read_only: true if openers may not open the export for writing
 * @audit: true if openers may make ioctls that @ioctls denies, which are counted
 * @deny: true if @ioctls lists the denied commands, false if it lists the allowed ones
 * @nr_ioctls: number of entries of @ioctls; 0: all commands are allowed
 * @ioctls: array of vgpu_ioctl_key() of commands, in ascending order
 * @nr_submits: number of entries of @submits
 * @submits: array of vgpu_ioctl_key() of the commands that give the device work, in ascending
 *	order
 */
struct vgpu_policy {
	u32 kind;
	bool master;
	bool read_only;
	bool audit;
	bool deny;
	u32 nr_ioctls;
	const u32 *ioctls;
	u32 nr_submits;
	const u32 *submits;
};

/* Ioctls of drm.h. Their numbers never change, so this file does not include drm.h. */
#define VGPU_DRM_SET_MASTER	_IO('d', 0x1e)
#define VGPU_DRM_DROP_MASTER	_IO('d', 0x1f)

/* Maximum number of ioctls of a list. */
#define VGPU_POLICY_IOCTLS_MAX	1024

/*
 * Compute the key by which lists name an ioctl: type and number. Drivers that dispatch by
 * these, as DRM does (drm_ioctl()), take any size and direction.
 */
static inline u32 vgpu_ioctl_key(u32 cmd)
{
	return cmd & (_IOC_TYPEMASK << _IOC_TYPESHIFT | _IOC_NRMASK << _IOC_NRSHIFT);
}

/* Compute the key of an entry of a list, which may be VGPU_HOST_IOCTL_NONE. */
static inline u32 vgpu_policy_key(u32 cmd)
{
	return cmd == VGPU_HOST_IOCTL_NONE ? cmd : vgpu_ioctl_key(cmd);
}

/**
 * enum vgpu_policy_verdict - whether a policy lets an ioctl through
 * @VGPU_POLICY_DENY: it does not
 * @VGPU_POLICY_PASS: it does
 * @VGPU_POLICY_AUDIT: it does, although the list denies the ioctl, and the ioctl is counted
 */
enum vgpu_policy_verdict {
	VGPU_POLICY_DENY,
	VGPU_POLICY_PASS,
	VGPU_POLICY_AUDIT,
};

/**
 * vgpu_policy_open - check an open of the export
 * @policy: policy of the export
 * @flags: flags of open()
 *
 * Return: 0 or -EACCES.
 */
int vgpu_policy_open(const struct vgpu_policy *policy, u32 flags);

/* Compute the key by which the policy's list names an ioctl of the export's device. */
u32 vgpu_policy_ioctl_key(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_ioctl - check an ioctl on an opened export
 * @policy: policy of the export
 * @cmd: command of the ioctl
 *
 * Return: the verdict.
 */
enum vgpu_policy_verdict vgpu_policy_ioctl(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_submits - check whether an ioctl on an opened export gives the device work
 * @policy: policy of the export
 * @cmd: command of the ioctl
 *
 * Return: true if the policy lists the ioctl as one that does.
 */
bool vgpu_policy_submits(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_derived - check an ioctl on a file that comes from an export
 * @policy: policy of the export
 * @cmd: command of the ioctl
 *
 * A dma-buf, sync_file or eventfd is no device of the export's driver, so the driver's command
 * numbers mean something else there. The list of the export applies to such a file all the
 * same.
 *
 * Return: the verdict.
 */
enum vgpu_policy_verdict vgpu_policy_derived(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_nvidia - check the ioctl that NVIDIA's driver will carry out
 * @policy: policy of the export
 * @cmd: command of the ioctl, which vgpu_policy_ioctl() allows
 * @nr: number of the ioctl that the driver carries out: that of @cmd, or of the ioctl that @cmd
 *	wraps (struct vgpu_nvidia_look)
 *
 * Return: the verdict.
 */
enum vgpu_policy_verdict vgpu_policy_nvidia(const struct vgpu_policy *policy, u32 cmd, u32 nr);

/**
 * vgpu_limits_fill - compute the limits of a guest
 * @limits: out: limits of the guest
 * @args: configured limits; 0: the default
 * @wire: out: limits for the checks of messages
 */
void vgpu_limits_fill(struct vgpu_host_limits *limits, const struct vgpu_host_limits *args,
		      struct vgpu_wire_limits *wire);

/*
 * Return: true if the driver of such an export looks files up by the caller's fd number in
 * later calls, as NVIDIA's driver does for OS events.
 */
static inline bool vgpu_export_knows_fds(u32 kind)
{
	return kind == VGPU_EXPORT_NVIDIA;
}

/* Return: true if @kind (VGPU_EXPORT_*) is a V4L2 node; media controllers are not. */
static inline bool vgpu_export_is_video(u32 kind)
{
	return kind >= VGPU_EXPORT_VIDEO && kind <= VGPU_EXPORT_TOUCH;
}

/* Return: true if @len more bytes may be mapped when @mapped of at most @most bytes are. */
static inline bool vgpu_limits_map_ok(u64 most, u64 mapped, u64 len)
{
	return len <= most && mapped <= most - len;
}

#endif /* VGPU_POLICY_H */
