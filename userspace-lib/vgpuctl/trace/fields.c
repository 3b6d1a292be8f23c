// SPDX-License-Identifier: MIT
/* Fields of ioctls' arguments: search in the tables of all drivers. */
#include <string.h>

#include "vgpuctl/trace/fields.h"

static const struct trace_fields *const tables[] = {
	trace_fields_drm, trace_fields_drm_mode, trace_fields_virtio_gpu, trace_fields_nouveau,
	trace_fields_v4l2, trace_fields_sound, trace_fields_nvidia,
};

const struct trace_fields *trace_fields_find(const char *name)
{
	const struct trace_fields *fields;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (fields = tables[i]; fields->name; fields++)
			if (!strcmp(fields->name, name))
				return fields;
	return NULL;
}
