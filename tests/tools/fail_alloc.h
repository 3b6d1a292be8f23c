/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that a test shares with a program whose allocations fail (fail_alloc.c). */
#ifndef FAIL_ALLOC_H
#define FAIL_ALLOC_H

#include <stdint.h>

/**
 * struct fail_alloc - allocations of a program
 * @nth: number of the next allocation that fails, which the program counts down; 0: none, or it
 *	has failed
 * @say: not 0: the program shows the call of the allocation that fails (test)
 * @children: not 0: allocations of its children count, too (test)
 */
struct fail_alloc {
	uint32_t nth;
	uint32_t say;
	uint32_t children;
};

#endif /* FAIL_ALLOC_H */
