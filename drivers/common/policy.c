// SPDX-License-Identifier: GPL-2.0-only
/* Policy: the rules of what a guest may do, and its limits; see policy.h. */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/ioctl.h>

#include "nvidia_rules.h"
#include "policy.h"

/* Default limits of a guest. */
#define LIMIT_SESSIONS		256
#define LIMIT_LANES		64
#define LIMIT_OBJECTS		4096
#define LIMIT_FDS_PER_CALL	16
#define LIMIT_CALL_BYTES	(16U << 20)
#define LIMIT_PAGES		4096
#define LIMIT_MAPPINGS		1024
#define LIMIT_MAPPED_BYTES	(16ULL << 30)
#define LIMIT_KEPT_BYTES	(16ULL << 30)

int vgpu_policy_open(const struct vgpu_policy *policy, u32 flags)
{
	return policy->read_only && (flags & O_ACCMODE) != O_RDONLY ? -EACCES : 0;
}

/* Check whether @key is in @keys, an array in ascending order with @nr entries. */
static bool policy_lists(const u32 *keys, u32 nr, u32 key)
{
	u32 low = 0, high = nr;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (keys[middle] == key)
			return true;
		if (keys[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static bool policy_passes(const struct vgpu_policy *policy, u32 key)
{
	return !policy->nr_ioctls ||
	       policy_lists(policy->ioctls, policy->nr_ioctls, key) != policy->deny;
}

static bool policy_is_drm(const struct vgpu_policy *policy)
{
	return policy->kind == VGPU_EXPORT_DRM_PRIMARY || policy->kind == VGPU_EXPORT_DRM_RENDER;
}

u32 vgpu_policy_ioctl_key(const struct vgpu_policy *policy, u32 cmd)
{
	return policy->kind == VGPU_EXPORT_NVIDIA ? vgpu_nvidia_key(cmd) : vgpu_ioctl_key(cmd);
}

/* Return the verdict on an ioctl that passes the policy's list, or does not. */
static enum vgpu_policy_verdict policy_verdict(const struct vgpu_policy *policy, bool passes)
{
	if (passes)
		return VGPU_POLICY_PASS;
	return policy->audit ? VGPU_POLICY_AUDIT : VGPU_POLICY_DENY;
}

enum vgpu_policy_verdict vgpu_policy_ioctl(const struct vgpu_policy *policy, u32 cmd)
{
	u32 key = vgpu_policy_ioctl_key(policy, cmd);
	bool passes = policy_passes(policy, key);

	if (key == VGPU_DRM_SET_MASTER && policy->kind == VGPU_EXPORT_DRM_PRIMARY &&
	    !policy->master)
		return VGPU_POLICY_DENY;
	/*
	 * Some functions of DRM choose an ioctl by its number alone (drm_compat_ioctl(),
	 * nouveau_drm_ioctl()), so a command of another type must not pass for it.
	 */
	if (policy_is_drm(policy))
		passes = passes && policy_passes(policy, _IO('d', _IOC_NR(cmd)));
	return policy_verdict(policy, passes);
}

bool vgpu_policy_submits(const struct vgpu_policy *policy, u32 cmd)
{
	if (!policy->nr_submits)
		return false;
	/* As in vgpu_policy_ioctl(), a command of another type may choose the same ioctl. */
	return policy_lists(policy->submits, policy->nr_submits,
			    policy_is_drm(policy) ? _IO('d', _IOC_NR(cmd)) :
			    vgpu_policy_ioctl_key(policy, cmd));
}

enum vgpu_policy_verdict vgpu_policy_derived(const struct vgpu_policy *policy, u32 cmd)
{
	return policy_verdict(policy, policy_passes(policy, vgpu_ioctl_key(cmd)));
}

enum vgpu_policy_verdict vgpu_policy_nvidia(const struct vgpu_policy *policy, u32 cmd, u32 nr)
{
	/* The driver knows no number above _IOC_NRMASK and rejects it. */
	if (nr == _IOC_NR(cmd) || nr > _IOC_NRMASK)
		return VGPU_POLICY_PASS;
	return vgpu_policy_ioctl(policy, _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, 1));
}

void vgpu_limits_fill(struct vgpu_host_limits *limits, const struct vgpu_host_limits *args,
		      struct vgpu_wire_limits *wire)
{
	limits->sessions = args->sessions ?: LIMIT_SESSIONS;
	limits->lanes = args->lanes ?: LIMIT_LANES;
	limits->objects = args->objects ?: LIMIT_OBJECTS;
	limits->fds_per_call = min_t(u32, args->fds_per_call ?: LIMIT_FDS_PER_CALL, VGPU_FDS_MAX);
	limits->call_bytes = min_t(u32, args->call_bytes ?: LIMIT_CALL_BYTES,
				   VGPU_CALL_BYTES_MAX);
	limits->pages = args->pages ?: LIMIT_PAGES;
	limits->mappings = args->mappings ?: LIMIT_MAPPINGS;
	limits->mapped_bytes = args->mapped_bytes ?: LIMIT_MAPPED_BYTES;
	limits->kept_bytes = args->kept_bytes ?: LIMIT_KEPT_BYTES;
	limits->reserved = 0;

	wire->call_bytes = limits->call_bytes;
	wire->segs = VGPU_SEGS_MAX;
	wire->fixups = VGPU_FIXUPS_MAX;
}
