/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves: bring mappings from copy mode into the host's window and back while programs use them.
 * That happens when a window comes or goes, is to be drained or filled, or cannot show what a
 * mapping has. One worker of each host does it, so that no fault waits for the host on behalf of
 * another fault, and no mapping is moved by two threads.
 */
#ifndef VGPU_MOVE_H
#define VGPU_MOVE_H

#include <linux/interval_tree.h>
#include <linux/list.h>

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

/**
 * struct vgpu_move_state - state of a mapping's moves, as a member of struct vgpu_mapping
 * @entry: list entry in @mappings or @todo of struct vgpu_moves, if the mapping may move;
 *	protected by host->lock
 * @node: interval tree node in space->mappings; protected by host->lock
 * @mode_node: interval tree node in the tree of space->by_mode for the mapping's mode; protected
 *	by host->lock
 * @shares: true while @node and @mode_node are in their trees: the mapping may move, and has spans
 *	(mapping_span.h); protected by host->lock
 * @crowded: true once the unit has found no room in the window; protected by host->lock
 * @moves: number of moves that have ended, with success or not; written under mapping->mode_lock
 * @error: error with which the last move failed; 0: none; written under mapping->mode_lock
 * @unit: list entry in the struct vgpu_move_unit with which it moves; used only by the worker of
 *	move.c, like all that follow
 * @before: mode when the unit was collected; MOVING: no program sees the mapping yet, or any more
 * @out_pause: back-off after a failed move out of the window
 * @in_pause: back-off after a failed move into the window
 * @claim: range of the window to which the mapping is moving, or NULL
 * @refused: true if the last move failed with -EINVAL: the host has no such mapping, or
 *	parts of the mapping have different cache attributes
 */
struct vgpu_move_state {
	struct list_head entry;
	struct interval_tree_node node;
	struct interval_tree_node mode_node;
	bool shares;
	bool crowded;
	u64 moves;
	int error;
	struct list_head unit;
	enum vgpu_mapping_mode before;
	struct vgpu_move_pause out_pause;
	struct vgpu_move_pause in_pause;
	struct vgpu_window_range *claim;
	bool refused;
};

void vgpu_move_work(struct work_struct *work);

#endif /* VGPU_MOVE_H */
