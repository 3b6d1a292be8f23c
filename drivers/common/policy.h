/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest may do with an export, and how much of everything it may have: the rules
 * that whoever makes its calls goes by.
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
 * struct vgpu_policy - what the openers of an export may do
 * @kind: VGPU_EXPORT_*
 * @master: they may become DRM master
 * @read_only: they may not open it for writing
 * @deny: @ioctls are those that they may not make, else those that they may
 * @nr_ioctls: entries of @ioctls; 0: they may make all
 * @ioctls: vgpu_ioctl_key() of commands, rising
 */
struct vgpu_policy {
	u32 kind;
	bool master;
	bool read_only;
	bool deny;
	u32 nr_ioctls;
	const u32 *ioctls;
};

/* Most ioctls of a list. */
#define VGPU_POLICY_IOCTLS_MAX	1024

/*
 * What an ioctl is judged by: type and number. Drivers that dispatch by those,
 * as DRM does (drm_ioctl()), take any size and direction.
 */
static inline u32 vgpu_ioctl_key(u32 cmd)
{
	return cmd & (_IOC_TYPEMASK << _IOC_TYPESHIFT | _IOC_NRMASK << _IOC_NRSHIFT);
}

/**
 * vgpu_policy_open - may the export be opened so?
 * @policy: the policy
 * @flags: of open()
 *
 * Return: 0 or -EACCES.
 */
int vgpu_policy_open(const struct vgpu_policy *policy, u32 flags);

/**
 * vgpu_policy_ioctl - may an opener issue a command?
 * @policy: of the export that was opened
 * @cmd: the command
 */
bool vgpu_policy_ioctl(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_derived - may a command be issued on what came from an export?
 * @policy: of the export
 * @cmd: the command
 *
 * A dma-buf, sync_file or eventfd is no device of the export's driver, whose numbers mean
 * something else there; but what is on the list is listed for it as well.
 */
bool vgpu_policy_derived(const struct vgpu_policy *policy, u32 cmd);

/**
 * vgpu_policy_nvidia - may an opener have NVIDIA's driver carry out what it asks for?
 * @policy: of the export that was opened
 * @cmd: the ioctl's command, which vgpu_policy_ioctl() lets through
 * @nr: number of the ioctl that the driver carries out: that of @cmd, or of the one that it
 *	wraps (struct vgpu_nvidia_look)
 */
bool vgpu_policy_nvidia(const struct vgpu_policy *policy, u32 cmd, u32 nr);

/**
 * vgpu_limits_fill - the limits that hold for a guest
 * @limits: out
 * @args: those that are set; 0: the default one
 * @wire: out: the ones of these that messages are checked by
 */
void vgpu_limits_fill(struct vgpu_host_limits *limits, const struct vgpu_host_limits *args,
		      struct vgpu_wire_limits *wire);

/*
 * Whether the driver of an export of this kind finds things again by the number that a process has
 * for a file, in later calls: OS events of NVIDIA's are found so.
 */
static inline bool vgpu_export_knows_fds(u32 kind)
{
	return kind == VGPU_EXPORT_NVIDIA;
}

/* Whether an export of this kind (VGPU_EXPORT_*) is a node of V4L2: no media controller is. */
static inline bool vgpu_export_is_video(u32 kind)
{
	return kind >= VGPU_EXPORT_VIDEO && kind <= VGPU_EXPORT_TOUCH;
}

/* May @len bytes be mapped beside @mapped? */
static inline bool vgpu_limits_map_ok(const struct vgpu_host_limits *limits, u64 mapped, u64 len)
{
	return len <= limits->mapped_bytes && mapped <= limits->mapped_bytes - len;
}

#endif /* VGPU_POLICY_H */
