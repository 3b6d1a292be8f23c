/* SPDX-License-Identifier: MIT */
/* Write-back: see writeback.c. */
#ifndef ESHADOW_WRITEBACK_H
#define ESHADOW_WRITEBACK_H

#include "engine/shadow/base/lib.h"

struct iovec;
struct lane;
struct page;

#define WRITEBACK_PAGES	16

/**
 * struct writeback - memory for a WRITEBACK message
 * @pages: claimed pages that the message is about
 * @nr: number of entries of @pages
 * @diff: state of vgpu_wire_diff_page()
 * @head: the message, and the ranges in which pages differ
 * @data: bytes of these ranges
 */
struct writeback {
	struct page *pages[WRITEBACK_PAGES];
	u32 nr;
	struct vgpu_wire_diff diff;
	struct {
		struct vgpu_writeback msg;
		struct vgpu_range ranges[WRITEBACK_PAGES * VGPU_DIFF_RANGES];
	} head;
	u8 data[WRITEBACK_PAGES * VGPU_DIFF_BYTES] __attribute__((aligned(8)));
};

/*
 * Gives the lane memory for writing back, which is kept for later lanes. The pager uses it during
 * a fault, and the lane's thread afterwards. The pager itself cannot allocate: the holder of
 * map_lock may be waiting for the pager. Return: 0, or -ENOMEM.
 */
int writeback_prepare(struct lane *lane);
/* Writes back all pages that differ from the guest's. Return: 0, or -EFAULT. */
int writeback_all(struct lane *lane);
/*
 * Builds the message about the claimed pages of @batch, in two entries of @iov. Return: length in
 * bytes; 0: nothing differs.
 */
u32 writeback_message(struct writeback *batch, u64 seq, struct iovec *iov);

#endif /* ESHADOW_WRITEBACK_H */
