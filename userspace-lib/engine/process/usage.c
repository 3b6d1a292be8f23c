// SPDX-License-Identifier: MIT
/* Mappings and lanes of shadows, as the shadows report them. */
#include <errno.h>

#include "engine/base/agent.h"
#include "engine/process/shadow.h"
#include "engine/process/usage.h"
#include "policy.h"
#include "shared/proto.h"

/* Sums over all shadows, as the shadows have reported. */
static uint64_t mapped_bytes;
static uint32_t nr_mappings, nr_lanes;

static void usage_add(struct shadow *shadow, int64_t bytes, int64_t mappings, int64_t lanes)
{
	shadow->mapped_bytes += bytes;
	shadow->nr_mappings += mappings;
	shadow->nr_lanes += lanes;
	mapped_bytes += bytes;
	nr_mappings += mappings;
	nr_lanes += lanes;
	shared->mapped_bytes = mapped_bytes;
	shared->nr_mappings = nr_mappings;
	shared->nr_lanes = nr_lanes;
}

void usage_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int ret = 0;

	if (!vgpu_limits_map_ok(&start.limits, mapped_bytes, msg->value) ||
	    shadow->nr_mappings >= eshadow_mappings_max(&start.limits))
		ret = -ENOMEM;
	else
		usage_add(shadow, msg->value, 1, 0);
	shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

void usage_change(struct shadow *shadow, const struct eshadow_msg *msg)
{
	int64_t mappings = (int64_t)shadow->nr_mappings + (int32_t)msg->extra;
	int64_t lanes = (int64_t)shadow->nr_lanes + (int32_t)(msg->extra >> 32);

	if (-msg->value > shadow->mapped_bytes || mappings < 0 ||
	    mappings > eshadow_mappings_max(&start.limits) || lanes < 0 ||
	    lanes > start.limits.lanes)
		shadow_malformed(shadow);
	else
		usage_add(shadow, msg->value, (int32_t)msg->extra, (int32_t)(msg->extra >> 32));
}

void usage_shadow_gone(struct shadow *shadow)
{
	usage_add(shadow, -shadow->mapped_bytes, -(int64_t)shadow->nr_mappings,
		  -(int64_t)shadow->nr_lanes);
}
