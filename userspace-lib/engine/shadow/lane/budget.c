// SPDX-License-Identifier: MIT
/* The budget of the session's memory for messages and replies. */
#include "engine/shadow/base/lib.h"
#include "engine/shadow/lane/budget.h"

static u64 budget_used;

void *budget_get(u64 len)
{
	/* Limit: one message and one reply of the largest size, or many small ones. */
	u64 most = 2ULL * shared->limits.call_bytes;
	void *memory = NULL;

	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	if (__atomic_add_fetch(&budget_used, len, __ATOMIC_RELAXED) <= most)
		memory = memory_get(len);
	if (!memory)
		__atomic_sub_fetch(&budget_used, len, __ATOMIC_RELAXED);
	return memory;
}

void budget_put(void *memory, u64 len)
{
	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	memory_put(memory, len);
	__atomic_sub_fetch(&budget_used, len, __ATOMIC_RELAXED);
}
