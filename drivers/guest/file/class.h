/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations by which the class of a device takes part in the ioctls of its files. */
#ifndef VGPU_CLASS_H
#define VGPU_CLASS_H

#include <linux/types.h>

struct vgpu_marshal;
struct vgpu_object;
struct vgpu_reply_view;

/**
 * struct vgpu_class_ops - operations of a class of devices; each may be NULL
 * @call_size: number of bytes that the class needs for each ioctl
 * @ioctl_begin: function that is called before the argument is marshalled, with @call_size bytes
 *	of uninitialized memory at @call
 * @ioctl_shares: function that returns true if the ioctl may make the driver give memory of the
 *	file to other files
 * @ioctl_takes: function that returns true if the ioctl opens a buffer of another file by its name
 * @ioctl_send: function that may change the marshalled argument; the last one before the call
 * @ioctl_reply: function that handles the reply of a call that the host has not refused. It gets
 *	and returns the result of the ioctl
 * @ioctl_done: function that is called after a successful ioctl
 * @ioctl_end: function that is called after each @ioctl_begin; @ok: true if the ioctl succeeded
 * @free: function that frees what the class has stored in an object without references
 *
 * The class is that of the export. Objects that calls on its files return have the same class,
 * so each function has to look at the schema of the object if other files can have the command.
 */
struct vgpu_class_ops {
	size_t call_size;
	void (*ioctl_begin)(void *call, struct vgpu_object *object, unsigned int cmd,
			    unsigned long arg, bool compat);
	bool (*ioctl_shares)(const struct vgpu_object *object, unsigned int cmd,
			     const struct vgpu_marshal *m);
	bool (*ioctl_takes)(const struct vgpu_object *object, unsigned int cmd);
	void (*ioctl_send)(struct vgpu_object *object, unsigned int cmd, struct vgpu_marshal *m);
	long (*ioctl_reply)(struct vgpu_object *object, unsigned int cmd,
			    const struct vgpu_marshal *m, const struct vgpu_reply_view *reply,
			    long ret);
	void (*ioctl_done)(const struct vgpu_object *object, unsigned int cmd, unsigned long arg);
	void (*ioctl_end)(void *call, struct vgpu_object *object, unsigned int cmd,
			  unsigned long arg, bool ok);
	void (*free)(struct vgpu_object *object);
};

#endif /* VGPU_CLASS_H */
