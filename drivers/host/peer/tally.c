// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tallies: counts of calls, and of the times that they took, of a guest and an export.
 *
 * Each CPU has counts of its own, so lanes share no cache line and need no lock. A reader may see a
 * call in one count and not yet in another.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "peer/guest.h"
#include "peer/tally.h"

int vgpu_tally_get(struct vgpu_guest *guest, const char *name, struct vgpu_tally **found)
{
	struct vgpu_tally *tally;

	*found = NULL;
	list_for_each_entry(tally, &guest->tallies, node) {
		if (!strcmp(tally->name, name)) {
			*found = tally;
			return 0;
		}
	}
	if (guest->nr_tallies >= VGPU_HOST_TALLIES_MAX)
		return 0;
	tally = kzalloc(sizeof(*tally), GFP_KERNEL_ACCOUNT);
	if (!tally)
		return -ENOMEM;
	tally->counts = alloc_percpu_gfp(struct vgpu_tally_counts, GFP_KERNEL_ACCOUNT);
	if (!tally->counts) {
		kfree(tally);
		return -ENOMEM;
	}
	strscpy(tally->name, name, sizeof(tally->name));
	list_add_tail(&tally->node, &guest->tallies);
	guest->nr_tallies++;
	*found = tally;
	return 0;
}

/* Return the bucket of a time: bucket N has those below VGPU_HOST_BUCKET_NS << N. */
static unsigned int tally_bucket(u64 ns)
{
	return min_t(unsigned int, fls64(div_u64(ns, VGPU_HOST_BUCKET_NS)),
		     VGPU_HOST_BUCKETS - 1);
}

void vgpu_sums_count(struct vgpu_sums __percpu *sums, const struct vgpu_tally_call *call)
{
	this_cpu_inc(sums->calls);
	if (call->failed)
		this_cpu_inc(sums->errors);
	this_cpu_add(sums->bytes_in, call->bytes_in);
	this_cpu_add(sums->bytes_out, call->bytes_out);
	this_cpu_add(sums->ns, call->ns);
}

void vgpu_tally_count(struct vgpu_tally *tally, const struct vgpu_tally_call *call)
{
	vgpu_sums_count(&tally->counts->sums, call);
	this_cpu_inc(tally->counts->buckets[tally_bucket(call->ns)]);
}

static void sums_add(struct vgpu_sums *total, const struct vgpu_sums *sums)
{
	total->calls += READ_ONCE(sums->calls);
	total->errors += READ_ONCE(sums->errors);
	total->bytes_in += READ_ONCE(sums->bytes_in);
	total->bytes_out += READ_ONCE(sums->bytes_out);
	total->ns += READ_ONCE(sums->ns);
}

void vgpu_sums_total(const struct vgpu_sums __percpu *sums, struct vgpu_sums *total)
{
	int cpu;

	memset(total, 0, sizeof(*total));
	for_each_possible_cpu(cpu)
		sums_add(total, per_cpu_ptr(sums, cpu));
}

static void tally_copy(const struct vgpu_tally *tally, struct vgpu_host_tally *to)
{
	const struct vgpu_tally_counts *counts;
	struct vgpu_sums total = { };
	unsigned int i;
	int cpu;

	memset(to, 0, sizeof(*to));
	strscpy(to->name, tally->name, sizeof(to->name));
	for_each_possible_cpu(cpu) {
		counts = per_cpu_ptr(tally->counts, cpu);
		sums_add(&total, &counts->sums);
		for (i = 0; i < VGPU_HOST_BUCKETS; i++)
			to->buckets[i] += READ_ONCE(counts->buckets[i]);
	}
	to->calls = total.calls;
	to->errors = total.errors;
	to->bytes_in = total.bytes_in;
	to->bytes_out = total.bytes_out;
	to->ns = total.ns;
}

u32 vgpu_tallies_copy(const struct vgpu_guest *guest, struct vgpu_host_tally *to, u32 nr)
{
	const struct vgpu_tally *tally;
	u32 i = 0;

	list_for_each_entry(tally, &guest->tallies, node) {
		if (i < nr)
			tally_copy(tally, &to[i]);
		i++;
	}
	return i;
}

void vgpu_tallies_free(struct vgpu_guest *guest)
{
	struct vgpu_tally *tally, *next;

	list_for_each_entry_safe(tally, next, &guest->tallies, node) {
		list_del(&tally->node);
		free_percpu(tally->counts);
		kfree(tally);
	}
}
