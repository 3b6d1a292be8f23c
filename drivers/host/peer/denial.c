// SPDX-License-Identifier: GPL-2.0-only
/*
 * Denials: counts of the ioctls that a grant's lists, or rules for its driver, deny. The table has
 * a fixed size, so a guest that tries all numbers costs no memory.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "peer/denial.h"

void vgpu_denials_init(struct vgpu_denials *denials)
{
	spin_lock_init(&denials->lock);
}

/* Find the counts of an ioctl, or begin them. Return: the counts, or NULL: there is no room. */
static struct vgpu_host_denial *denial_find_locked(struct vgpu_denials *denials, u32 ioctl,
						   u32 what)
{
	struct vgpu_host_denial *denial;
	u32 i;

	lockdep_assert_held(&denials->lock);
	for (i = 0; i < denials->nr; i++) {
		denial = &denials->list[i];
		if (denial->ioctl == ioctl && denial->what == what)
			return denial;
	}
	if (denials->nr == VGPU_HOST_DENIALS_MAX)
		return NULL;
	denial = &denials->list[denials->nr++];
	denial->ioctl = ioctl;
	denial->what = what;
	return denial;
}

void vgpu_denial_count(struct vgpu_denials *denials, u32 ioctl, u32 what, bool audited)
{
	struct vgpu_host_denial *denial;

	spin_lock(&denials->lock);
	denial = denial_find_locked(denials, ioctl, what);
	if (denial && audited)
		denial->audited++;
	else if (denial)
		denial->denied++;
	else if (audited)
		denials->others_audited++;
	else
		denials->others_denied++;
	spin_unlock(&denials->lock);
}

int vgpu_denials_copy(struct vgpu_denials *denials, struct vgpu_host_denials *args)
{
	struct vgpu_host_denial *copy;
	int ret = 0;

	copy = kmalloc(sizeof(denials->list), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	spin_lock(&denials->lock);
	memcpy(copy, denials->list, denials->nr * sizeof(*copy));
	args->out_nr = denials->nr;
	args->out_others_denied = denials->others_denied;
	args->out_others_audited = denials->others_audited;
	spin_unlock(&denials->lock);
	if (copy_to_user(u64_to_user_ptr(args->denials), copy,
			 min(args->nr, args->out_nr) * sizeof(*copy)))
		ret = -EFAULT;
	kfree(copy);
	return ret;
}
