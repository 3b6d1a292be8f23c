/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes that an agent leaves for the next one.
 */
#ifndef _VGPU_HOST_NOTE_H
#define _VGPU_HOST_NOTE_H

#include <linux/fs.h>

#include <uapi/linux/vgpu_host.h>

struct vgpu_agent;
struct vgpu_cmd;

/* Set or remove a note. @own: operations of the agent's file, which no note may hold. */
int vgpu_note_set(struct vgpu_agent *agent, const struct vgpu_host_note *args,
		  const struct file_operations *own);
int vgpu_note_find(struct vgpu_agent *agent, struct vgpu_host_note_find *args,
		   struct vgpu_cmd *cmd);
/* Check whether there is a note of this name. */
bool vgpu_note_has(struct vgpu_agent *agent, u32 peer, u64 key);
void vgpu_note_drop_all(struct vgpu_agent *agent);

#endif /* _VGPU_HOST_NOTE_H */
