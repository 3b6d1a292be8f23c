// SPDX-License-Identifier: GPL-2.0-only
/*
 * File operations try to read one address of the program, as a driver does that uses a pointer of
 * an earlier call. Masks of VGPU_MOCK_REACH_* say which operations tried, and which could read it.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "mock.h"

static DEFINE_SPINLOCK(reach_lock);	/* guards reach and reach_mm */
static struct vgpu_mock_reach reach;
/* Address space of the address; only compared, never dereferenced. */
static const struct mm_struct *reach_mm;

/**
 * vgpu_mock_reach() - run VGPU_MOCK_IOC_REACH
 * @call: the call
 *
 * Return: 0.
 */
long vgpu_mock_reach(struct vgpu_mock_call *call)
{
	struct vgpu_mock_reach *args = call->data;

	spin_lock(&reach_lock);
	args->out_tried = reach.out_tried;
	args->out_reached = reach.out_reached;
	reach = (struct vgpu_mock_reach) { .address = args->address };
	reach_mm = current->mm;
	spin_unlock(&reach_lock);
	return 0;
}

/**
 * vgpu_mock_reach_try() - try to read the address
 * @op: one of VGPU_MOCK_REACH_*: the operation that calls this function
 *
 * Context: any lock may be held, as page faults are disabled.
 */
void vgpu_mock_reach_try(u32 op)
{
	u64 address;
	bool reached;
	u8 byte;

	spin_lock(&reach_lock);
	address = reach_mm == current->mm ? reach.address : 0;
	spin_unlock(&reach_lock);
	if (!address)
		return;
	pagefault_disable();
	reached = !__copy_from_user_inatomic(&byte, (u8 __user *)address, sizeof(byte));
	pagefault_enable();
	spin_lock(&reach_lock);
	reach.out_tried |= op;
	if (reached)
		reach.out_reached |= op;
	spin_unlock(&reach_lock);
}
