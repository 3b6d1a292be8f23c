/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds an argument for any ioctl of a schema, with non-empty arrays everywhere,
 * and has a driver that uses the argument as the schema describes. The driver
 * follows plain pointers. Its native run is the reference for the marshaller.
 */
#ifndef SCHEMA_CASE_H
#define SCHEMA_CASE_H

#include "fake_host.h"

struct schema_case {
	const struct vgpu_schema_ioctl *ioctl;
	/* Number of the alternative, among fields at one offset, whose condition is met. */
	u32 variant;
	bool has_variant;	/* true if a further variant exists */
	u32 seed;
	u32 elems;		/* rough number of elements of each array */
	long result;		/* driver's result when no access fails */
	u64 arg;
	/* Results of the driver, besides the memory that it changed: */
	u64 sum;
	u32 pointers;		/* number of pointers to at least a byte */
	u32 fds_in;
	u32 fds_out;
	u32 rdevs;		/* number of fields of device numbers */
	u32 pids;		/* number of fields of process ids */
	u32 stamps;		/* number of fields of times */
	bool result_fd;
};

/* Builds the argument in new user memory. */
void schema_case_build(struct schema_case *c);
/* Runs the driver, as a driver_fn; @data is the case. */
long schema_case_driver(struct host *host, u32 cmd, u64 arg, void *data);

#endif /* SCHEMA_CASE_H */
