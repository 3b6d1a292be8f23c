/* SPDX-License-Identifier: MIT */
/*
 * What a program without a libc needs: locks, time, memory.
 */
#ifndef ESHADOW_LIB_H
#define ESHADOW_LIB_H

#include "shadow/sys.h"
#include "wire.h"

#define NSEC_PER_MS	1000000ULL
#define NSEC_PER_US	1000ULL

/**
 * struct lock - who holds it may sleep, but not for a peer
 * @word: 0: free; 1: held; 2: held, and somebody waits
 */
struct lock {
	int word;
};

void lock_take(struct lock *lock);
void lock_drop(struct lock *lock);

/* Sleeps while *@word is @value, up to @ms (negative: for ever), or for no reason. */
void word_wait(u32 *word, u32 value, long ms);
void word_wake(u32 *word);

u64 now_ns(void);
/* Return: the time-stamp counter, and in @clock now_ns() at that moment. */
u64 tsc_with_clock(u64 *clock);

/*
 * The order of what changes the address space. Held over nothing that waits for a peer, but for
 * a driver's mmap.
 */
extern struct lock map_lock;

/* A page-aligned piece of the reserved range, zeroed, out of drivers' reach; NULL: none. */
void *memory_get(u64 len);
/* The same with a protection key (keys.h). */
void *memory_get_key(u64 len, int key);
void memory_put(void *memory, u64 len);

static inline void count(__u64 *counter, u64 nr)
{
	__atomic_add_fetch(counter, nr, __ATOMIC_RELAXED);
}

#endif /* ESHADOW_LIB_H */
