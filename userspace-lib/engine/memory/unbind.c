// SPDX-License-Identifier: MIT
/* The last UNBIND messages of the guest. */
#include <stddef.h>

#include "engine/memory/unbind.h"
#include "shared/proto.h"

/* Number of UNBIND messages that are remembered. */
#define UNBINDS		1024

/* Ring of UNBIND messages; next_unbind is the number of messages so far. */
static struct unbind unbinds[UNBINDS];
static unsigned int next_unbind;
/* Number of the last UNBIND message that was overwritten; 0: none was. */
static uint64_t unbinds_gone;

void unbind_note(const struct unbind *unbind)
{
	struct unbind *oldest = &unbinds[next_unbind++ % UNBINDS];

	unbinds_gone = oldest->seq;
	*oldest = *unbind;
}

bool unbind_since(const struct eshadow_bind *bind)
{
	size_t i;

	if (bind->seq < unbinds_gone)
		return true;
	for (i = 0; i < UNBINDS; i++)
		if (unbinds[i].seq > bind->seq && unbinds[i].window == bind->window &&
		    unbinds[i].offset < bind->offset + bind->len &&
		    bind->offset < unbinds[i].offset + unbinds[i].len)
			return true;
	return false;
}
