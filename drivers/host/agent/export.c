// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent's list of exports, and the grants of the peers.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/kdev_t.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "agent/export.h"
#include "agent/export_check.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/grant.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "peer/share.h"
#include "peer/tally.h"
#include "policy.h"
#include "session/session.h"
#include "window/window.h"

static void export_fill_msg(struct vgpu_export_add *msg, const struct vgpu_host_export_add *args,
			    dev_t rdev)
{
	*msg = (struct vgpu_export_add) {
		.hdr = VGPU_HDR(sizeof(*msg), VGPU_MSG_EXPORT_ADD, 0),
		.kind = cpu_to_le32(args->kind),
		.device = cpu_to_le64(args->device),
		.rdev_major = cpu_to_le32(MAJOR(rdev)),
		.rdev_minor = cpu_to_le32(MINOR(rdev)),
		.bus = cpu_to_le32(args->bus),
	};
	strscpy(msg->name, args->name, sizeof(msg->name));
	strscpy(msg->driver, args->driver, sizeof(msg->driver));
	strscpy(msg->path, args->path, sizeof(msg->path));
	strscpy(msg->bus_id, args->bus_id, sizeof(msg->bus_id));
	memcpy(msg->pci_header, args->pci_header, sizeof(msg->pci_header));
	strscpy(msg->title, args->title, sizeof(msg->title));
}

static int export_compare_keys(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Take the list of ioctls that give the device work, for which guests wait for each other. */
static int export_take_submits(struct vgpuh_export *export, const struct vgpu_host_export_add *args)
{
	u32 i;

	if (!args->nr_submits)
		return 0;
	export->submits = memdup_user(u64_to_user_ptr(args->submits),
				      args->nr_submits * sizeof(u32));
	if (IS_ERR(export->submits)) {
		int ret = PTR_ERR(export->submits);

		export->submits = NULL;
		return ret;
	}
	for (i = 0; i < args->nr_submits; i++)
		export->submits[i] = vgpu_ioctl_key(export->submits[i]);
	sort(export->submits, args->nr_submits, sizeof(u32), export_compare_keys, NULL);
	export->nr_submits = args->nr_submits;
	export->device = vgpuh_device_get(args->device, export->rdev);
	return export->device ? 0 : -ENOMEM;
}

int vgpuh_export_add(struct vgpu_agent *agent, const struct vgpu_host_export_add *args)
{
	struct vgpuh_export *export, *other, *old = NULL;
	struct inode *inode;
	struct file *file;
	int ret;

	lockdep_assert_held(&agent->lock);
	ret = vgpu_export_check(args);
	if (ret)
		return ret;
	list_for_each_entry(other, &agent->exports, node)
		if (!strcmp(other->msg.name, args->name))
			old = other;
	if (old && !(old->stale && (args->flags & VGPU_HOST_EXPORT_ADOPT)))
		return -EEXIST;
	if (agent->last_export == INT_MAX)
		return -ENOSPC;

	file = fget_raw(args->path_fd);
	if (!file)
		return -EBADF;
	/*
	 * file_inode() is not used: for an O_PATH file of a device it is the device's own inode
	 * as well.
	 */
	inode = d_inode(file->f_path.dentry);
	if (!S_ISCHR(inode->i_mode)) {
		fput(file);
		return -ENODEV;
	}
	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export) {
		fput(file);
		return -ENOMEM;
	}
	kref_init(&export->ref);
	mutex_init(&export->files_lock);
	INIT_LIST_HEAD(&export->files);
	export->path = file->f_path;
	path_get(&export->path);
	fput(file);
	export->rdev = inode->i_rdev;
	export->flags = args->flags & ~VGPU_HOST_EXPORT_ADOPT;
	export->admin = capable(CAP_SYS_ADMIN);
	export->kind = args->kind;
	export_fill_msg(&export->msg, args, export->rdev);
	if (export->rdev == agent->rdev || vgpuh_window_is_device(export->rdev)) {
		vgpuh_export_put(export);
		return -EXDEV;
	}
	ret = export_take_submits(export, args);
	if (ret) {
		vgpuh_export_put(export);
		return ret;
	}
	if (old && vgpu_export_is_same(old, export)) {
		vgpuh_export_put(export);
		old->stale = false;
		return old->id;
	}
	if (old)
		vgpuh_export_end(agent, old);
	export->id = ++agent->last_export;
	list_add_tail(&export->node, &agent->exports);
	return export->id;
}

int vgpuh_export_del(struct vgpu_agent *agent, u32 id)
{
	struct vgpuh_export *export = vgpu_agent_find_export(agent, id);

	if (!export)
		return -ENOENT;
	list_del(&export->node);
	vgpuh_export_put(export);
	return 0;
}

void vgpuh_export_end(struct vgpu_agent *agent, struct vgpuh_export *export)
{
	struct vgpu_peer *peer;
	unsigned long id;

	lockdep_assert_held(&agent->lock);
	xa_for_each(&agent->peers, id, peer)
		vgpu_grant_revoke(peer, export, false);
	list_del(&export->node);
	vgpuh_export_put(export);
}

/*
 * List a new grant, which the guest is told of. @adopt: a grant that was taken over is kept if it
 * is the same, or replaced.
 * Return: 0; 1: the peer has this grant already; or a negative errno.
 */
static int grant_list_locked(struct vgpu_peer *peer, struct vgpu_grant *grant, bool adopt)
{
	struct vgpu_grant *other, *old = NULL;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(other, &peer->grants.list, node)
		if (other->export == grant->export && !other->revoked)
			old = other;
	if (peer->closing)
		return -ENODEV;
	/* No process holds the process ids of an earlier agent's shadows (lasting.c). */
	if (peer->grants.adopted && grant->policy.kind == VGPU_EXPORT_NVIDIA)
		return -EXDEV;
	if (old && !(old->stale && adopt))
		return -EEXIST;
	if (peer->grants.last == INT_MAX)
		return -ENOSPC;
	if (old && vgpu_grant_is_same(old, grant)) {
		old->stale = false;
		return 1;
	}
	if (old)
		old->revoked = true;
	grant->id = ++peer->grants.last;
	list_add_tail(&grant->node, &peer->grants.list);
	if (grant->policy.kind == VGPU_EXPORT_NVIDIA)
		WRITE_ONCE(peer->grants.nvidia, true);
	return 0;
}

int vgpu_grant_add(struct vgpu_peer *peer, struct vgpuh_export *export,
		   const struct vgpu_host_grant *args)
{
	struct vgpu_grant *grant;
	int ret;
	u32 i;

	if (args->flags & ~(VGPU_HOST_GRANT_READ_ONLY | VGPU_HOST_GRANT_AUDIT |
			    VGPU_HOST_GRANT_ADOPT))
		return -EOPNOTSUPP;
	if (args->nr_ioctls > VGPU_POLICY_IOCTLS_MAX || args->ioctls_deny > 1)
		return -EINVAL;
	grant = kzalloc(struct_size(grant, ioctls, args->nr_ioctls), GFP_KERNEL_ACCOUNT);
	if (!grant)
		return -ENOMEM;
	if (copy_from_user(grant->ioctls, u64_to_user_ptr(args->ioctls),
			   args->nr_ioctls * sizeof(u32))) {
		kfree(grant);
		return -EFAULT;
	}
	for (i = 0; i < args->nr_ioctls; i++)
		grant->ioctls[i] = vgpu_policy_key(grant->ioctls[i]);
	sort(grant->ioctls, args->nr_ioctls, sizeof(u32), export_compare_keys, NULL);
	kref_init(&grant->ref);
	mutex_init(&grant->beside_lock);
	vgpu_denials_init(&grant->denials);
	grant->policy = (struct vgpu_policy) {
		.kind = export->kind,
		.master = export->flags & VGPU_HOST_EXPORT_MASTER,
		.read_only = args->flags & VGPU_HOST_GRANT_READ_ONLY,
		.audit = args->flags & VGPU_HOST_GRANT_AUDIT,
		.deny = args->ioctls_deny,
		.nr_ioctls = args->nr_ioctls,
		.ioctls = grant->ioctls,
		.nr_submits = export->nr_submits,
		.submits = export->submits,
	};
	grant->export = export;
	kref_get(&export->ref);
	ret = vgpu_tally_get(peer->guest, export->msg.name, &grant->tally);
	if (ret) {
		vgpu_grant_put(grant);
		return ret;
	}
	if (export->device) {
		grant->share = vgpuh_share_get(export->device, peer->guest->cid,
					       peer->guest->port, &peer->bounds.terms);
		if (!grant->share) {
			vgpu_grant_put(grant);
			return -ENOMEM;
		}
	}

	mutex_lock(&peer->lock);
	ret = grant_list_locked(peer, grant, args->flags & VGPU_HOST_GRANT_ADOPT);
	mutex_unlock(&peer->lock);
	if (ret) {
		vgpu_grant_put(grant);
		return min(ret, 0);
	}
	vgpuh_control_kick(peer);
	return 0;
}

/*
 * Take the files that the peer has open of a grant, and those that came from calls on them. A
 * driver's mappings and calls cannot be taken from a process one by one, so the sessions end that
 * have made calls on such files.
 */
static void grant_cut_locked(struct vgpu_peer *peer, struct vgpu_grant *grant)
{
	struct vgpuh_session *session;

	lockdep_assert_held(&peer->lock);
	WRITE_ONCE(grant->cut, true);
	/* Pairs with vgpuh_session_uses(): either it sees @cut, or its mark is seen here. */
	smp_mb();
	list_for_each_entry(session, &peer->sessions.list, node)
		if (xa_load(&session->grants, grant->id))
			vgpuh_session_end(session);
	/* A peer that ends drops all of its objects, and waits for their closes only once. */
	if (!peer->closing)
		vgpuh_object_cut(peer, grant);
}

int vgpu_grant_revoke(struct vgpu_peer *peer, const struct vgpuh_export *export, bool now)
{
	struct vgpu_grant *grant;
	int ret = -ENOENT;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (grant->export == export && !grant->revoked) {
			grant->revoked = true;
			if (now)
				grant_cut_locked(peer, grant);
			ret = 0;
		}
	}
	mutex_unlock(&peer->lock);
	if (!ret)
		vgpuh_control_kick(peer);
	return ret;
}

int vgpu_grant_denials(struct vgpu_peer *peer, struct vgpu_host_denials *args)
{
	struct vgpu_grant *grant, *found = NULL;
	int ret;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (grant->export->id == args->export && !grant->revoked) {
			vgpu_grant_get(grant);
			found = grant;
			break;
		}
	}
	mutex_unlock(&peer->lock);
	if (!found)
		return -ENOENT;
	ret = vgpu_denials_copy(&found->denials, args);
	vgpu_grant_put(found);
	return ret;
}

/*
 * Merge uevents that the guest is not notified of yet. The result names the connector and the
 * property that all hotplug uevents among them name, or 0 (any) if they name different ones.
 */
static void change_merge(struct vgpu_change *change, const struct vgpu_change *more)
{
	u32 both = change->flags & more->flags;

	if (!(both & VGPU_CHANGE_HOTPLUG)) {
		change->connector |= more->connector;
		change->property |= more->property;
	} else if (change->connector != more->connector) {
		change->connector = 0;
		change->property = 0;
	} else if (change->property != more->property) {
		change->property = 0;
	}
	change->wedged |= more->wedged;
	change->flags |= more->flags;
}

static void grant_change(struct vgpu_peer *peer, const struct vgpuh_export *export,
			 const struct vgpu_change *change)
{
	struct vgpu_grant *grant;
	bool any = false;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (grant->export == export && !grant->revoked) {
			change_merge(&grant->change, change);
			any = true;
		}
	}
	mutex_unlock(&peer->lock);
	if (any)
		vgpuh_control_kick(peer);
}

int vgpuh_export_change(struct vgpu_agent *agent, const struct vgpu_host_export_change *args)
{
	const struct vgpu_change change = {
		.flags = args->flags,
		.connector = args->connector,
		.property = args->property,
		.wedged = args->wedged,
	};
	struct vgpuh_export *export;
	struct vgpu_peer *peer;
	unsigned long id;

	lockdep_assert_held(&agent->lock);
	if ((args->flags & ~VGPU_CHANGES) || (args->wedged & ~VGPU_WEDGED_ALL))
		return -EOPNOTSUPP;
	/* A guest accepts nothing else (export_change_ok()). */
	if (!args->flags || (args->connector && !(args->flags & VGPU_CHANGE_HOTPLUG)) ||
	    (args->property && !args->connector) ||
	    !args->wedged != !(args->flags & VGPU_CHANGE_WEDGED))
		return -EINVAL;
	export = vgpu_agent_find_export(agent, args->export);
	if (!export)
		return -ENOENT;
	if (export->kind != VGPU_EXPORT_DRM_PRIMARY)
		return -EINVAL;
	xa_for_each(&agent->peers, id, peer)
		grant_change(peer, export, &change);
	return 0;
}

void vgpu_grant_drop_all(struct vgpu_peer *peer)
{
	struct vgpu_grant *grant, *next;

	mutex_lock(&peer->lock);
	list_for_each_entry_safe(grant, next, &peer->grants.list, node) {
		list_del(&grant->node);
		vgpu_grant_put(grant);
	}
	mutex_unlock(&peer->lock);
}
