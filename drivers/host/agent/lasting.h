/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agents that outlive their files.
 */
#ifndef _VGPU_HOST_LASTING_H
#define _VGPU_HOST_LASTING_H

#include <linux/fs.h>

struct vgpu_agent;

/* Initialize the state of lasting.c in a new agent. */
void vgpu_lasting_init(struct vgpu_agent *agent);
/* End all exports and peers of an agent that is found no more, and put the caller's reference. */
void vgpu_lasting_end(struct vgpu_agent *agent);
/*
 * Handle a close of the agent's file; see vgpu_agent_leave(). The agent ends, or waits for another
 * file.
 */
void vgpu_lasting_leave(struct vgpu_agent *agent, const struct file *file, fl_owner_t owner);
/* Handle the release of a file that was the agent's: leave, and put the reference of the file. */
void vgpu_lasting_release(struct vgpu_agent *agent, const struct file *file);
/* Have @file take over the agent without a file; see vgpu_agent_adopt(). */
int vgpu_lasting_adopt(struct file *file, const struct vgpu_agent *wanted);
/* End all exports and grants that were not adopted. */
void vgpu_lasting_settle(struct vgpu_agent *agent);
/* End the agent without a file, before the module is unloaded. */
void vgpu_lasting_exit(void);

#endif /* _VGPU_HOST_LASTING_H */
