/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flush: bytes that programs wrote to cached pages go back to the host. Between
 * space.c, flush.c and mapping.c only; others call vgpu_space_flush().
 */
#ifndef VGPU_FLUSH_H
#define VGPU_FLUSH_H

struct vgpu_mapping;
struct vgpu_page;
struct vgpu_space;
struct vgpu_space_set;
struct work_struct;

/* Module init and exit; exit after the last host is freed. */
int vgpu_flush_global_init(void);
void vgpu_flush_global_exit(void);

/*
 * All dirty bytes, then the unmaps that wait for them. Process context, no
 * locks; waits killably. Return: 0, -EINTR (killed), -ENOMEM. Bytes that the
 * host refuses are lost, as its driver's SIGBUS would lose them.
 */
int vgpu_flush_all(struct vgpu_space_set *set);

/*
 * The same, by another thread, which goes on also when no shadow has taken any bytes in @wait
 * (jiffies), or not all are there after @most. Return: 0, or -ETIMEDOUT then.
 */
int vgpu_flush_soon(struct vgpu_space_set *set, unsigned long wait, unsigned long most);

/* Another's work item that waits for flushes. Return: as queue_work(). */
bool vgpu_flush_queue(struct work_struct *work);

/* The same from a work item, which holds a reference of the host meanwhile. */
void vgpu_flush_later(struct vgpu_space_set *set);
void vgpu_flush_work(struct work_struct *work);

/* set->expire, @delay (jiffies) from now unless it comes before. Takes host->lock. */
void vgpu_flush_expire(struct vgpu_space_set *set, unsigned long delay);

/*
 * Of a dirty page, under its space's lock: no page table has it any more; and it is clean.
 * Return: whose it was, a reference, to be put without the lock.
 */
void vgpu_flush_unmap(struct vgpu_space *space, const struct vgpu_page *page);
struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page);

/* The connection is lost: forget the dirty bytes of a dead space ... */
void vgpu_flush_discard(struct vgpu_space *space);
/* ... and all that is under way. */
void vgpu_flush_abort(struct vgpu_space_set *set);

#endif /* VGPU_FLUSH_H */
