/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings that may move: the host's list of them, and trees in each space by the pages that they
 * show. Mappings that share pages are in the same mode, or are moving. move_queue.c also queues the
 * work item that moves mappings in rounds (move.c), and has the waits for a round.
 */
#ifndef VGPU_MOVE_QUEUE_H
#define VGPU_MOVE_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "memory/move.h"

struct vgpu_host;
struct vgpu_mapping;
struct vgpu_space;

/**
 * struct vgpu_moves - moves of a host's mappings
 * @mappings: list of struct vgpu_mapping that may move (host->lock)
 * @todo: list of the mappings that @work has to look at (host->lock)
 * @asked: number of requests for rounds, by which a task finds that a round was asked for meanwhile
 *	(host->lock)
 * @work: work item that moves mappings
 * @wait: wait queue that is woken when a mapping has moved
 */
struct vgpu_moves {
	struct list_head mappings;
	struct list_head todo;
	u64 asked;
	struct delayed_work work;
	wait_queue_head_t wait;
};

/* Module init and exit; exit is called after the last host is freed. */
int vgpu_move_global_init(void);
void vgpu_move_global_exit(void);

/**
 * vgpu_move_queue - start a round of moves later
 * @host: the host; nothing is done once it is down
 * @delay: time in jiffies until the round; ignored if the worker is queued already, unless it is 0
 *
 * A round is needed, for example, when the window has room again for a mapping that had found none,
 * or when a lost window may be opened anew. The work item holds a reference of the host while it is
 * pending or runs. Takes host->lock only.
 */
void vgpu_move_queue(struct vgpu_host *host, unsigned long delay);
/* Do the same under host->lock. */
void vgpu_move_queue_locked(struct vgpu_host *host, unsigned long delay);

/* Return: number of times that a round of moves was asked for. */
u64 vgpu_move_asked(struct vgpu_host *host);

/* Ask for a round of moves at once, after a change of the window. Takes host->lock only. */
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

/**
 * vgpu_move_is_apart - check whether mappings that share pages are in different modes
 * @space: the space; the caller holds host->lock
 * @first: offset of the first page, in pages
 * @last: offset of the last page
 * @mode: mode that the mappings should have
 *
 * Takes a time that does not depend on the number of mappings.
 *
 * Return: true if a mapping that has pages from @first to @last is in another mode than @mode.
 */
bool vgpu_move_is_apart(struct vgpu_space *space, pgoff_t first, pgoff_t last,
			enum vgpu_mapping_mode mode);

/*
 * Add a new mapping that may move, and that no program can access yet. @asked: result of
 * vgpu_move_asked() from before the call that placed the mapping. The mapping begins in mode MOVING
 * if a mapping in another mode shows pages of it.
 */
void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked);

/*
 * Set the mode. The caller holds mapping->mode_lock for writing, and the function takes host->lock:
 * readers of the mode need only one of the two locks.
 */
void vgpu_move_set_mode(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode);

/* Note that the mapping has no span left, so it shares pages with no other mapping. */
void vgpu_move_alone(struct vgpu_mapping *mapping);

/* Remove a mapping that is about to be freed from all lists and trees. */
void vgpu_move_forget(struct vgpu_mapping *mapping);

#endif /* VGPU_MOVE_QUEUE_H */
