/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private fd table of a lane's thread.
 */
#ifndef _VGPU_HOST_FDTABLE_H
#define _VGPU_HOST_FDTABLE_H

#include <linux/types.h>

struct file;
struct vgpuh_object;

/* An fd of a lane's thread. */
struct vgpu_fd {
	int fd;
	bool cloexec;
	struct file *file;
	/* Object of a file that was placed for the call, with a reference; or NULL. */
	struct vgpuh_object *object;
};

/* Check that the fd table of current is not shared and holds nothing but @lane. */
bool vgpu_fdtable_is_private(struct file *lane);
int vgpu_fdtable_install(struct file *file);
/*
 * Install the file of @object for one call, at the object's fixed number if it has one.
 * Consumes the caller's reference of @object. Return: the fd, or a negative errno.
 */
int vgpu_fdtable_place(struct vgpuh_object *object, struct vgpu_fd *placed);
/* Remove a placed file from the fd table; placed->object may be NULL. */
void vgpu_fdtable_remove(struct vgpu_fd *placed);
/*
 * Take all files but @lane out of the fd table. @fds gets the first @max of them, with a
 * reference each. Return: number of files that were taken out.
 */
unsigned int vgpu_fdtable_take(struct file *lane, struct vgpu_fd *fds, unsigned int max);

#endif /* _VGPU_HOST_FDTABLE_H */
