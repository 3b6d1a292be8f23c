// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fixups: the places of an argument that mean something else on this side. Pointers become
 * addresses of the shadow for the time of the call, and the guest's own again afterwards.
 * Objects become fds, and fds become objects.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "base/trace.h"
#include "call/fences.h"
#include "call/fixup.h"
#include "object/event.h"
#include "object/object.h"
#include "object/poll.h"
#include "segs.h"
#include "session/call.h"
#include "session/fdtable.h"
#include "session/lane.h"

/* --- placing -------------------------------------------------------------- */

static unsigned long fixup_addr(const struct vgpuh_call *call, const struct vgpu_fixup *fixup)
{
	return call->segs[le16_to_cpu(fixup->seg)].addr + le32_to_cpu(fixup->offset);
}

int vgpu_fixup_install(struct vgpuh_call *call, u32 id, struct vgpu_fd *placed)
{
	struct vgpuh_object *object = vgpuh_object_find(call->lane->session->peer, id);

	return object ? vgpu_fdtable_place(object, placed) : -EBADF;
}

static int fixup_place_fd(struct vgpuh_call *call, const struct vgpu_fixup *fixup,
			  struct vgpu_fd *placed)
{
	int fd = vgpu_fixup_install(call, le32_to_cpu(fixup->target), placed);

	if (fd < 0)
		return fd;
	return put_user(fd, (s32 __user *)fixup_addr(call, fixup)) ? -EFAULT : 0;
}

/* Place a time. The guest's clock is another one, so the guest sends a delay from now. */
static int fixup_place_time(struct vgpuh_call *call, const struct vgpu_fixup *fixup)
{
	u64 now = ktime_get_ns();
	u64 delay = min_t(u64, vgpu_fixup_original(&call->view, call->segs, fixup, sizeof(delay)),
			  KTIME_MAX - now);

	return put_user(now + delay, (u64 __user *)fixup_addr(call, fixup));
}

/* Install the eventfd that the lane's thread has brought; from now on it belongs to the call. */
static int fixup_place_event(struct vgpuh_call *call, const struct vgpu_fixup *fixup,
			     struct vgpu_fd *placed)
{
	struct vgpuh_lane *lane = call->lane;
	u32 number = le32_to_cpu(fixup->target);
	int fd, ret;

	if (!lane->event)
		return -ENOMEM;
	ret = vgpuh_event_add(call->object, number, lane->event);
	if (ret)
		return ret;
	call->event = number;
	fd = vgpu_fdtable_install(lane->event);
	if (fd >= 0) {
		placed->fd = fd;
		placed->file = lane->event;
	}
	fput(lane->event);
	lane->event = NULL;
	if (fd < 0)
		return fd;
	return put_user(fd, (s32 __user *)fixup_addr(call, fixup)) ? -EFAULT : 0;
}

void vgpu_fixup_cancel_event(struct vgpuh_call *call)
{
	if (call->event)
		vgpuh_event_cancel(call->object, call->event);
	call->event = 0;
}

static bool fixup_places_fd(const struct vgpuh_call *call)
{
	u32 i;

	for (i = 0; i < vgpu_view_nr_fixups(&call->view); i++) {
		u16 type = le16_to_cpu(call->view.fixups[i].type);

		if (type == VGPU_FIXUP_FD_IN || type == VGPU_FIXUP_EVENT)
			return true;
	}
	return false;
}

int vgpu_fixup_apply(struct vgpuh_call *call)
{
	const struct vgpu_fixup *fixup = call->view.fixups;
	u32 nr = vgpu_view_nr_fixups(&call->view), i;
	int ret = 0;

	if (fixup_places_fd(call)) {
		call->fds.placed = kvcalloc(nr, sizeof(*call->fds.placed), GFP_KERNEL_ACCOUNT);
		if (!call->fds.placed)
			return -ENOMEM;
	}
	for (i = 0; !ret && i < nr; i++, fixup++) {
		switch (le16_to_cpu(fixup->type)) {
		case VGPU_FIXUP_PTR:
			ret = put_user(vgpu_fixup_target(&call->view, call->segs, fixup),
				       (u64 __user *)fixup_addr(call, fixup));
			break;
		case VGPU_FIXUP_PTR32:
			/* PTR32 is for 32-bit programs, whose segments lie below 4 GiB. */
			ret = put_user(vgpu_fixup_target(&call->view, call->segs, fixup),
				       (u32 __user *)fixup_addr(call, fixup));
			break;
		case VGPU_FIXUP_FD_IN:
			ret = fixup_place_fd(call, fixup, &call->fds.placed[i]);
			break;
		case VGPU_FIXUP_TIME:
			ret = fixup_place_time(call, fixup);
			break;
		case VGPU_FIXUP_EVENT:
			ret = fixup_place_event(call, fixup, &call->fds.placed[i]);
			break;
		}
	}
	return ret;
}

/* --- undoing -------------------------------------------------------------- */

void vgpu_fixup_undo_all(struct vgpuh_call *call)
{
	u32 nr = vgpu_view_nr_fixups(&call->view), i;

	for (i = 0; i < nr; i++)
		vgpu_fixup_undo(&call->view, call->segs, call->reply.data, &call->view.fixups[i],
				call->fds.placed ? call->fds.placed[i].fd : -1);
}

void vgpu_fixup_remove_fds(struct vgpuh_call *call)
{
	u32 nr = vgpu_view_nr_fixups(&call->view), i;

	if (call->fds.arg.file)
		vgpu_fdtable_remove(&call->fds.arg);
	if (!call->fds.placed)
		return;
	for (i = 0; i < nr; i++)
		if (call->fds.placed[i].file)
			vgpu_fdtable_remove(&call->fds.placed[i]);
	kvfree(call->fds.placed);
	call->fds.placed = NULL;
}

/* --- fds ------------------------------------------------------------------ */

static struct vgpu_fd *fds_find(struct vgpuh_call *call, int fd)
{
	u32 i;

	for (i = 0; i < call->fds.nr_left; i++)
		if (call->fds.left[i].file && call->fds.left[i].fd == fd)
			return &call->fds.left[i];
	return NULL;
}

/* Turn the file of @fd into an object of the reply. */
static int fds_give(struct vgpuh_call *call, struct vgpu_fd *fd, u32 index)
{
	struct vgpu_object_desc *desc = &call->reply.objects[call->reply.nr_objects];
	struct inode *inode = file_inode(call->object->file);
	struct vgpu_peer *peer = call->lane->session->peer;
	struct file *file = fd->file;
	struct vgpuh_object *object;
	struct vgpu_grant *grant;
	u32 reference;
	bool same;

	fd->file = NULL;
	/*
	 * A device file that the driver has opened (a DRM lease) gets the grant of the call's
	 * object. Any other file has no grant: its ioctls are checked by the lists of the
	 * origin's policy.
	 */
	grant = S_ISCHR(file_inode(file)->i_mode) ? call->object->grant : NULL;
	same = grant && S_ISCHR(inode->i_mode) && inode->i_rdev == file_inode(file)->i_rdev;
	object = vgpuh_object_take(peer, file, grant, call->object->origin, &reference);
	if (IS_ERR(object))
		return PTR_ERR(object);
	/*
	 * The driver of the new file may share locks with the call's driver, so it must not wait
	 * for pages, either.
	 */
	if (READ_ONCE(call->object->no_demand))
		WRITE_ONCE(object->no_demand, true);
	vgpuh_object_describe(object, reference, desc);
	if (object->kind == VGPU_OBJECT_SYNC_FILE && call->fences)
		vgpuh_fences_add_sync_file(call->fences, object->file);
	if (object->kind == VGPU_OBJECT_SYNC_FILE &&
	    (le16_to_cpu(call->view.call->flags) & VGPU_CALL_WATCH))
		desc->flags |= cpu_to_le32(vgpu_poll_watch(object));
	vgpuh_object_put(object);
	if (same)
		desc->flags |= cpu_to_le32(VGPU_OBJECT_SAME_DEVICE);
	if (fd->cloexec)
		desc->flags |= cpu_to_le32(VGPU_OBJECT_CLOEXEC);
	desc->fixup = cpu_to_le32(index);
	call->reply.nr_objects++;
	return 0;
}

/* Give the guest the files of FD_OUT and FD_RET fixups, after success. */
static int fds_answer(struct vgpuh_call *call, s64 *result)
{
	const struct vgpu_fixup *fixups = call->view.fixups;
	u32 nr = vgpu_view_nr_fixups(&call->view), i;
	int ret = 0;

	for (i = 0; !ret && i < nr; i++) {
		const struct vgpu_fixup *fixup = &fixups[i];
		struct vgpu_fd *fd;
		void *field;
		s32 value;

		switch (le16_to_cpu(fixup->type)) {
		case VGPU_FIXUP_FD_OUT:
			field = vgpu_fixup_reply(&call->view, call->segs, call->reply.data, fixup);
			memcpy(&value, field, sizeof(value));
			fd = fds_find(call, value);
			if (!fd)
				break;
			/*
			 * The guest fills in its own number; the host's number does not concern
			 * it.
			 */
			value = -1;
			memcpy(field, &value, sizeof(value));
			ret = fds_give(call, fd, i);
			break;
		case VGPU_FIXUP_FD_RET:
			fd = fds_find(call, *result);
			if (!fd)
				break;
			*result = 0;
			ret = fds_give(call, fd, i);
			break;
		}
	}
	return ret;
}

s64 vgpu_fixup_settle_fds(struct vgpuh_call *call, s64 result)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	unsigned int nr, i, strays = 0;
	int ret = 0;

	nr = vgpu_fdtable_take(call->lane->file, call->fds.left, VGPU_FDS_MAX);
	if (!nr)
		return result;
	call->fds.nr_left = min_t(unsigned int, nr, VGPU_FDS_MAX);
	if (nr > READ_ONCE(peer->limits.fds_per_call))
		ret = -EMFILE;
	else if (result >= 0)
		ret = fds_answer(call, &result);
	for (i = 0; i < call->fds.nr_left; i++) {
		if (!call->fds.left[i].file)
			continue;
		fput(call->fds.left[i].file);
		strays++;
	}
	if (!ret && strays) {
		atomic64_add(strays, &peer->counters.stray_fds);
		trace_vgpu_host_stray_fd(peer->id, le32_to_cpu(call->view.call->args.ioctl.cmd),
					 strays);
		call->reply.flags |= VGPU_REPLY_STRAY_FD;
		ret = -EOPNOTSUPP;
	}
	if (!ret)
		return result;
	/* The reply has no bytes: they would contain the numbers of files that are closed here. */
	vgpuh_call_take_back(call);
	return vgpuh_call_refuse(call, ret);
}
