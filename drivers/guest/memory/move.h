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

/* Module init and exit; exit is called after the last host is freed. */
int vgpu_move_global_init(void);
void vgpu_move_global_exit(void);

/* Return: number of times that a round of moves was asked for. */
u64 vgpu_move_asked(struct vgpu_host *host);
/*
 * Add a new mapping that may move, and that no program can access yet. @asked: result of
 * vgpu_move_asked() from before the call that placed the mapping. The mapping begins in mode MOVING
 * if a mapping in another mode shows pages of it.
 */
void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked);
/* Set the mode. The caller holds host->lock. */
void vgpu_move_set_mode_locked(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode);
/* Note that no program shows any part of the mapping any more: it shares pages with none. */
void vgpu_move_alone(struct vgpu_mapping *mapping);
/* Take a mapping that is freed off all lists and trees. */
void vgpu_move_forget(struct vgpu_mapping *mapping);

/* Ask for a round of moves, after a change of the window. Takes host->lock only. */
void vgpu_move_later(struct vgpu_host *host);
/*
 * Start a round, as there is room in the window again for a mapping that had found none, or a lost
 * window may be opened anew. Takes host->lock only.
 */
void vgpu_move_room(struct vgpu_host *host);
void vgpu_move_work(struct work_struct *work);
/* Cancel the pending round and wake the waiters, as the connection is lost. */
void vgpu_move_abort(struct vgpu_host *host);

/**
 * vgpu_move_now - have a mapping moved out of the window soon, and wait
 * @mapping: the mapping
 * @moves: value of @mapping->moves when the need for the move was seen
 * @deadline: deadline of the fault (deadline.h); 0: none, as the faulting thread holds no locks
 *
 * Context: a fault, without locks; waits killably.
 * Return: 0: the fault is to be retried; -EINTR, -ETIMEDOUT, or the error of the move.
 */
int vgpu_move_now(struct vgpu_mapping *mapping, u64 moves, unsigned long deadline);

/*
 * Wait until the mapping is not in mode MOVING. Context: as vgpu_move_now(). Return: 0, -EINTR,
 * -ETIMEDOUT, -ENODEV (the connection is lost).
 */
int vgpu_move_wait(struct vgpu_mapping *mapping, unsigned long deadline);

#endif /* VGPU_MOVE_H */
