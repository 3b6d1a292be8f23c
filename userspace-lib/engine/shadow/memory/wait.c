// SPDX-License-Identifier: MIT
/*
 * Time for which drivers wait for the guest. All upcalls of a call together, and its waits for
 * other lanes' upcalls, have the time limit of a single upcall. All waits of the guest's calls
 * have the time that is left of the guest's budget, which its shadows share.
 *
 * The pager counts a wait when it finds that the wait is over. If a signal has ended the wait, the
 * lane may have the next call by then, whose time limit the wait must not shorten.
 */
#include "engine/shadow/base/lib.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/wait.h"

/* Takes the lock, and notices if vgpud has changed the time that drivers may wait in all. */
static void patience_take(void)
{
	const u64 whole = __atomic_load_n(&shared->patience_us, __ATOMIC_RELAXED);

	guest_lock_take();
	if (patience->patience.whole == whole)
		return;
	vgpu_patience_pass(&patience->patience, now_ns() / NSEC_PER_US);
	vgpu_patience_resize(&patience->patience, whole);
}

void wait_call_begins(struct lane *lane)
{
	lane->fetch.call = lane->seq;
	lane->fetch.upcall_ns = 0;
	/* Read without the lock: other shadows of the guest write this time in one store. */
	lane->fetch.guest_call = vgpu_patience_call(&patience->patience);
}

u64 wait_begin(const struct lane *lane, struct vgpu_patience_wait *wait)
{
	u64 may;

	if (lane->fetch.upcall_ns > shared->fetch_timeout_ms * NSEC_PER_MS)
		return 0;
	patience_take();
	may = vgpu_patience_begin(&patience->patience, now_ns() / NSEC_PER_US,
				  lane->fetch.guest_call, wait);
	guest_lock_drop();
	return may * NSEC_PER_US;
}

void wait_count(struct lane *lane, u64 call, const struct vgpu_patience_wait *wait, u64 took)
{
	lock_take(&demand.lock);
	if (lane->fetch.call == call)
		lane->fetch.upcall_ns += took;
	lock_drop(&demand.lock);
	patience_take();
	vgpu_patience_end(&patience->patience, wait, took / NSEC_PER_US,
			  now_ns() / NSEC_PER_US);
	guest_lock_drop();
}
