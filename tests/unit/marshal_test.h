/* SPDX-License-Identifier: GPL-2.0-only */
/* Common parts of the tests of marshalling: one host, which start() resets. */
#ifndef MARSHAL_TEST_H
#define MARSHAL_TEST_H

#include "fake_host.h"
#include "argument/marshal_user.h"
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"
#include "tap.h"
#include "tests/mock/vgpu_mock.h"

static const struct vgpu_schema *const mock = &vgpu_schema_mock;
static struct host host;

static inline void start(void)
{
	user_reset();
	host_init(&host);
}

static inline long call(const struct vgpu_schema *schema, u32 cmd, const void *arg,
			driver_fn driver, void *data)
{
	return host_ioctl(&host, schema, cmd, (uintptr_t)arg, false, driver, data);
}

/* A driver that stores its argument in @data. */
static inline long wants_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	*(u64 *)data = arg;
	return 7;
}

#endif /* MARSHAL_TEST_H */
