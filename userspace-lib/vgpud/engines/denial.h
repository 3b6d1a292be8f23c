/* SPDX-License-Identifier: MIT */
/* Denials: counts of denied ioctls that shadows of engines report. */
#ifndef VGPUD_DENIAL_H
#define VGPUD_DENIAL_H

#include <stddef.h>
#include <stdint.h>

#include "shared/proto.h"

/* Number of counts that are kept for a guest. */
#define DENIALS_MAX	256

/**
 * struct denials - counts of a guest's denied ioctls
 * @nr: number of entries of @list
 * @list: array of the counts, which saturate
 */
struct denials {
	size_t nr;
	struct engine_denial list[DENIALS_MAX];
};

/* Add the counts of a shadow, which may write to them meanwhile. */
void denials_add(struct denials *sum, const struct engine_counts *counts);
/* Forget the counts of an export. */
void denials_forget(struct denials *denials, uint32_t export);
/* Do the work of hostdev_denials(). */
int engine_denials(struct vgpu_host_denials *arg);

#endif /* VGPUD_DENIAL_H */
