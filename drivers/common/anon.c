// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anonymous inodes with an address space of their own, on a pseudo file system
 * that is never mounted where anybody sees it (as DRM core's drm_fs_inode_new()
 * does for its devices).
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
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
	 * A file here may have a device's number, but was not opened by chrdev_open().
	 * Were its inode, by way of /proc/self/fd, __fput() would put the cdev twice.
	 */
	fc->s_iflags |= SB_I_NODEV;
	return init_pseudo(fc, VGPU_ANON_MAGIC) ? 0 : -ENOMEM;
}

/*
 * No owner: our own mount would keep the module loaded for ever. Who uses an
 * inode keeps the module by other means.
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

	/* Unlike fops_get() of an open, it takes no reference of the module. */
	if (!IS_ERR(file))
		__module_get(fops->owner);
	return file;
}
