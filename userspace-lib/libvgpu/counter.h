/* SPDX-License-Identifier: MIT */
/* Counters in the structs of vgpu.h; private to libvgpu and vgpuctl. */
#ifndef LIBVGPU_COUNTER_H
#define LIBVGPU_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct counter - a number in a struct of libvgpu
 * @name: name in the answers of vgpud, sysfs, JSON and the manual; the screen shows spaces for
 *	underscores
 * @offset: offset of the uint64_t in the struct, in bytes
 * @bytes: true if the number counts bytes, and is shown with a unit
 */
struct counter {
	const char *name;
	size_t offset;
	bool bytes;
};

/*
 * Arrays that describe the counters in struct vgpu_counters, vgpu_window_status and
 * vgpu_node_info, in this order. Each array ends with an entry whose @name is NULL.
 */
extern const struct counter guest_counters[], window_counters[], node_counters[];

/* Return the address of the counter in @of, a struct of the kind that the array describes. */
static inline uint64_t *counter_in(const struct counter *counter, const void *of)
{
	return (uint64_t *)((char *)of + counter->offset);
}

#endif /* LIBVGPU_COUNTER_H */
