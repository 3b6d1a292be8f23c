/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Planted bugs: the fuzzers have to find them (tests/harness/fuzz --plant). The module's parameter
 * "plant" has the number of the one bug that is there. Only modules that are built for fuzzing
 * (VGPU_FUZZ=1) have any; in all others vgpu_planted() is false at compile time.
 */
#ifndef VGPU_PLANT_H
#define VGPU_PLANT_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#endif

/**
 * enum vgpu_plant - planted bugs
 * @VGPU_PLANT_NONE: none
 * @VGPU_PLANT_SEGS: host: a call with many segments gets memory for one segment less
 * @VGPU_PLANT_CLOSED: host: a closed object can still be found after it is freed
 * @VGPU_PLANT_UNACKED: host: a lane that ends before its ACK keeps its shadow's file
 * @VGPU_PLANT_SEEK: guest: a seek relative to the position does not move the position
 * @VGPU_PLANT_READ: guest: a long read returns a byte less than it has read
 * @VGPU_PLANT_FAILED: guest: an ioctl that fails does not copy its results out
 * @VGPU_PLANT_RANGES: guest: a WRITEBACK may have more ranges than the message holds
 * @VGPU_PLANT_FIXUP: guest: a reply may name a fixup that its call does not have
 * @VGPU_PLANT_CHANGE: guest: a change of an export that is no card puts the export twice
 * @VGPU_PLANT_EVENTFD: host: a file that a lane gets in place of an eventfd is put twice
 * @VGPU_PLANT_LANE: host: a lane that cannot be made is freed twice
 * @VGPU_PLANT_RESPOND: host: a new file whose number the caller cannot get is not put
 */
enum vgpu_plant {
	VGPU_PLANT_NONE,
	VGPU_PLANT_SEGS,
	VGPU_PLANT_CLOSED,
	VGPU_PLANT_UNACKED,
	VGPU_PLANT_SEEK,
	VGPU_PLANT_READ,
	VGPU_PLANT_FAILED,
	VGPU_PLANT_RANGES,
	VGPU_PLANT_FIXUP,
	VGPU_PLANT_CHANGE,
	VGPU_PLANT_EVENTFD,
	VGPU_PLANT_LANE,
	VGPU_PLANT_RESPOND,
};

#ifdef VGPU_FUZZ
bool vgpu_planted(enum vgpu_plant bug);
#else
static inline bool vgpu_planted(enum vgpu_plant bug)
{
	return false;
}
#endif

#endif /* VGPU_PLANT_H */
