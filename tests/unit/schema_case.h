/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An argument for any ioctl of a schema, with non-empty arrays everywhere, and a
 * driver that does with it what the schema says that drivers do. The driver
 * follows plain pointers; run natively it is what the marshaller has to equal.
 */
#ifndef SCHEMA_CASE_H
#define SCHEMA_CASE_H

#include "fake_host.h"

struct schema_case {
	const struct vgpu_schema_ioctl *ioctl;
	/* Which of the alternatives of fields at one offset is made to hold. */
	u32 variant;
	bool has_variant;	/* there is another one */
	u32 seed;
	u32 elems;		/* of each array, about */
	long result;		/* of the driver, if it finds no fault */
	u64 arg;
	/* What the driver met, besides the memory that it changed. */
	u64 sum;
	u32 pointers;		/* followed, with more than nothing behind */
	u32 fds_in;
	u32 fds_out;
	u32 rdevs;		/* places of device numbers that were met */
	u32 pids;		/* likewise of process ids */
	u32 stamps;		/* likewise of times */
	bool result_fd;
};

/* Makes the argument in fresh user memory. */
void schema_case_build(struct schema_case *c);
/* A driver_fn; @data is the case. */
long schema_case_driver(struct host *host, u32 cmd, u64 arg, void *data);

#endif /* SCHEMA_CASE_H */
