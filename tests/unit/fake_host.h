/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host that carries out ioctls: it places segments, applies fixups, runs a
 * driver, undoes the fixups and builds the reply. Drivers access user memory and
 * fds by driver_*(). These functions also work without a host: the driver runs
 * natively then, on the program's own memory.
 */
#ifndef FAKE_HOST_H
#define FAKE_HOST_H

#include "fake_user.h"

#define HOST_FD_FIRST	3
#define HOST_FDS	256

struct host {
	struct vgpu_wire_limits limits;
	bool live;			/* true if mappings are not copies */
	int refuse;			/* errno of calls, without the driver; 0: none */
	/* State of the last call: */
	u32 fetches;			/* accesses to memory that was not sent */
	u32 calls;
	u32 nr_segs;
	u8 **segs;
	u32 *lens;
	u32 fds[HOST_FDS];		/* object of each fd, from HOST_FD_FIRST on */
	int next_fd;
	int first_new_fd;
};

/* A driver's ioctl. @host is NULL when the driver runs natively. */
typedef long (*driver_fn)(struct host *host, u32 cmd, u64 arg, void *data);

/* Returns the memory at an address of the caller; NULL stands for -EFAULT. */
void *driver_mem(struct host *host, u64 addr, u64 len, int rights);
/* Make an fd for an object, and find the object of an fd (0: none). */
int driver_fd_new(struct host *host, u32 object);
u32 driver_fd_object(struct host *host, int fd);

void host_init(struct host *host);

/*
 * Runs an ioctl from end to end, and checks the messages as their receivers do; a
 * bad message is an unmet expectation. Return: the program's result.
 */
long host_ioctl(struct host *host, const struct vgpu_schema *schema, u32 cmd, u64 arg,
		bool compat, driver_fn driver, void *data);

/* Runs an ioctl, and leaves the marshaller's state to the caller, who has to free it. */
long host_ioctl_keep(struct host *host, struct vgpu_marshal *m,
		     const struct vgpu_schema *schema, u32 cmd, u64 arg, bool compat,
		     driver_fn driver, void *data);

/* Runs an ioctl of a device whose property numbers were learned, as host_ioctl_keep(). */
long host_ioctl_learned(struct host *host, struct vgpu_marshal *m,
			struct vgpu_schema_learned *learned, const struct vgpu_schema *schema,
			u32 cmd, u64 arg, driver_fn driver, void *data);

#endif /* FAKE_HOST_H */
