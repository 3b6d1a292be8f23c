/* SPDX-License-Identifier: MIT */
/* Files that a hypervisor may map: see lend.c. */
#ifndef ENGINE_LEND_H
#define ENGINE_LEND_H

#include "engine/memory/owner.h"

struct grant;

/**
 * struct lent - a file by which a hypervisor maps what a mapping of an object shows
 * @fd: the file; the caller of lend() closes it as soon as it is sent
 * @file_offset: place in the file at which the hypervisor's mapping begins, in bytes
 * @owns: true if the engine owns the memory, which counts against the guest's limits at least
 *	until lend_over()
 * @owned: the memory, if @owns
 */
struct lent {
	int fd;
	uint64_t file_offset;
	bool owns;
	struct owned owned;
};

/**
 * lend_learn - note that the guest may use an export
 * @grant: grant of the export
 *
 * The guest's programs can pass memory from one device to another, so the rules for lending
 * depend on all devices that the guest has ever had.
 */
void lend_learn(const struct grant *grant);

/**
 * lend - let a hypervisor map what a mapping of an object shows
 * @object: the object
 * @file_offset: place in the object at which the mapping begins, in bytes
 * @len: length of the mapping in bytes, a multiple of the page size
 * @lent: filled in: the file, and how to give back the memory
 *
 * Memory that is mapped by this file stays the same while it is mapped, whatever the guest closes
 * or frees, and whichever processes end. May sleep in the driver.
 *
 * Return: 0; -EOPNOTSUPP: a hypervisor must not map the memory; or another negative errno.
 */
int lend(struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent);

/**
 * lend_over - give back what was lent
 * @lent: memory from lend()
 *
 * Must be called when the memory is no longer visible, as far as is known. May sleep in the driver.
 */
void lend_over(const struct lent *lent);

/*
 * Remember what a binding shows: it may be visible until the keeper has another window, or for
 * ever. @tag: tag of the binding. @lent: memory that it shows.
 */
void leftover_add(uint64_t tag, const struct lent *lent);
/*
 * Forget the leftovers. @hidden: none of them is visible any more, and their memory is given
 * back. Otherwise the engine owns that memory until the engine ends.
 */
void leftovers_end(bool hidden);
/*
 * Return: true if the engine still owns memory of a leftover whose tag is above @tag. Memory that
 * is owned until the engine ends counts as well.
 */
bool leftovers_since(uint64_t tag);

#endif /* ENGINE_LEND_H */
