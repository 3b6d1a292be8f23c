// SPDX-License-Identifier: MIT
/*
 * Functions that a libc would have, locks and memory, for a program without a libc. Also the memory
 * that this shadow shares with vgpud and the engine.
 */
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time.h>

#include "engine/shadow/base/lib.h"

/* Values of VGPU_TSC_CLOSE and VGPU_TSC_TRIES, which drivers/common/tsc.h explains. */
#define TSC_CLOSE	100000
#define TSC_TRIES	4

unsigned int __popcountdi2(u64 value);

/* Functions that the compiler calls by itself. */
void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
	return start;
}

void *memset(void *to, int byte, size_t len)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(byte) : "memory");
	return start;
}

int memcmp(const void *a, const void *b, size_t len)
{
	const u8 *x = a, *y = b;

	for (; len >= sizeof(u64); len -= sizeof(u64), x += sizeof(u64), y += sizeof(u64)) {
		u64 left, right;

		__builtin_memcpy(&left, x, sizeof(left));
		__builtin_memcpy(&right, y, sizeof(right));
		if (left != right)
			break;
	}
	for (; len; len--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

void *memmove(void *to, const void *from, size_t len)
{
	u8 *x = to;
	const u8 *y = from;

	if (x <= y || x >= y + len)
		return memcpy(to, from, len);
	while (len--)
		x[len] = y[len];
	return to;
}

unsigned int __popcountdi2(u64 value)
{
	unsigned int nr;

	for (nr = 0; value; nr++)
		value &= value - 1;
	return nr;
}

/* --- locks ---------------------------------------------------------------- */

static long futex(void *word, int op, u32 value, const void *timeout)
{
	return sys6(__NR_futex, (long)word, op | FUTEX_PRIVATE_FLAG, value, (long)timeout, 0, 0);
}

void lock_take(struct lock *lock)
{
	int seen = 0;

	if (__atomic_compare_exchange_n(&lock->word, &seen, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE))
		futex(&lock->word, FUTEX_WAIT, 2, NULL);
}

void lock_drop(struct lock *lock)
{
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		futex(&lock->word, FUTEX_WAKE, 1, NULL);
}

void word_wait(u32 *word, u32 value, long ms)
{
	struct __kernel_timespec timeout = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * NSEC_PER_MS,
	};

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		futex(word, FUTEX_WAIT, value, ms < 0 ? NULL : &timeout);
}

void word_wake(u32 *word)
{
	futex(word, FUTEX_WAKE, S32_MAX, NULL);
}

u64 now_ns(void)
{
	struct __kernel_timespec now;

	sys2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now);
	return now.tv_sec * (u64)NSEC_PER_SEC + now.tv_nsec;
}

/* drivers/common/tsc.h has the same function for the modules, vgpu_tsc_with_clock(). */
u64 tsc_with_clock(u64 *clock)
{
	unsigned int tries = 0;
	u64 before, after;

	do {
		before = __builtin_ia32_rdtsc();
		*clock = now_ns();
		after = __builtin_ia32_rdtsc();
	} while (after - before > TSC_CLOSE && ++tries < TSC_TRIES);
	return before + (after - before) / 2;
}

/* --- memory --------------------------------------------------------------- */

struct lock map_lock;

/*
 * All other address space is mapped, so the kernel chooses an address in the reserved range.
 * map_lock is needed, as a failed mmap() of a driver's file leaves a hole elsewhere for a moment.
 */
void *memory_get_key(u64 len, int key)
{
	long ret;

	/* No access before the memory has its key, so that no driver leaves anything there. */
	lock_take(&map_lock);
	ret = sys_mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lock_drop(&map_lock);
	if (sys_is_error(ret))
		return NULL;
	if (keys_give(ret, len, key)) {
		sys2(__NR_munmap, ret, len);
		return NULL;
	}
	return (void *)ret;
}

void *memory_get(u64 len)
{
	return memory_get_key(len, KEY_OWN);
}

void memory_put(void *memory, u64 len)
{
	sys2(__NR_munmap, (long)memory, len);
}

/* --- memory that vgpud and the engine share with this shadow ---------------- */

const struct engine_shared *shared;
struct engine_counts *counts;
struct engine_counters *counters;
struct engine_patience *patience;
struct eshadow_use *use;
struct vgpu_wire_limits wire_limits;

/*
 * Number of attempts to take the guest's lock. It is bounded, as a shadow that held the lock may
 * have been killed.
 */
#define GUEST_SPINS	(1U << 20)

void guest_lock_take(void)
{
	u32 i;

	for (i = 0; i < GUEST_SPINS; i++) {
		if (!__atomic_exchange_n(&patience->lock, 1, __ATOMIC_ACQUIRE))
			return;
		__builtin_ia32_pause();
	}
}

void guest_lock_drop(void)
{
	__atomic_store_n(&patience->lock, 0, __ATOMIC_RELEASE);
}

/* Maps @len bytes of the file at @at in the reserved range, and closes the file. */
static void *share_pages(int fd, u64 len, int prot, u64 at)
{
	long ret = sys_mmap(0, len, prot, MAP_SHARED, fd, 0);

	sys_exit_if(sys_is_error(ret), ESHADOW_EXIT_SHARED);
	ret = sys6(__NR_mremap, ret, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at, 0);
	sys_exit_if(sys_is_error(ret), ESHADOW_EXIT_SHARED);
	/* Keep drivers from writable pages, where a driver would spoil the counters. */
	if ((prot & PROT_WRITE) && keys_give(at, len, KEY_OWN))
		sys_exit_group(SHADOW_EXIT_KEYS);
	sys2(__NR_close, fd, 0);
	return (void *)ret;
}

void shared_init(void)
{
	_Static_assert(sizeof(struct engine_shared) <= PAGE_SIZE &&
		       sizeof(struct engine_patience) <= PAGE_SIZE, "one page each");
	shared = share_pages(ESHADOW_FD_SHARED, PAGE_SIZE, PROT_READ, slots_base - PAGE_SIZE);
	patience = share_pages(ESHADOW_FD_PATIENCE, PAGE_SIZE, PROT_READ | PROT_WRITE,
			       slots_base - 2 * PAGE_SIZE);
	counts = share_pages(ESHADOW_FD_COUNTERS, ENGINE_COUNTS_LEN, PROT_READ | PROT_WRITE,
			     slots_base - 2 * PAGE_SIZE - ENGINE_COUNTS_LEN);
	counters = &counts->counters;
	use = &counts->use;
	wire_limits = (struct vgpu_wire_limits) {
		.call_bytes = shared->limits.call_bytes,
		.segs = VGPU_SEGS_MAX,
		.fixups = VGPU_FIXUPS_MAX,
		.features = shared->features,
	};
}
