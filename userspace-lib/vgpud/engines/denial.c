// SPDX-License-Identifier: MIT
/*
 * Denials: counts of denied ioctls that shadows of engines report. A shadow that its guest has
 * taken over can report anything, but of its own guest alone.
 */
#include <errno.h>

#include "engines/denial.h"
#include "engines/engine.h"
#include "engines/shadow.h"

static uint64_t add(uint64_t sum, uint64_t value)
{
	return value > UINT64_MAX - sum ? UINT64_MAX : sum + value;
}

static struct engine_denial *find(struct denials *denials, uint32_t export, uint32_t ioctl,
				  uint32_t what)
{
	struct engine_denial *denial;
	size_t i;

	for (i = 0; i < denials->nr; i++) {
		denial = &denials->list[i];
		if (denial->export == export && denial->ioctl == ioctl && denial->what == what)
			return denial;
	}
	return NULL;
}

/* Find the counts of an ioctl, or begin them. The last entries are for the rest of an export. */
static struct engine_denial *find_or_add(struct denials *denials, uint32_t export, uint32_t ioctl,
					 uint32_t what)
{
	const size_t max = ioctl == VGPU_HOST_IOCTL_NONE ? DENIALS_MAX :
			   DENIALS_MAX - ENGINE_OTHERS_MAX;
	struct engine_denial *denial = find(denials, export, ioctl, what);

	if (denial || denials->nr >= max)
		return denial;
	denial = &denials->list[denials->nr++];
	*denial = (struct engine_denial) { .export = export, .ioctl = ioctl, .what = what };
	return denial;
}

void denials_add(struct denials *sum, const struct engine_counts *counts)
{
	uint32_t i, nr = __atomic_load_n(&counts->nr_denials, __ATOMIC_ACQUIRE);
	const struct engine_denial *from;
	struct engine_denial *to, one;

	for (i = 0; i < nr && i < ENGINE_DENIALS_MAX + ENGINE_OTHERS_MAX; i++) {
		from = &counts->denials[i];
		one.export = __atomic_load_n(&from->export, __ATOMIC_RELAXED);
		one.ioctl = __atomic_load_n(&from->ioctl, __ATOMIC_RELAXED);
		one.what = __atomic_load_n(&from->what, __ATOMIC_RELAXED);
		to = find_or_add(sum, one.export, one.ioctl, one.what);
		if (!to)
			to = find_or_add(sum, one.export, VGPU_HOST_IOCTL_NONE, 0);
		if (!to)
			continue;
		to->denied = add(to->denied, __atomic_load_n(&from->denied, __ATOMIC_RELAXED));
		to->audited = add(to->audited, __atomic_load_n(&from->audited, __ATOMIC_RELAXED));
	}
}

void denials_forget(struct denials *denials, uint32_t export)
{
	size_t i, kept = 0;

	for (i = 0; i < denials->nr; i++)
		if (denials->list[i].export != export)
			denials->list[kept++] = denials->list[i];
	denials->nr = kept;
}

/* Fill in the counts of one export. */
static void fill(struct vgpu_host_denials *arg, const struct denials *sum)
{
	struct vgpu_host_denial *to = (struct vgpu_host_denial *)(uintptr_t)arg->denials;
	const struct engine_denial *denial;

	arg->out_nr = 0;
	arg->out_others_denied = 0;
	arg->out_others_audited = 0;
	for (denial = sum->list; denial < sum->list + sum->nr; denial++) {
		if (denial->export != arg->export)
			continue;
		if (denial->ioctl == VGPU_HOST_IOCTL_NONE || arg->out_nr == arg->nr ||
		    arg->out_nr == VGPU_HOST_DENIALS_MAX) {
			arg->out_others_denied = add(arg->out_others_denied, denial->denied);
			arg->out_others_audited = add(arg->out_others_audited, denial->audited);
			continue;
		}
		to[arg->out_nr++] = (struct vgpu_host_denial) {
			.ioctl = denial->ioctl,
			.what = denial->what,
			.denied = denial->denied,
			.audited = denial->audited,
		};
	}
}

int engine_denials(struct vgpu_host_denials *arg)
{
	struct engine *engine = engine_find(arg->peer);
	const struct shadow_counters *shadow;

	if (!engine)
		return -ENOENT;
	/*
	 * A list of all exports asks for each in turn. Shadows may have many counts: add them up
	 * once.
	 */
	if (engine->all_denied_call != loop_call()) {
		engine->all_denied = engine->denied;
		LIST_FOREACH(shadow, &engine->shadows, node)
			denials_add(&engine->all_denied, shadow->counts);
		engine->all_denied_call = loop_call();
	}
	fill(arg, &engine->all_denied);
	return 0;
}
