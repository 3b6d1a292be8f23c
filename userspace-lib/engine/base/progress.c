// SPDX-License-Identifier: MIT
/*
 * Waits for the end of something: lanes wait until control messages are applied, and RELEASE
 * messages until no driver has the memory. The files that end such a thing do not know who waits
 * for it.
 */
#include <stddef.h>

#include "engine/base/progress.h"

/* Functions that look whether a wait is over. */
static void (*const *looks)(void);
static size_t nr_looks;

void progress_init(void (*const *functions)(void), size_t nr)
{
	looks = functions;
	nr_looks = nr;
}

void progress_notify(void)
{
	size_t i;

	for (i = 0; i < nr_looks; i++)
		looks[i]();
}
