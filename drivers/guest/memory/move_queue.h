/* SPDX-License-Identifier: GPL-2.0-only */
/* Start of the worker that moves mappings, and waits for its rounds. */
#ifndef VGPU_MOVE_QUEUE_H
#define VGPU_MOVE_QUEUE_H

#include <linux/types.h>

struct vgpu_host;
struct vgpu_mapping;

/* Module init and exit; exit is called after the last host is freed. */
int vgpu_move_global_init(void);
void vgpu_move_global_exit(void);

/**
 * vgpu_move_queue - start a round of moves later
 * @host: the host; nothing is done once it is down
 * @delay: time in jiffies until the round; ignored if the worker is queued already, unless it is 0
 *
 * For example as there is room in the window again for a mapping that had found none, or a lost
 * window may be opened anew. The work item holds a reference of the host while it is pending or
 * runs. Takes host->lock only.
 */
void vgpu_move_queue(struct vgpu_host *host, unsigned long delay);
/* Do the same under host->lock. */
void vgpu_move_queue_locked(struct vgpu_host *host, unsigned long delay);

/* Return: number of times that a round of moves was asked for. */
u64 vgpu_move_asked(struct vgpu_host *host);

/* Ask for a round of moves, after a change of the window. Takes host->lock only. */
void vgpu_move_later(struct vgpu_host *host);

/* Cancel the pending round and wake the waiters, as the connection is lost. */
void vgpu_move_abort(struct vgpu_host *host);

/**
 * vgpu_move_now - have a mapping moved out of the window soon, and wait
 * @mapping: the mapping
 * @moves: value of @mapping->move.moves when the need for the move was seen
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

#endif /* VGPU_MOVE_QUEUE_H */
