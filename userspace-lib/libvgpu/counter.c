// SPDX-License-Identifier: MIT
/* Tables of counters: their names, which vgpud, sysfs, JSON, the screen and vgpuctl(1) use. */
#include "counter.h"
#include "vgpu.h"

#define COUNTER(type, member)	{ #member, offsetof(struct type, member), false }
#define BYTES(type, member)	{ #member, offsetof(struct type, member), true }

const struct counter guest_counters[] = {
	COUNTER(vgpu_counters, sessions),
	COUNTER(vgpu_counters, lanes),
	COUNTER(vgpu_counters, objects),
	COUNTER(vgpu_counters, mappings),
	BYTES(vgpu_counters, kept_bytes),
	BYTES(vgpu_counters, owned_bytes),
	COUNTER(vgpu_counters, calls),
	COUNTER(vgpu_counters, round_trips),
	BYTES(vgpu_counters, bytes_in),
	BYTES(vgpu_counters, bytes_out),
	COUNTER(vgpu_counters, fetched_pages),
	COUNTER(vgpu_counters, written_pages),
	COUNTER(vgpu_counters, fetch_timeouts),
	COUNTER(vgpu_counters, patience_ms),
	COUNTER(vgpu_counters, spent),
	COUNTER(vgpu_counters, refused),
	COUNTER(vgpu_counters, malformed),
	COUNTER(vgpu_counters, stray_fds),
	COUNTER(vgpu_counters, cancels),
	{ NULL, 0, false },
};

const struct counter window_counters[] = {
	BYTES(vgpu_window_status, size),
	BYTES(vgpu_window_status, bound_bytes),
	COUNTER(vgpu_window_status, bindings),
	COUNTER(vgpu_window_status, opens),
	COUNTER(vgpu_window_status, faults),
	COUNTER(vgpu_window_status, resolved),
	COUNTER(vgpu_window_status, dummies),
	COUNTER(vgpu_window_status, failures),
	COUNTER(vgpu_window_status, timeouts),
	COUNTER(vgpu_window_status, zaps),
	COUNTER(vgpu_window_status, huge),
	{ NULL, 0, false },
};

const struct counter node_counters[] = {
	COUNTER(vgpu_node_info, calls),
	COUNTER(vgpu_node_info, round_trips),
	BYTES(vgpu_node_info, bytes_in),
	BYTES(vgpu_node_info, bytes_out),
	COUNTER(vgpu_node_info, fetched_pages),
	COUNTER(vgpu_node_info, window_mappings),
	COUNTER(vgpu_node_info, copy_mappings),
	{ NULL, 0, false },
};
