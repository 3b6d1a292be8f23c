// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports: device files that the host offers; and grants: what one peer may do with one of them.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "peer/file.h"
#include "peer/grant.h"
#include "peer/peer.h"
#include "peer/share.h"

/* Flags of open() that are passed to a driver. */
#define GRANT_OPEN_FLAGS	(O_ACCMODE | O_NONBLOCK | O_APPEND | O_EXCL | O_DSYNC | __O_SYNC)

static void export_free(struct kref *ref)
{
	struct vgpuh_export *export = container_of(ref, struct vgpuh_export, ref);

	vgpu_file_drop_all(export);
	vgpuh_device_put(export->device);
	kfree(export->submits);
	path_put(&export->path);
	kfree(export);
}

void vgpuh_export_put(struct vgpuh_export *export)
{
	kref_put(&export->ref, export_free);
}

static void grant_free(struct kref *ref)
{
	struct vgpu_grant *grant = container_of(ref, struct vgpu_grant, ref);

	vgpuh_share_put(grant->share);
	vgpuh_export_put(grant->export);
	mutex_destroy(&grant->beside_lock);
	kfree(grant);
}

void vgpu_grant_get(struct vgpu_grant *grant)
{
	kref_get(&grant->ref);
}

void vgpu_grant_put(struct vgpu_grant *grant)
{
	if (grant)
		kref_put(&grant->ref, grant_free);
}

struct vgpu_grant *vgpu_grant_find(struct vgpu_peer *peer, u32 id)
{
	struct vgpu_grant *grant, *found = NULL;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (grant->id == id && !grant->revoked) {
			vgpu_grant_get(grant);
			found = grant;
			break;
		}
	}
	mutex_unlock(&peer->lock);
	return found;
}

/*
 * Check for a device of vgpu itself: a device that the guest module of this kernel presents
 * cannot be exported again.
 */
static bool grant_is_forwarded(const struct file *file)
{
	const struct module *owner = file->f_op->owner;

	return owner && (owner == THIS_MODULE || !strcmp(owner->name, "vgpu_guest"));
}

struct file *vgpu_grant_open(struct vgpu_grant *grant, u32 flags)
{
	const struct vgpuh_export *export = grant->export;
	struct inode *inode = d_inode(export->path.dentry);
	struct file *file;
	int ret;

	ret = vgpu_policy_open(&grant->policy, flags);
	if (ret)
		return ERR_PTR(ret);
	if (!S_ISCHR(inode->i_mode) || inode->i_rdev != export->rdev)
		return ERR_PTR(-ENODEV);
	file = dentry_open(&export->path, (flags & GRANT_OPEN_FLAGS) | O_LARGEFILE,
			   current_cred());
	if (!IS_ERR(file) && grant_is_forwarded(file)) {
		fput(file);
		return ERR_PTR(-EXDEV);
	}
	return file;
}
