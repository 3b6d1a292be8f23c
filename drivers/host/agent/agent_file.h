/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device file of agents.
 */
#ifndef _VGPU_HOST_AGENT_FILE_H
#define _VGPU_HOST_AGENT_FILE_H

int vgpu_agent_init(void);
void vgpu_agent_exit(void);

#endif /* _VGPU_HOST_AGENT_FILE_H */
