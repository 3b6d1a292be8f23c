/* SPDX-License-Identifier: MIT */
/* Features of the kernel that engines need. */
#ifndef VGPUD_NEED_H
#define VGPUD_NEED_H

#include <stdint.h>

/*
 * Check that the kernel has all that engines need. Return: the file of /dev/userfaultfd, or a
 * negative errno; the log then names what is missing.
 */
int needs_check(void);
/*
 * Return the most mappings of a guest's memory that a shadow may have at the same time: half of
 * vm.max_map_count. The other half is for its mappings that do not show the guest's memory.
 */
uint32_t engine_pieces_max(void);

#endif /* VGPUD_NEED_H */
