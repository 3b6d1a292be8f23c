// SPDX-License-Identifier: MIT
/*
 * Tallies: counts and times of the calls on files of an export. vgpud reads them in memory that it
 * shares with this shadow, and adds up those of all shadows of the guest.
 */
#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/tally.h"

static struct lock tallies_lock;

static struct engine_tally *tally_find(u32 export, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (counts->tallies[i].export == export)
			return &counts->tallies[i];
	return NULL;
}

struct engine_tally *tally_of(u32 export)
{
	struct engine_tally *tally;
	u32 nr;

	if (!export)
		return NULL;
	/* Entries are only added, so this needs no lock. */
	tally = tally_find(export, __atomic_load_n(&counts->nr_tallies, __ATOMIC_ACQUIRE));
	if (tally)
		return tally;
	lock_take(&tallies_lock);
	nr = counts->nr_tallies;
	tally = tally_find(export, nr);
	if (!tally && nr < ENGINE_TALLIES_MAX) {
		tally = &counts->tallies[nr];
		tally->export = export;
		__atomic_store_n(&counts->nr_tallies, nr + 1, __ATOMIC_RELEASE);
	}
	lock_drop(&tallies_lock);
	return tally;
}

static u32 tally_bucket(u64 ns)
{
	u64 units = ns / VGPU_HOST_BUCKET_NS;
	u32 bucket = units ? 64 - __builtin_clzll(units) : 0;

	return min(bucket, (u32)VGPU_HOST_BUCKETS - 1);
}

static void sums_count(struct engine_tally *tally, const struct call *call, u64 len, u64 ns)
{
	count(&tally->calls, 1);
	if (call->reply.result < 0)
		count(&tally->errors, 1);
	count(&tally->bytes_in, call->msg_len);
	count(&tally->bytes_out, len);
	count(&tally->ns, ns);
}

void tally_count(const struct call *call, u64 len, u64 now)
{
	u64 ns = now - call->reply.clock_in;

	sums_count(&counts->all, call, len, ns);
	if (!call->tally)
		return;
	sums_count(call->tally, call, len, ns);
	count(&call->tally->buckets[tally_bucket(ns)], 1);
}
