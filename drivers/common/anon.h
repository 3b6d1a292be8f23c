/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Anonymous inodes: each gives one address_space to all mappings of many files. A file whose
 * f_mapping is set to inode->i_mapping shares the address_space, and unmap_mapping_range() on
 * that reaches exactly the VMAs of these files.
 */
#ifndef VGPU_ANON_H
#define VGPU_ANON_H

#include <linux/fs.h>

/* Register and unregister the pseudo file system of the inodes, at module init and exit. */
int vgpu_anon_init(void);
void vgpu_anon_exit(void);

/* Return: an inode with one reference (iput() it), or ERR_PTR(-ENOMEM). */
struct inode *vgpu_anon_inode_alloc(void);

/*
 * Create a file of an anonymous inode, shown as @name in /proc/PID/fd. The file takes over the
 * caller's reference of @inode, unless the function fails.
 *
 * Return: the file or an ERR_PTR().
 */
struct file *vgpu_anon_file_alloc(struct inode *inode, const char *name, int flags,
				  const struct file_operations *fops);

#endif /* VGPU_ANON_H */
