/* SPDX-License-Identifier: MIT */
/* Files that others may map. */
#ifndef ENGINE_LEND_H
#define ENGINE_LEND_H

#include "owner.h"

/**
 * struct lent - a file by which a hypervisor maps what a mapping of an object shows
 * @fd: the file. To be closed as soon as it is mapped
 * @file_offset: where in it
 * @owns: it shows @owned
 * @owned: memory that the engine owns for this
 */
struct lent {
	int fd;
	uint64_t file_offset;
	bool owns;
	struct owned owned;
};

/**
 * lend - let a hypervisor map what a mapping of an object shows
 * @object: the object
 * @file_offset: where in it
 * @len: bytes, whole pages
 * @lent: how
 *
 * What is mapped by it stays what it is until lend_over(), whatever the guest closes or frees,
 * and whoever ends, but for the engine: for that, whoever has the mapping has to
 * have owner_file(), too.
 *
 * Return: 0, -EOPNOTSUPP: nobody can map it so, or another errno.
 */
int lend(const struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent);
/* Nobody can see it any more. */
void lend_over(const struct lent *lent);

#endif /* ENGINE_LEND_H */
