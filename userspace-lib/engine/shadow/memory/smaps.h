/* SPDX-License-Identifier: MIT */
/* Properties that the kernel reports of a mapping: see smaps.c. */
#ifndef ESHADOW_SMAPS_H
#define ESHADOW_SMAPS_H

#include "engine/shadow/base/lib.h"

/**
 * struct smaps - a search in /proc/self/smaps
 * @addr: address in the mapping
 * @offset: out: place in the file that the mapping shows at @addr
 * @flags: out: VGPU_MAP_*
 * @inside: true while lines of the mapping are read
 */
struct smaps {
	u64 addr;
	u64 offset;
	u32 flags;
	bool inside;
};

/* Return: 0, or -EIO. */
int smaps_read(struct smaps *smaps);

#endif /* ESHADOW_SMAPS_H */
