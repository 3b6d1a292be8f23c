/* SPDX-License-Identifier: MIT */
/* Memory that vgpud and the engine share with this shadow. */
#ifndef ESHADOW_SHARED_H
#define ESHADOW_SHARED_H

#include "engine/shadow/base/lib.h"
#include "shared/proto.h"

/* The engine writes @shared for all its shadows. @counters belongs to this shadow. */
extern const struct engine_shared *shared;
extern struct engine_counters *counters;
/*
 * The time that drivers may wait for the guest. All shadows of the guest share it, and write to
 * it under its lock.
 */
extern struct engine_patience *patience;
extern struct vgpu_wire_limits wire_limits;

/* Maps the shared memory. If that fails, exits with a status that says so. */
void shared_init(void);

#endif /* ESHADOW_SHARED_H */
