// SPDX-License-Identifier: MIT
/* Time that drivers may wait for the guest, which all of the guest's shadows share. */
#include "engine/shadow/base/lib.h"
#include "engine/shadow/memory/patience.h"

/*
 * Number of attempts to take the lock. It is bounded, as a shadow that held the lock may have
 * been killed.
 */
#define PATIENCE_SPINS	(1U << 20)

static void patience_take(void)
{
	u32 i;

	for (i = 0; i < PATIENCE_SPINS; i++) {
		if (!__atomic_exchange_n(&patience->lock, 1, __ATOMIC_ACQUIRE))
			return;
		__builtin_ia32_pause();
	}
}

static void patience_drop(void)
{
	__atomic_store_n(&patience->lock, 0, __ATOMIC_RELEASE);
}

u64 patience_begin(u64 call, struct vgpu_patience_wait *wait)
{
	u64 may;

	patience_take();
	may = vgpu_patience_begin(&patience->patience, now_ns() / NSEC_PER_US, call, wait);
	patience_drop();
	return may * NSEC_PER_US;
}

void patience_end(const struct vgpu_patience_wait *wait, u64 took)
{
	patience_take();
	vgpu_patience_end(&patience->patience, wait, took / NSEC_PER_US,
			  now_ns() / NSEC_PER_US);
	patience_drop();
}
