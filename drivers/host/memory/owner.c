// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of NVIDIA's driver that shadows map.
 *
 * That driver does not unmap a card's memory from processes that have mapped it. When a program
 * frees the memory, or closes a file that it belongs to, another program gets it, perhaps one
 * of another guest, and the old mapping shows it. Memory of the system, which control files
 * map, stays with the mapping. But a control file that was told to map such memory has no
 * reference of it until mmap() comes, and the driver uses memory that is freed in between all
 * the same (nvidia_mmap_helper() of release 595). The guest decides when it frees, in more ways
 * than could be known here. So no order of messages makes such a mapping safe: the mapping
 * itself has to keep what it shows.
 *
 * So a shadow never maps the guest's own file. It maps a file that is opened anew for each
 * mapping. A client of the driver's resource manager (RM) is made for that mapping alone. It
 * has a duplicate of the memory, and has the new file map it. The mapping holds the file. The
 * file of a card holds the control file that it is registered with, which holds the client and
 * so the memory. All of it is freed with the last part of the mapping, whatever the guest has
 * freed before. So the guest's reads and writes by calls, drivers that are given an address in
 * the mapping, and windows, whose PTEs are zapped with those of the shadow, find only this
 * memory there.
 *
 * Memory of the system is mapped by the control file of such a client. The client is freed as
 * soon as the file is mapped: the mapping then has the pages, and the duplicate might outlive
 * its card.
 *
 * The shadow's process makes the client. RM lets a client duplicate objects of clients that the
 * same process has made, and objects of others only if they were shared with it. So a guest
 * that lies about handles gets only memory that the process may have in any case.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/path.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "memory/owner.h"
#include "nvidia_rm.h"
#include "nvidia_rules.h"
#include "object/object.h"
#include "segs.h"
#include "session/call.h"
#include "session/card.h"
#include "session/fdtable.h"
#include "session/lane.h"
#include "session/session.h"

/* Offset of the parameters behind the arguments of an ioctl, and size of both together. */
#define OWNED_PARAMS	256
#define OWNED_SIZE	512

/* --- what files map ------------------------------------------------------- */

static bool owned_is_control(const struct vgpuh_object *object)
{
	const struct inode *inode = file_inode(object->file);

	return vgpuh_object_is_nvidia(object) && S_ISCHR(inode->i_mode) &&
	       inode->i_rdev == MKDEV(RM_MAJOR, RM_MINOR_CTL);
}

/*
 * Find the file whose number is at @offset of the argument.
 * Return: its object, or NULL if memory cannot be mapped by it.
 */
static struct vgpuh_object *owned_target(const struct vgpuh_call *call, u32 offset)
{
	u32 i;

	for (i = 0; call->fds.placed && i < le16_to_cpu(call->view.call->nr_fixups); i++) {
		const struct vgpu_fixup *fixup = &call->view.fixups[i];
		struct vgpuh_object *object = call->fds.placed[i].object;

		if (le16_to_cpu(fixup->type) != VGPU_FIXUP_FD_IN || fixup->seg ||
		    le32_to_cpu(fixup->offset) != offset)
			continue;
		return object && (vgpu_card_of(object) >= 0 || owned_is_control(object)) ?
		       object : NULL;
	}
	return NULL;
}

/* Find out which memory the driver has had a file map. Return: false if it has not done so. */
static bool owned_was_told(u32 cmd, unsigned long arg, struct rm_map *map)
{
	struct rm_alloc_memory args;

	if (cmd == RM_IOCTL_MAP)
		return !copy_from_user(map, (void __user *)arg, sizeof(*map)) && !map->status;
	return !copy_from_user(&args, (void __user *)arg, sizeof(args)) &&
	       rm_alloc_maps(&args, map);
}

void vgpu_owner_learn(struct vgpuh_call *call, u32 cmd, unsigned long arg)
{
	const struct vgpuh_object *control = call->object;
	struct vgpuh_object *object;
	struct vgpu_owned *owned;

	if ((cmd != RM_IOCTL_MAP || !owned_is_control(call->object)) &&
	    (cmd != RM_IOCTL_ALLOC_MEMORY || vgpu_card_of(call->object) < 0))
		return;
	if (le32_to_cpu(call->view.call->args.ioctl.arg_kind) != VGPU_IOCTL_ARG_SEG ||
	    !vgpu_segs_hold(&call->view, call->segs, arg, _IOC_SIZE(cmd)))
		return;
	object = owned_target(call, cmd == RM_IOCTL_MAP ? RM_MAP_FD : RM_ALLOC_FD);
	if (!object)
		return;
	/* Memory of the system is mapped by a control file of the same node. */
	if (cmd == RM_IOCTL_ALLOC_MEMORY)
		control = object;
	if (!owned_is_control(control))
		return;
	owned = kzalloc(sizeof(*owned), GFP_KERNEL_ACCOUNT);
	if (owned && !owned_was_told(cmd, arg, &owned->map)) {
		kfree(owned);
		return;
	}
	if (owned) {
		owned->control = control->file->f_path;
		path_get(&owned->control);
	}
	/* NULL, for lack of memory, makes the file impossible to map. */
	vgpu_owned_set(object, owned);
}

/* --- RM ------------------------------------------------------------------- */

/**
 * struct owner - a client of RM
 * @control: control file that the client belongs to
 * @at: address in the shadow of memory for arguments, which no other call can reach
 * @client: handle of the client
 */
struct owner {
	struct file *control;
	unsigned long at;
	u32 client;
};

static int owner_ioctl(const struct owner *owner, struct file *file, u32 cmd, void *args)
{
	void __user *place = (void __user *)owner->at;
	size_t size = _IOC_SIZE(cmd);
	long ret;

	if (!file->f_op->unlocked_ioctl)
		return -ENOTTY;
	if (copy_to_user(place, args, size))
		return -EFAULT;
	ret = file->f_op->unlocked_ioctl(file, cmd, owner->at);
	if (ret)
		return ret < 0 ? ret : -EIO;
	return copy_from_user(args, place, size) ? -EFAULT : 0;
}

static bool owner_is_client(const struct vgpuh_object *object, u32 client, unsigned long at)
{
	const struct owner owner = { .at = at };
	struct rm_free args = RM_FREE_NOTHING(client);

	return !owner_ioctl(&owner, object->file, RM_IOCTL_FREE, &args) && args.status == RM_OK;
}

bool vgpu_owner_has(struct vgpuh_call *call, u32 client, unsigned long at)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	u32 left = VGPU_NVIDIA_ASK_MAX;
	struct vgpuh_object *object;
	struct rm_free kept;
	bool has = false;
	unsigned long id;
	void *entry;

	if (copy_from_user(&kept, (void __user *)at, sizeof(kept)))
		return false;
	xa_for_each(&peer->objects.table, id, entry) {
		object = vgpuh_object_find(peer, id);
		if (!object)
			continue;
		if (owned_is_control(object)) {
			has = owner_is_client(object, client, at);
			left--;
		}
		vgpuh_object_put(object);
		if (has || !left || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return !copy_to_user((void __user *)at, &kept, sizeof(kept)) && has;
}

/* Make an object. Return: its handle, or 0 and a negative errno in @ret. */
static u32 owner_alloc(const struct owner *owner, u32 parent, u32 class, const void *params,
		       size_t size, int *ret)
{
	struct rm_alloc args = {
		.client = owner->client,
		.parent = parent,
		.class = class,
		.params = params ? owner->at + OWNED_PARAMS : 0,
		.params_size = size,
	};

	BUILD_BUG_ON(sizeof(args) > OWNED_PARAMS);
	BUILD_BUG_ON(sizeof(struct rm_device) > OWNED_SIZE - OWNED_PARAMS);
	*ret = 0;
	if (params && copy_to_user((void __user *)(owner->at + OWNED_PARAMS), params, size))
		*ret = -EFAULT;
	if (!*ret)
		*ret = owner_ioctl(owner, owner->control, RM_IOCTL_ALLOC, &args);
	if (!*ret)
		*ret = rm_errno(args.status);
	return *ret ? 0 : args.object;
}

/* Duplicate the memory. Return: handle of the duplicate, or 0 and a negative errno in @ret. */
static u32 owner_dup(const struct owner *owner, u32 parent, const struct rm_map *map, int *ret)
{
	struct rm_dup args = {
		.client = owner->client,
		.parent = parent,
		.from_client = map->client,
		.from_object = map->memory,
	};

	*ret = owner_ioctl(owner, owner->control, RM_IOCTL_DUP, &args);
	if (!*ret)
		*ret = rm_errno(args.status);
	/* RM reports success in some cases in which nothing was made. */
	if (!*ret && !args.object)
		*ret = -ENOENT;
	return *ret ? 0 : args.object;
}

/*
 * Duplicate the memory and map it by @device. If the program has the object below a subdevice,
 * the duplicate has to be below one, too.
 */
static int owner_map_by(const struct owner *owner, u32 device, const struct rm_map *map, int fd)
{
	struct rm_subdevice subdevice = {};
	struct rm_map args = {
		.client = owner->client,
		.device = device,
		.offset = map->offset,
		.len = map->len,
		.flags = map->flags & ~RM_MAP_CACHING,
		.fd = fd,
	};
	u32 parent;
	int ret;

	args.memory = owner_dup(owner, device, map, &ret);
	if (ret && ret != -EACCES && ret != -ENOENT) {
		parent = owner_alloc(owner, device, RM_CLASS_SUBDEVICE, &subdevice,
				     sizeof(subdevice), &ret);
		if (parent)
			args.memory = owner_dup(owner, parent, map, &ret);
	}
	if (!ret)
		ret = owner_ioctl(owner, owner->control, RM_IOCTL_MAP, &args);
	return ret ?: rm_errno(args.status);
}

/*
 * Make a device object and map the memory by it.
 *
 * RM makes a device object only for a card that the thread has a file of. The number of the
 * device object is not known. For most cards it is the minor number of the file, which is tried
 * first.
 *
 * RM maps memory of a card only by a file and a device object of that card. The table has no
 * card's file but @fd then, so the answer for the first device that can be made is final.
 * Memory of the system can be mapped by the device of any of the program's cards.
 *
 * Nothing is freed after an error: a file maps what it was told first, and RM's answers are in
 * memory to which a shadow that was taken over may write.
 */
static int owner_map(const struct owner *owner, int card, const struct rm_map *map, int fd)
{
	u32 first = card >= 0 && card < RM_DEVICES ? card : 0, device, i;
	int ret, err = -ENODEV;

	for (i = 0; i < RM_DEVICES; i++) {
		struct rm_device params = { .number = (first + i) % RM_DEVICES };

		if (fatal_signal_pending(current))
			return -EINTR;
		device = owner_alloc(owner, owner->client, RM_CLASS_DEVICE, &params,
				     sizeof(params), &ret);
		if (!device)
			continue;
		err = owner_map_by(owner, device, map, fd);
		if (!err || err == -EACCES || err == -ENOENT || card >= 0)
			break;
	}
	return err;
}

/* --- files ---------------------------------------------------------------- */

/*
 * Map the memory by @file. The driver looks for the file in the thread's fd table; the file has
 * left the table when the function returns.
 */
static int owned_map_by(struct owner *owner, int card, const struct rm_map *map, struct file *file)
{
	struct vgpu_fd mapped = { .file = file };
	int ret;

	mapped.fd = vgpu_fdtable_install(file);
	if (mapped.fd < 0)
		return mapped.fd;
	owner->client = owner_alloc(owner, 0, RM_CLASS_CLIENT, NULL, 0, &ret);
	if (!ret)
		ret = owner_map(owner, card, map, mapped.fd);
	vgpu_fdtable_remove(&mapped);
	return ret;
}

static int owned_map_card(struct owner *owner, int card, const struct rm_map *map,
			  struct file *file)
{
	struct vgpu_fd control = { .file = owner->control };
	struct rm_register tie;
	int ret;

	control.fd = vgpu_fdtable_install(owner->control);
	if (control.fd < 0)
		return control.fd;
	tie.control = control.fd;
	ret = owner_ioctl(owner, file, RM_IOCTL_REGISTER, &tie);
	if (!ret)
		ret = owned_map_by(owner, card, map, file);
	vgpu_fdtable_remove(&control);
	return ret;
}

/*
 * Map memory of the system. The program's files of its cards stay in the table until
 * vgpu_owner_done(): the driver looks for one there, and takes all memory away when the last
 * file of a card is closed.
 */
static int owned_map_system(struct vgpuh_call *call, struct owner *owner,
			    const struct rm_map *map)
{
	int ret = vgpu_card_place(call);

	if (!ret)
		ret = owned_map_by(owner, -1, map, owner->control);
	call->owned_client = owner->client;
	return ret;
}

/* Free the client now and not with its file, which may outlive the last file of a card. */
static void owned_free_client(struct vgpuh_call *call, struct file *control)
{
	const struct owner owner = {
		.control = control, .at = call->scratch.addr, .client = call->owned_client,
	};
	struct rm_free args = { .client = owner.client, .object = owner.client };

	if (owner.client)
		owner_ioctl(&owner, control, RM_IOCTL_FREE, &args);
	call->owned_client = 0;
}

static struct file *owned_open(struct vgpuh_call *call, const struct vgpu_owned *owned)
{
	int flags = (call->object->file->f_flags & O_ACCMODE) | O_LARGEFILE;
	int card = vgpu_card_of(call->object), ret;
	struct owner owner = {};
	struct file *file;

	/* The memory has the key of a room that no other call has. */
	ret = vgpuh_call_alloc_scratch(call, OWNED_SIZE);
	if (ret)
		return ERR_PTR(ret);
	owner.at = call->scratch.addr;
	owner.control = dentry_open(&owned->control, card < 0 ? flags : O_RDWR | O_LARGEFILE,
				    current_cred());
	if (IS_ERR(owner.control))
		return owner.control;
	if (card < 0) {
		file = get_file(owner.control);
		ret = owned_map_system(call, &owner, &owned->map);
	} else {
		file = dentry_open(&call->object->file->f_path, flags, current_cred());
		ret = IS_ERR(file) ? 0 : owned_map_card(&owner, card, &owned->map, file);
	}
	if (ret) {
		owned_free_client(call, owner.control);
		fput(file);
		file = ERR_PTR(ret);
	}
	/*
	 * The file of a card holds its control file; for a control file @file is another
	 * reference.
	 */
	fput(owner.control);
	return file;
}

struct file *vgpu_owner_file(struct vgpuh_call *call)
{
	struct vgpu_owned owned;
	struct file *file;

	if (vgpu_card_of(call->object) < 0 && !owned_is_control(call->object))
		return get_file(call->object->file);
	/* The driver returns the same for a file that was told nothing. */
	if (!vgpu_owned_get(call->object, &owned))
		return ERR_PTR(-EINVAL);
	file = owned_open(call, &owned);
	path_put(&owned.control);
	return file;
}

void vgpu_owner_done(struct vgpuh_call *call, struct file *file)
{
	if (!IS_ERR(file))
		owned_free_client(call, file);
	vgpu_card_remove(call);
}
