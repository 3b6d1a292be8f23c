// SPDX-License-Identifier: MIT
/* Devices that the engine must not poll for a while. */
#include <stddef.h>

#include "engine/object/object.h"
#include "engine/object/poller.h"
#include "engine/object/quiet.h"
#include "shared/proto.h"

static dev_t quiet;

static bool is_quiet(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && object->rdev == quiet;
}

static int quiet_begin(struct object *object)
{
	if (is_quiet(object))
		poller_quiet_begin(object);
	return 0;
}

static int quiet_end(struct object *object)
{
	if (is_quiet(object))
		poller_quiet_end(object);
	return 0;
}

void quiet_device(dev_t rdev)
{
	quiet = rdev;
	/* Settle once for all objects, as this waits for the poller's thread. */
	objects_each(quiet_begin);
	poller_settle();
	objects_each(quiet_end);
}
