/* SPDX-License-Identifier: MIT */
/*
 * Locks, time, memory and counters for a program without a libc: see lib.c.
 *
 * Locks, outermost first: map_lock, demand.lock, files_lock, lane->lock. No lock is held while
 * waiting for the guest or the engine. map_lock is held over a driver's mmap, over a driver's
 * operation for debuggers (vm_ops->access), and over moves of memory (mremap). The moves wait for
 * the pager, which therefore never takes map_lock.
 */
#ifndef ESHADOW_LIB_H
#define ESHADOW_LIB_H

#include <linux/errno.h>

#include "shadow/keys.h"
#include "shadow/message.h"
#include "shared/proto.h"
#include "wire.h"

#define PAGE_SIZE	4096UL
#define PAGE_MASK	(~(PAGE_SIZE - 1))

#define NSEC_PER_MS	1000000ULL
#define NSEC_PER_US	1000ULL

/**
 * struct lock - a lock whose holder may sleep, but not wait for a peer
 * @word: 0: free; 1: held; 2: held, and another thread may wait
 */
struct lock {
	int word;
};

void lock_take(struct lock *lock);
void lock_drop(struct lock *lock);

/* Sleeps while *@word is @value, at most @ms milliseconds (negative: no limit). May wake early. */
void word_wait(u32 *word, u32 value, long ms);
void word_wake(u32 *word);

u64 now_ns(void);
/* Return: the time-stamp counter. @clock: set to now_ns() at that moment. */
u64 tsc_with_clock(u64 *clock);

/*
 * Lock for changes of the address space. It is not held while waiting for a peer, but it is held
 * over a driver's mmap.
 */
extern struct lock map_lock;

/*
 * Allocates zeroed pages in the reserved range that drivers cannot reach. The kernel rounds @len up
 * to whole pages. Return: the pages, or NULL.
 */
void *memory_get(u64 len);
/* Does the same with another protection key (keys.h). */
void *memory_get_key(u64 len, int key);
void memory_put(void *memory, u64 len);

/* Memory that vgpud and the engine write, and all shadows of the guest read. */
extern const struct engine_shared *shared;
/* Counters of this shadow, which vgpud reads; the next two are parts of them. */
extern struct engine_counts *counts;
extern struct engine_counters *counters;
extern struct eshadow_use *use;
/*
 * Time that drivers may wait for the guest, and its rates. All shadows of the guest share them, and
 * write to them under their lock.
 */
extern struct engine_patience *patience;
/* Take and drop the lock of @patience, which all shadows of the guest share. */
void guest_lock_take(void);
void guest_lock_drop(void);
/* Read a limit of the guest (u32), which vgpud may change at any time. */
#define limit_now(name)	__atomic_load_n(&shared->limits.name, __ATOMIC_RELAXED)
extern struct vgpu_wire_limits wire_limits;

/* Maps the shared memory. If that fails, exits with a status that says so. */
void shared_init(void);

static inline void count(__u64 *counter, u64 nr)
{
	__atomic_add_fetch(counter, nr, __ATOMIC_RELAXED);
}

#endif /* ESHADOW_LIB_H */
