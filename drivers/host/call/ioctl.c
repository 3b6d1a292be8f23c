// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctl: places the argument's segments in memory of the shadow, calls the driver and gathers
 * what the driver left there. The meaning of the segments is not known here; fixup.c translates
 * pointers and fds in them.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "base/caller.h"
#include "base/trace.h"
#include "call/fixup.h"
#include "call/ioctl.h"
#include "memory/kept.h"
#include "memory/mapping.h"
#include "memory/owner.h"
#include "memory/page.h"
#include "nvidia_ioctls.h"
#include "nvidia_rm.h"
#include "nvidia_rules.h"
#include "object/event.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/grant.h"
#include "plant.h"
#include "policy.h"
#include "segs.h"
#include "session/call.h"
#include "session/card.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"
#include "wire.h"

/*
 * Greatest time between two readings that count as one, and number of attempts to stay within
 * it.
 */
#define IOCTL_CLOCKS_NS		20000
#define IOCTL_CLOCKS_TRIES	4

/* Major number of drm.h. The number never changes, so this file does not include drm.h. */
#define IOCTL_DRM_MAJOR		226

/* --- segments ------------------------------------------------------------- */

/*
 * Map @len zeroed bytes at @addr as memory for the arguments. The range is below 4 GiB, and the
 * guest keeps it free for the call.
 */
static int ioctl_map_low(struct vgpuh_call *call, u64 addr, size_t len)
{
	int ret;

	len = PAGE_ALIGN(len);
	ret = vgpu_room_take(call);
	if (ret)
		return ret;
	if (!vgpuh_session_charge(call->lane->session, len))
		return -ENOMEM;
	ret = vgpuh_mapping_place(call, addr, len);
	if (ret) {
		vgpuh_session_uncharge(call->lane->session, len);
		return ret;
	}
	call->scratch.addr = addr;
	call->scratch.len = len;
	call->scratch.low = true;
	return 0;
}

static int ioctl_alloc_scratch(struct vgpuh_call *call, size_t size)
{
	const struct vgpu_args_ioctl *args = &call->view.call->args.ioctl;

	/* The codec has checked that the memory at args->low is as long as @size: */
	BUILD_BUG_ON(VGPU_SEGS_SLACK + VGPU_SEGS_ALIGN > VGPU_LOW_BYTES(1, 0));
	if (vgpuh_call_is_compat(call))
		return ioctl_map_low(call, le64_to_cpu(args->low), size);
	return vgpuh_call_alloc_scratch(call, size);
}

/* Choose a place for each segment, and copy its bytes there. */
static int ioctl_place_segs(struct vgpuh_call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), i;
	size_t size;
	int ret;

	call->segs = call->segs_small;
	if (nr > VGPU_SEGS_SMALL) {
		call->segs = kvmalloc_array(nr - vgpu_planted(VGPU_PLANT_SEGS),
					    sizeof(*call->segs), GFP_KERNEL_ACCOUNT);
		if (!call->segs)
			return -ENOMEM;
	}
	size = vgpu_segs_place(&call->view, call->segs);
	if (!size)
		return 0;
	ret = ioctl_alloc_scratch(call, size);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		struct vgpu_seg_place *place = &call->segs[i];

		place->addr += call->scratch.addr;
		if (vgpu_seg_is(call, i, VGPU_SEG_IN) &&
		    !vgpu_seg_is(call, i, VGPU_SEG_PAGE | VGPU_SEG_KEPT) &&
		    copy_to_user((void __user *)place->addr, call->view.data + place->in,
				 vgpu_seg_len(call, i)))
			return -EFAULT;
	}
	return 0;
}

static void ioctl_store_pages(struct vgpuh_call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), pos, i;

	for (i = 0; i < nr; i++) {
		if (!vgpu_seg_is(call, i, VGPU_SEG_PAGE))
			continue;
		for (pos = 0; pos < vgpu_seg_len(call, i); pos += PAGE_SIZE)
			vgpuh_page_store(call->lane, le64_to_cpu(call->view.segs[i].addr) + pos,
					 call->view.data + call->segs[i].in + pos);
	}
}

/* --- the call ------------------------------------------------------------- */

/* Copy the bytes of the OUT segments, as the driver left them, into the reply. */
static int ioctl_gather(struct vgpuh_call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), i;

	for (i = 0; i < nr; i++) {
		u8 *to = call->reply.data + call->segs[i].out;
		u32 len = vgpu_seg_len(call, i);

		if (!vgpu_seg_is(call, i, VGPU_SEG_OUT))
			continue;
		if (copy_from_user(to, (void __user *)call->segs[i].addr, len))
			return -EFAULT;
		memset(to + len, 0, vgpu_wire_pad(len) - len);
	}
	call->reply.data_len = call->view.reply_bytes;
	return 0;
}

/*
 * Count and trace that @cmd, or the ioctl that it wraps, is denied to guests. @what: the denied
 * part of the argument; 0: the ioctl as such.
 */
static void ioctl_tell_denied(const struct vgpuh_call *call, u32 cmd, u32 key, u32 what)
{
	vgpu_denial_count(&call->object->grant->denials, key, what, false);
	trace_vgpu_host_denied(call->lane->session->peer->id, cmd,
			       vgpuh_object_is_nvidia(call->object) ? vgpu_nvidia_name(key) : NULL,
			       what);
}

/*
 * Check that the shadow is the first process of a pid namespace of its own. vgpud starts shadows
 * so by default.
 */
static bool shadow_is_alone(void)
{
	return task_active_pid_ns(current) != &init_pid_ns && task_tgid_vnr(current) == 1;
}

/* Judge the parameters of a request. A request whose parameters are elsewhere is denied. */
static enum vgpu_nvidia_verdict ioctl_judge_params(const struct vgpuh_call *call,
						   struct vgpu_nvidia_look *look)
{
	enum vgpu_nvidia_verdict verdict;
	u8 *params;

	if (!vgpu_segs_hold(&call->view, call->segs, look->params, look->params_len))
		return VGPU_NVIDIA_DENY;
	params = memdup_user((void __user *)(unsigned long)look->params, look->params_len);
	if (IS_ERR(params))
		return VGPU_NVIDIA_DENY;
	verdict = vgpu_nvidia_judge_params(look, params);
	kfree(params);
	return verdict;
}

/* Answer a denied request in place of NVIDIA's driver. Return: 1 or -EFAULT. */
static int ioctl_deny(struct vgpuh_call *call, u32 cmd, const struct vgpu_nvidia_look *look)
{
	atomic64_inc(&call->lane->session->peer->counters.refused);
	ioctl_tell_denied(call, cmd, VGPU_NVIDIA_RM_KEY(look->nr), look->what);
	return put_user(VGPU_NVIDIA_DENIED,
			(u32 __user *)(unsigned long)(look->addr + look->status)) ? -EFAULT : 1;
}

/*
 * Check what an ioctl asks of NVIDIA's driver. The request is in the argument, and is read
 * where the driver will read it. @look: out: @change, if something is changed for the driver;
 * @named, if the driver is to be asked about a client.
 * Return: 0, -EFAULT, -EACCES, or 1: the driver is not called, and the argument says so.
 */
static int ioctl_judge_nvidia(struct vgpuh_call *call, u32 cmd, u64 arg,
			      struct vgpu_nvidia_look *look)
{
	struct vgpu_grant *grant = call->object->grant;
	enum vgpu_policy_verdict listed;
	enum vgpu_nvidia_verdict verdict;
	u8 bytes[VGPU_NVIDIA_LOOK_MAX];

	if (!grant || grant->policy.kind != VGPU_EXPORT_NVIDIA)
		return 0;
	verdict = vgpu_nvidia_begin(look, cmd, arg);
	while (verdict == VGPU_NVIDIA_LOOK) {
		if (!vgpu_segs_hold(&call->view, call->segs, look->addr, look->len) ||
		    copy_from_user(bytes, (void __user *)(unsigned long)look->addr,
				   min_t(u32, look->len, sizeof(bytes))))
			return -EFAULT;
		verdict = vgpu_nvidia_judge(look, bytes);
	}
	listed = vgpu_policy_nvidia(&grant->policy, cmd, look->nr);
	if (listed == VGPU_POLICY_DENY) {
		ioctl_tell_denied(call, cmd, VGPU_NVIDIA_RM_KEY(look->nr), 0);
		return -EACCES;
	}
	if (listed == VGPU_POLICY_AUDIT)
		vgpu_denial_count(&grant->denials, VGPU_NVIDIA_RM_KEY(look->nr), 0, true);
	if (verdict == VGPU_NVIDIA_ALONE)
		verdict = shadow_is_alone() ? VGPU_NVIDIA_PASS : VGPU_NVIDIA_DENY;
	if (verdict == VGPU_NVIDIA_PARAMS)
		verdict = ioctl_judge_params(call, look);
	if (verdict == VGPU_NVIDIA_CHANGE)
		return put_user(look->to, (u32 __user *)(unsigned long)look->change);
	return verdict == VGPU_NVIDIA_DENY ? ioctl_deny(call, cmd, look) : 0;
}

/*
 * Set VGPU_NVIDIA_UVM_SHARED in the driver's argument. @place: out: address of the field in which
 * the reply must not have the flag; unchanged if the guest has set the flag.
 * Return: 0 or -EFAULT.
 */
static int ioctl_set_shared(struct vgpuh_call *call, u32 cmd, unsigned long arg,
			    __le64 __user **place)
{
	const struct vgpu_grant *grant = call->object->grant;
	__le64 flags;

	if (!grant || grant->policy.kind != VGPU_EXPORT_NVIDIA || cmd != VGPU_NVIDIA_UVM_INIT)
		return 0;
	if (!vgpu_segs_hold(&call->view, call->segs, arg, sizeof(flags)) ||
	    copy_from_user(&flags, (void __user *)arg, sizeof(flags)))
		return -EFAULT;
	if (flags & cpu_to_le64(VGPU_NVIDIA_UVM_SHARED))
		return 0;
	*place = (__le64 __user *)arg;
	flags |= cpu_to_le64(VGPU_NVIDIA_UVM_SHARED);
	return copy_to_user(*place, &flags, sizeof(flags)) ? -EFAULT : 0;
}

static int ioctl_hide_shared(__le64 __user *place)
{
	__le64 flags;

	if (copy_from_user(&flags, place, sizeof(flags)))
		return -EFAULT;
	flags &= cpu_to_le64(~VGPU_NVIDIA_UVM_SHARED);
	return copy_to_user(place, &flags, sizeof(flags)) ? -EFAULT : 0;
}

/* Check an ioctl of a file that is no device, but came from an export by other calls. */
static bool ioctl_allowed_derived(struct vgpu_grant *origin, u32 cmd)
{
	enum vgpu_policy_verdict verdict = vgpu_policy_derived(&origin->policy, cmd);

	if (verdict != VGPU_POLICY_PASS)
		vgpu_denial_count(&origin->denials, vgpu_ioctl_key(cmd), 0,
				  verdict == VGPU_POLICY_AUDIT);
	return verdict != VGPU_POLICY_DENY;
}

static bool ioctl_allowed(const struct vgpuh_call *call, u32 cmd)
{
	struct vgpu_grant *origin = call->object->origin;
	struct vgpu_grant *grant = call->object->grant;
	enum vgpu_policy_verdict verdict;
	u32 key;

	if (!grant)
		return !origin || ioctl_allowed_derived(origin, cmd);
	verdict = vgpu_policy_ioctl(&grant->policy, cmd);
	if (verdict == VGPU_POLICY_PASS)
		return true;
	key = vgpu_policy_ioctl_key(&grant->policy, cmd);
	if (verdict == VGPU_POLICY_AUDIT)
		vgpu_denial_count(&grant->denials, key, 0, true);
	else
		ioctl_tell_denied(call, cmd, key, 0);
	return verdict == VGPU_POLICY_AUDIT;
}

/*
 * Check the ioctl and place its argument. @look: out: see ioctl_judge_nvidia().
 * Return: 0; a negative errno: the host refuses the ioctl; or 1: the driver need not be called.
 */
static int ioctl_prepare(struct vgpuh_call *call, u32 cmd, unsigned long *arg,
			 struct vgpu_nvidia_look *look)
{
	const struct vgpu_args_ioctl *args = &call->view.call->args.ioctl;
	struct file *file = call->object->file;
	int ret;

	if (vgpuh_call_is_compat(call) && !VGPU_CALLER_COMPAT)
		return -EOPNOTSUPP;
	if (!ioctl_allowed(call, cmd))
		return -EACCES;
	if (vgpuh_call_is_compat(call) ? !file->f_op->compat_ioctl : !file->f_op->unlocked_ioctl)
		return -ENOTTY;
	ret = ioctl_place_segs(call);
	if (!ret)
		ret = vgpuh_call_alloc_data(call, call->view.reply_bytes);
	if (!ret)
		ret = vgpu_fixup_apply(call);
	if (ret)
		return ret;
	switch (le32_to_cpu(args->arg_kind)) {
	case VGPU_IOCTL_ARG_SEG:
		*arg = call->segs[0].addr;
		break;
	case VGPU_IOCTL_ARG_FD:
		ret = vgpu_fixup_install(call, le64_to_cpu(args->arg), &call->fds.arg);
		if (ret < 0)
			return ret;
		*arg = ret;
		break;
	default:
		*arg = le64_to_cpu(args->arg);
	}
	ret = security_file_ioctl(file, cmd, *arg);
	return ret ? ret : ioctl_judge_nvidia(call, cmd, *arg, look);
}

/*
 * Check whether the driver is called with CAP_SYS_ADMIN. A shadow has no capabilities. DRM
 * needs CAP_SYS_ADMIN to make a file master that was not master before, or that another process
 * opened: so compositors take over from a splash screen, and logind works that way. An export
 * whose guests may become master lends the capability to those guest processes that have it in
 * the guest, for these two ioctls only. They take no argument and access no memory of the
 * shadow. The guest's flag only restricts what the export allows.
 */
static bool ioctl_lends_admin(const struct vgpuh_call *call, u32 cmd)
{
	const struct vgpu_grant *grant = call->object->grant;
	const struct inode *inode = file_inode(call->object->file);

	return (cmd == VGPU_DRM_SET_MASTER || cmd == VGPU_DRM_DROP_MASTER) &&
		(le16_to_cpu(call->view.call->flags) & VGPU_CALL_ADMIN) &&
		grant && grant->export->kind == VGPU_EXPORT_DRM_PRIMARY &&
		(grant->export->flags & VGPU_HOST_EXPORT_MASTER) && grant->export->admin &&
		S_ISCHR(inode->i_mode) && MAJOR(inode->i_rdev) == IOCTL_DRM_MAJOR;
}

/* Return the thread's credentials with CAP_SYS_ADMIN added, or NULL if there is no memory. */
static struct cred *ioctl_admin_cred(void)
{
	struct cred *cred = prepare_creds();

	if (cred)
		cap_raise(cred->cap_effective, CAP_SYS_ADMIN);
	return cred;
}

static s64 ioctl_driver(struct vgpuh_call *call, u32 cmd, unsigned long arg)
{
	struct file *file = call->object->file;
	s64 result;

	vgpu_caller_begin(vgpuh_call_is_compat(call));
	if (vgpuh_call_is_compat(call))
		result = file->f_op->compat_ioctl(file, cmd, arg);
	else
		result = file->f_op->unlocked_ioctl(file, cmd, arg);
	vgpu_caller_end();
	return result == -ENOIOCTLCMD ? -ENOTTY : result;
}

/*
 * Read the clocks. MONOTONIC_RAW is read between two readings of MONOTONIC, and again if the
 * thread lost its processor in between.
 */
static void ioctl_tell_clocks(struct vgpuh_call *call)
{
	unsigned int tries = 0;
	u64 before, raw, after;

	do {
		before = ktime_get_ns();
		raw = ktime_get_raw_ns();
		after = ktime_get_ns();
	} while (after - before > IOCTL_CLOCKS_NS && ++tries < IOCTL_CLOCKS_TRIES);
	call->reply.out.ioctl.raw = cpu_to_le64(raw - before);
	call->reply.out.ioctl.realtime = cpu_to_le64(ktime_mono_to_real(before) - before);
	call->reply.out.ioctl.tsc = cpu_to_le64(call->tsc_in);
}

/*
 * Add the events that the object is ready for to the reply, if its ->poll() takes no event away
 * and it is armed for all events.
 */
static void ioctl_tell_ready(struct vgpuh_call *call)
{
	u32 number = le32_to_cpu(call->view.call->args.ioctl.number), revents;

	if (!vgpu_poll_ask(call->object, number, &revents))
		return;
	call->reply.out.ioctl.revents = cpu_to_le32(revents);
	call->reply.out.ioctl.flags = cpu_to_le32(VGPU_POLL_ANSWER);
}

s64 vgpu_ioctl_run(struct vgpuh_call *call)
{
	u32 cmd = le32_to_cpu(call->view.call->args.ioctl.cmd);
	const struct cred *own = NULL;
	struct cred *admin = NULL;
	__le64 __user *shared = NULL;
	struct vgpu_nvidia_look look = {};
	unsigned long arg;
	s64 result;
	int ret;

	ret = ioctl_prepare(call, cmd, &arg, &look);
	if (!ret)
		ret = ioctl_set_shared(call, cmd, arg, &shared);
	if (!ret)
		ret = vgpu_card_place(call);
	if (!ret)
		ret = vgpu_kept_show(call);
	if (!ret && ioctl_lends_admin(call, cmd)) {
		admin = ioctl_admin_cred();
		ret = admin ? 0 : -ENOMEM;
	}
	if (ret < 0) {
		vgpu_kept_hide(call);
		vgpu_card_remove(call);
		vgpu_fixup_remove_fds(call);
		vgpu_fixup_cancel_event(call);
		return vgpuh_call_refuse(call, ret);
	}
	if (!ret)
		ioctl_store_pages(call);
	/* Ask last: the guest could free the client, and another guest's could get its handle. */
	if (!ret && look.named && !vgpu_owner_has(call, look.named, look.addr))
		ret = ioctl_deny(call, cmd, &look);
	if (admin)
		own = override_creds(admin);
	result = ret ? 0 : ioctl_driver(call, cmd, arg);
	if (!ret && !result)
		vgpu_owner_learn(call, cmd, arg);
	vgpu_kept_hide(call);
	vgpu_card_remove(call);
	if (admin) {
		revert_creds(own);
		put_cred(admin);
	}

	/*
	 * OUT segments go back even after an error: many drivers copy their argument out in any
	 * case.
	 */
	ret = shared ? ioctl_hide_shared(shared) : min(ret, 0);
	if (!ret && look.change)
		ret = put_user(look.from, (u32 __user *)(unsigned long)look.change);
	if (!ret)
		ret = ioctl_gather(call);
	if (!ret)
		vgpu_fixup_undo_all(call);
	vgpu_fixup_remove_fds(call);
	result = vgpu_fixup_settle_fds(call, result);
	if (result < 0 || ret)
		vgpu_fixup_cancel_event(call);
	vgpuh_event_settle(call->object, call->event);
	if (ret) {
		vgpuh_call_take_back(call);
		return vgpuh_call_refuse(call, ret);
	}
	ioctl_tell_ready(call);
	if (le16_to_cpu(call->view.call->flags) & VGPU_CALL_CLOCKS)
		ioctl_tell_clocks(call);
	return result;
}
