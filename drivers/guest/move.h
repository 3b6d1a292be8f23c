/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves: mappings go from copy mode into the host's window and back while programs
 * use them: when a window comes or goes, or is to be drained or filled, or cannot show
 * what is in it. One worker of each host does that, so that no fault waits for a peer
 * on behalf of another, and no two move one mapping.
 */
#ifndef VGPU_MOVE_H
#define VGPU_MOVE_H

#include <linux/types.h>

struct vgpu_host;
struct vgpu_mapping;
struct work_struct;

enum vgpu_mapping_mode {
	VGPU_MAPPING_COPY,	/* pages are fetched, and bytes sent */
	VGPU_MAPPING_WINDOW,	/* seen in the host's window */
	VGPU_MAPPING_MOVING,	/* from the one to the other: faults wait */
	VGPU_MAPPING_MODES
};

/**
 * struct vgpu_move_pause - what could not be moved is left alone for a while
 * @until: so long; only the worker's, like @delay
 * @delay: since when, which is doubled the next time; 0: it could
 */
struct vgpu_move_pause {
	unsigned long until;
	unsigned long delay;
};

/* Module init and exit; exit after the last host is freed. */
int vgpu_move_global_init(void);
void vgpu_move_global_exit(void);

/* How often vgpu_move_later() was called. */
u64 vgpu_move_asked(struct vgpu_host *host);
/*
 * A new mapping that may move, which nobody can touch yet; @asked: vgpu_move_asked() from before it
 * was said where it is. It begins as one that moves if others show pages of it elsewhere.
 */
void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked);
/* It is seen in another way from now on. host->lock is held. */
void vgpu_move_set_mode_locked(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode);
/* No program shows any of it any more: it shares pages with none. */
void vgpu_move_alone(struct vgpu_mapping *mapping);
/* It is freed. */
void vgpu_move_forget(struct vgpu_mapping *mapping);

/* The window is not what it was: bring each mapping where it is to be. No lock but spinlocks. */
void vgpu_move_later(struct vgpu_host *host);
/* The window has room again that somebody wanted. Likewise. */
void vgpu_move_room(struct vgpu_host *host);
void vgpu_move_work(struct work_struct *work);
/* The connection is lost: nothing moves any more. */
void vgpu_move_abort(struct vgpu_host *host);

/**
 * vgpu_move_now - have a mapping brought where it is to be, before others
 * @mapping: a mapping
 * @moves: its number of moves when it was seen that it has to
 * @deadline: the fault's (deadline.h); 0: nobody waits for what the program holds
 *
 * Context: a fault, without locks; waits killably.
 * Return: 0: look again; -EINTR, -ETIMEDOUT, or why it stays where it is.
 */
int vgpu_move_now(struct vgpu_mapping *mapping, u64 moves, unsigned long deadline);

/* Until it does not move. Context and result like that. */
int vgpu_move_wait(struct vgpu_mapping *mapping, unsigned long deadline);

#endif /* VGPU_MOVE_H */
