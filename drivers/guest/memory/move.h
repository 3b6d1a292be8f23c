/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves: bring mappings from copy mode into the host's window and back while programs use them.
 * That happens when a window comes or goes, is to be drained or filled, or cannot show what a
 * mapping has. One worker of each host does it, so that no fault waits for the host on behalf of
 * another fault, and no mapping is moved by two threads.
 */
#ifndef VGPU_MOVE_H
#define VGPU_MOVE_H

#include <linux/types.h>

struct vgpu_host;
struct vgpu_mapping;
struct work_struct;

enum vgpu_mapping_mode {
	VGPU_MAPPING_COPY,	/* pages are fetched, and written bytes are sent */
	VGPU_MAPPING_WINDOW,	/* pages are seen in the host's window */
	VGPU_MAPPING_MOVING,	/* the mode is changing: faults wait */
	VGPU_MAPPING_MODES
};

/**
 * struct vgpu_move_pause - back-off of moves that have failed; used only by the worker
 * @until: time in jiffies until which no attempt is made
 * @delay: back-off in jiffies, doubled after each failed attempt; 0: the last attempt succeeded
 */
struct vgpu_move_pause {
	unsigned long until;
	unsigned long delay;
};

void vgpu_move_work(struct work_struct *work);

#endif /* VGPU_MOVE_H */
