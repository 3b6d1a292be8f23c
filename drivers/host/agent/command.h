/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls of agents.
 */
#ifndef _VGPU_HOST_COMMAND_H
#define _VGPU_HOST_COMMAND_H

#include <linux/fs.h>

#include "peer/agent.h"

/*
 * Return the agent of @file, or NULL until the file has become one, and when it is none any more.
 * The file keeps the agent's memory until it is released.
 */
static inline struct vgpu_agent *vgpu_agent_of(struct file *file)
{
	/* Pairs with agent_give_locked(). */
	struct vgpu_agent *agent = smp_load_acquire(&file->private_data);

	return agent && READ_ONCE(agent->rest.file) == file ? agent : NULL;
}

long vgpu_agent_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* _VGPU_HOST_COMMAND_H */
