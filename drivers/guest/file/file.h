/* SPDX-License-Identifier: GPL-2.0-only */
/* File operations of all files that show objects. */
#ifndef VGPU_FILE_H
#define VGPU_FILE_H

#include <linux/fs.h>

#include "file/fdinfo.h"
#include "file/ioctl.h"
#include "file/object.h"

struct vgpu_export;

/*
 * There is one set for each combination of what a file has: ->poll, ->fasync. A file that
 * cannot be polled needs a set without ->poll, as epoll looks at f_op->poll to find out. DRM has
 * its own sets (drm.c).
 */
extern const struct file_operations vgpu_file_fops;
extern const struct file_operations vgpu_file_fops_no_poll;
extern const struct file_operations vgpu_file_fops_fasync;

/* Operations that all sets have in common. */
#define VGPU_FILE_OPERATIONS					\
	.owner = THIS_MODULE,					\
	.release = vgpu_file_release,				\
	.unlocked_ioctl = vgpu_ioctl_native,			\
	.compat_ioctl = vgpu_ioctl_compat,			\
	.mmap = vgpu_file_mmap,					\
	.get_unmapped_area = vgpu_file_get_unmapped_area,	\
	.read = vgpu_file_read,					\
	.write = vgpu_file_write,				\
	.llseek = vgpu_file_llseek,				\
	.show_fdinfo = vgpu_fdinfo_show

int vgpu_file_release(struct inode *inode, struct file *file);
ssize_t vgpu_file_read(struct file *file, char __user *buf, size_t count, loff_t *ppos);
ssize_t vgpu_file_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos);
loff_t vgpu_file_llseek(struct file *file, loff_t offset, int whence);
int vgpu_file_mmap(struct file *file, struct vm_area_struct *vma);
unsigned long vgpu_file_get_unmapped_area(struct file *file, unsigned long addr,
					  unsigned long len, unsigned long pgoff,
					  unsigned long flags);

int vgpu_file_open_export(struct file *file, struct vgpu_export *export, struct drm_device *drm,
			  const struct file_operations *no_poll);
void vgpu_file_attach(struct file *file, struct vgpu_object *object);
struct vgpu_object *vgpu_file_object(struct file *file);

#endif /* VGPU_FILE_H */
