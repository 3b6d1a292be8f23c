// SPDX-License-Identifier: MIT
/* Memory that vgpud and the engine share with this shadow. */
#include <linux/mman.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/base/shared.h"
#include "shadow/keys.h"
#include "shadow/layout.h"

const struct engine_shared *shared;
struct engine_counters *counters;
struct engine_patience *patience;
struct vgpu_wire_limits wire_limits;

/* Maps a page of the file at @at, where no demand page will be. */
static void *share_page(int fd, int prot, u64 at)
{
	long ret = sys_mmap(0, PAGE_SIZE, prot, MAP_SHARED, fd, 0);

	if (sys_is_error(ret))
		sys_exit_group(ESHADOW_EXIT_SHARED);
	ret = sys6(__NR_mremap, ret, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, at, 0);
	if (sys_is_error(ret))
		sys_exit_group(ESHADOW_EXIT_SHARED);
	/* Keep drivers from writable pages, where a driver would spoil the counters. */
	if ((prot & PROT_WRITE) && keys_give(at, PAGE_SIZE, KEY_OWN))
		sys_exit_group(SHADOW_EXIT_KEYS);
	sys2(__NR_close, fd, 0);
	return (void *)ret;
}

void shared_init(void)
{
	_Static_assert(sizeof(struct engine_shared) <= PAGE_SIZE &&
		       sizeof(struct engine_patience) <= PAGE_SIZE, "one page each");
	shared = share_page(ESHADOW_FD_SHARED, PROT_READ, slots_base - PAGE_SIZE);
	counters = share_page(ESHADOW_FD_COUNTERS, PROT_READ | PROT_WRITE,
			      slots_base - 2 * PAGE_SIZE);
	patience = share_page(ESHADOW_FD_PATIENCE, PROT_READ | PROT_WRITE,
			      slots_base - 3 * PAGE_SIZE);
	wire_limits = (struct vgpu_wire_limits) {
		.call_bytes = shared->limits.call_bytes,
		.segs = VGPU_SEGS_MAX,
		.fixups = VGPU_FIXUPS_MAX,
		.features = shared->features,
	};
}
