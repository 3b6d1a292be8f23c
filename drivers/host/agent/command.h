/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls of agents.
 */
#ifndef _VGPU_HOST_COMMAND_H
#define _VGPU_HOST_COMMAND_H

#include <linux/fs.h>

struct vgpu_agent;

/* Return the agent of @file, or NULL until the file has become one. */
static inline struct vgpu_agent *vgpu_agent_of(struct file *file)
{
	/* Pairs with vgpu_agent_publish(). */
	return smp_load_acquire(&file->private_data);
}

long vgpu_agent_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* _VGPU_HOST_COMMAND_H */
