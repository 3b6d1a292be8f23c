/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Anonymous inodes: an address space of its own for what many files map. A
 * file whose f_mapping is set to inode->i_mapping shares it, and
 * unmap_mapping_range() on it reaches exactly those VMAs.
 */
#ifndef VGPU_ANON_H
#define VGPU_ANON_H

struct file;
struct file_operations;
struct inode;

/* Module init and exit: the pseudo file system behind the inodes. */
int vgpu_anon_init(void);
void vgpu_anon_exit(void);

/* Return: an inode with one reference (iput() it), or ERR_PTR(-ENOMEM). */
struct inode *vgpu_anon_inode_alloc(void);

/*
 * A file of such an inode, shown as @name in /proc/PID/fd. Takes the reference
 * of @inode over unless it fails. Return: the file or an ERR_PTR().
 */
struct file *vgpu_anon_file_alloc(struct inode *inode, const char *name, int flags,
				  const struct file_operations *fops);

#endif /* VGPU_ANON_H */
