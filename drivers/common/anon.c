// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anonymous inodes with an address_space of their own, on a pseudo file system that has no
 * mount point (as DRM core's drm_fs_inode_new() does for its devices).
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs_context.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "anon.h"

#define VGPU_ANON_MAGIC 0x76677075	/* "vgpu" */

static struct vfsmount *anon_mnt;

static int anon_init_fs_context(struct fs_context *fc)
{
	/*
	 * A file on this file system may have a device number, but chrdev_open() has not opened
	 * it. If a program could open its inode as a device, by /proc/self/fd, __fput() would
	 * put the cdev twice.
	 */
	fc->s_iflags |= SB_I_NODEV;
	return init_pseudo(fc, VGPU_ANON_MAGIC) ? 0 : -ENOMEM;
}

/*
 * No owner is set: the module's own mount would keep the module loaded for ever. Users of an
 * inode hold their own reference of the module.
 */
static struct file_system_type anon_fs_type = {
	.name = KBUILD_MODNAME,
	.init_fs_context = anon_init_fs_context,
	.kill_sb = kill_anon_super,
};

int vgpu_anon_init(void)
{
	anon_mnt = kern_mount(&anon_fs_type);
	return PTR_ERR_OR_ZERO(anon_mnt);
}

void vgpu_anon_exit(void)
{
	kern_unmount(anon_mnt);
}

struct inode *vgpu_anon_inode_alloc(void)
{
	return alloc_anon_inode(anon_mnt->mnt_sb);
}

struct file *vgpu_anon_file_alloc(struct inode *inode, const char *name, int flags,
				  const struct file_operations *fops)
{
	struct file *file = alloc_file_pseudo(inode, anon_mnt, name, flags, fops);

	/*
	 * Unlike fops_get() of an open, alloc_file_pseudo() takes no reference of the module.
	 */
	if (!IS_ERR(file))
		__module_get(fops->owner);
	return file;
}
