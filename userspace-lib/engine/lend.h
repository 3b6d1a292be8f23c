/* SPDX-License-Identifier: MIT */
/* Files that others may map: see lend.c. */
#ifndef ENGINE_LEND_H
#define ENGINE_LEND_H

#include "owner.h"

/**
 * struct lent - a file by which a hypervisor maps what a mapping of an object shows
 * @fd: the file; whoever called lend() closes it as soon as it is sent
 * @file_offset: where the hypervisor's mapping begins in it, in bytes
 * @owns: the memory is owned, and counts until lend_over()
 * @owned: that memory, if @owns
 */
struct lent {
	int fd;
	uint64_t file_offset;
	bool owns;
	struct owned owned;
};

/**
 * lend_learn - the guest may use an export
 * @grant: what vgpud has told of it
 *
 * The guest's programs can pass memory from one device to another, so what is lent depends on all
 * of the devices that the guest has ever had.
 */
void lend_learn(const struct grant *grant);

/**
 * lend - let a hypervisor map what a mapping of an object shows
 * @object: the object
 * @file_offset: where the mapping begins in the object, in bytes
 * @len: its length in bytes, whole pages
 * @lent: filled in: the file, and how to give back what it shows
 *
 * Whatever is mapped by that file stays what it is while it is mapped, whatever the guest closes or
 * frees and whichever processes end. May wait for the driver.
 *
 * Return: 0; -EOPNOTSUPP: nobody can map it so; or another negative errno.
 */
int lend(struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent);

/**
 * lend_over - count what was lent as given back
 * @lent: what lend() has filled in
 *
 * To be called when nobody can see it any more, as far as is known. May wait for the driver.
 */
void lend_over(const struct lent *lent);

#endif /* ENGINE_LEND_H */
