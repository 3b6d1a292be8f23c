/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host, as far as an ioctl is concerned: places segments, applies fixups,
 * runs a driver, undoes, answers. And the driver's ways to user memory and fds,
 * which are also there without a host: then it runs natively, on the program's
 * own memory.
 */
#ifndef FAKE_HOST_H
#define FAKE_HOST_H

#include "fake_user.h"

#define HOST_FD_FIRST	3
#define HOST_FDS	256

struct host {
	struct vgpu_wire_limits limits;
	bool live;			/* mappings are no copies */
	int refuse;			/* an errno: no call reaches the driver */
	/* of the last call: */
	u32 fetches;			/* touched memory that did not come along */
	u32 calls;
	u32 nr_segs;
	u8 **segs;
	u32 *lens;
	u32 fds[HOST_FDS];		/* objects, by fd - HOST_FD_FIRST */
	int next_fd;
	int first_new_fd;
};

/* A driver's ioctl. @host is NULL when it runs natively. */
typedef long (*driver_fn)(struct host *host, u32 cmd, u64 arg, void *data);

/* Memory at an address of the caller; NULL is -EFAULT. */
void *driver_mem(struct host *host, u64 addr, u64 len, int rights);
/* A new fd for an object; the object of an fd, or 0. */
int driver_fd_new(struct host *host, u32 object);
u32 driver_fd_object(struct host *host, int fd);

void host_init(struct host *host);

/*
 * An ioctl from end to end. Return: what the program gets. Messages are checked
 * as they would be on the way; a bad one is an expectation that is not met.
 */
long host_ioctl(struct host *host, const struct vgpu_schema *schema, u32 cmd, u64 arg,
		bool compat, driver_fn driver, void *data);

/* Likewise, with the marshaller's state for the caller to look at and to free. */
long host_ioctl_keep(struct host *host, struct vgpu_marshal *m,
		     const struct vgpu_schema *schema, u32 cmd, u64 arg, bool compat,
		     driver_fn driver, void *data);

/* Likewise, of a device of which something is known. */
long host_ioctl_learned(struct host *host, struct vgpu_marshal *m,
			struct vgpu_schema_learned *learned, const struct vgpu_schema *schema,
			u32 cmd, u64 arg, driver_fn driver, void *data);

#endif /* FAKE_HOST_H */
