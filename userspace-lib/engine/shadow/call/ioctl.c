// SPDX-License-Identifier: MIT
/*
 * ioctl: copies the argument's segments to memory of the shadow, calls the driver, and gathers
 * the results there. Pointers and fds in the segments are translated by the rules of segs.h.
 */
#include <linux/errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/time.h>
#include <asm/ioctls.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/denial.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/fixup.h"
#include "engine/shadow/call/ioctl.h"
#include "engine/shadow/call/kept.h"
#include "engine/shadow/call/nvidia.h"
#include "engine/shadow/call/room.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/memory/demand.h"
#include "engine/shadow/memory/place.h"
#include "nvidia_rules.h"

/*
 * Longest time in nanoseconds between two clock readings that count as simultaneous, and number of
 * attempts to be as fast.
 */
#define CLOCKS_NS	20000
#define CLOCKS_TRIES	4

/* Numbers of V4L2's ioctls, whose header needs a libc. */
#define VIDEO_REQBUFS_NR	8
#define VIDEO_REMOVE_BUFS_NR	104

/* --- segments ----------------------------------------------------------------- */

static int alloc_scratch(struct call *call, u64 size)
{
	const struct vgpu_args_ioctl *args = &call->view.call->args.ioctl;
	int ret;

	_Static_assert(VGPU_SEGS_SLACK + VGPU_SEGS_ALIGN <= 96, "the codec's idea of the room");
	if (!call_is_compat(call))
		return call_alloc_scratch(call, size);
	size = (size + PAGE_SIZE - 1) & PAGE_MASK;
	ret = room_take(call);
	if (ret)
		return ret;
	if (!budget_charge(size))
		return -ENOMEM;
	ret = mapping_place(le64_to_cpu(args->low), size, call->room->key);
	if (ret) {
		budget_return(size);
		return ret;
	}
	call->scratch.addr = le64_to_cpu(args->low);
	call->scratch.len = size;
	call->scratch.low = true;
	return 0;
}

/* Finds a place for each segment, and copies IN segments there. */
static int place_segs(struct call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), i;
	u64 size;
	int ret;

	call->segs = call->segs_small;
	if (nr > SEGS_SMALL) {
		call->segs = memory_get(nr * sizeof(*call->segs));
		if (!call->segs)
			return -ENOMEM;
	}
	size = vgpu_segs_place(&call->view, call->segs);
	if (!size)
		return 0;
	ret = alloc_scratch(call, size);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		struct vgpu_seg_place *place = &call->segs[i];

		place->addr += call->scratch.addr;
		if (vgpu_view_seg_is(&call->view, i, VGPU_SEG_IN) &&
		    !vgpu_view_seg_is(&call->view, i, VGPU_SEG_PAGE | VGPU_SEG_KEPT))
			memcpy((void *)place->addr, call->view.data + place->in,
			       vgpu_view_seg_len(&call->view, i));
	}
	return 0;
}

static void store_pages(struct call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), pos, i;

	for (i = 0; i < nr; i++) {
		if (!vgpu_view_seg_is(&call->view, i, VGPU_SEG_PAGE))
			continue;
		for (pos = 0; pos < vgpu_view_seg_len(&call->view, i); pos += PAGE_SIZE)
			demand_store(le64_to_cpu(call->view.segs[i].addr) + pos,
				     call->view.data + call->segs[i].in + pos);
	}
}

/* Copies the bytes of OUT segments, as the driver left them, to the reply. */
static void gather(struct call *call)
{
	u32 nr = vgpu_view_nr_segs(&call->view), i;

	for (i = 0; i < nr; i++) {
		u8 *to = call->reply.data + call->segs[i].out;
		u32 len = vgpu_view_seg_len(&call->view, i);

		if (!vgpu_view_seg_is(&call->view, i, VGPU_SEG_OUT))
			continue;
		memcpy(to, (void *)call->segs[i].addr, len);
		memset(to + len, 0, vgpu_wire_pad(len) - len);
	}
	call->reply.data_len = call->view.reply_bytes;
}

/* --- the call ------------------------------------------------------------------- */

/*
 * Return: true if the VFS handles the command itself, without the driver. The guest's VFS does so
 * as well, so no honest guest sends such a command.
 */
static bool is_of_vfs(u32 cmd)
{
	switch (cmd) {
	case FIOCLEX:
	case FIONCLEX:
	case FIONBIO:
	case FIOASYNC:
	case FIOQSIZE:
	case FIFREEZE:
	case FITHAW:
	case FS_IOC_FIEMAP:
	case FIGETBSZ:
	case FICLONE:
	case FICLONERANGE:
	case FIDEDUPERANGE:
		return true;
	default:
		return false;
	}
}

/* Judges the parameters of a request. A request whose parameters are elsewhere is denied. */
static enum vgpu_nvidia_verdict judge_params(const struct call *call, struct vgpu_nvidia_look *look)
{
	u8 params[VGPU_NVIDIA_PARAMS_MAX];

	if (!vgpu_segs_hold(&call->view, call->segs, look->params, look->params_len))
		return VGPU_NVIDIA_DENY;
	memcpy(params, (const void *)look->params, look->params_len);
	return vgpu_nvidia_judge_params(look, params);
}

/* Answers a denied request in place of NVIDIA's driver. Return: the ioctl's result. */
static s64 deny(const struct call *call, const struct vgpu_nvidia_look *look)
{
	const u32 denied = VGPU_NVIDIA_DENIED;

	denial_count(call->file->origin, VGPU_NVIDIA_RM_KEY(look->nr), look->what, false);
	count(&counters->refused, 1);
	memcpy((void *)(look->addr + look->status), &denied, sizeof(denied));
	return 0;
}

/*
 * Checks a request to NVIDIA's driver, by the argument's bytes at the place where the driver will
 * read them. Return: 0; -EFAULT: the argument is not in the call's segments; -EACCES: the policy
 * forbids the request; or 1: the driver must not be called, and the status in the argument says so.
 * @look: filled in, if the file is of NVIDIA's driver
 */
static int judge_nvidia(struct call *call, u32 cmd, u64 arg, struct vgpu_nvidia_look *look)
{
	enum vgpu_nvidia_verdict verdict;
	const u32 export = call->file->origin;
	enum vgpu_policy_verdict listed;
	u8 bytes[VGPU_NVIDIA_LOOK_MAX];

	if (call->file->policy.kind != VGPU_EXPORT_NVIDIA)
		return 0;
	verdict = vgpu_nvidia_begin(look, cmd, arg);
	while (verdict == VGPU_NVIDIA_LOOK) {
		if (!vgpu_segs_hold(&call->view, call->segs, look->addr, look->len))
			return -EFAULT;
		/*
		 * Copy once: without protection keys another lane's call may change the argument
		 * while it is judged, and afterwards.
		 */
		memcpy(bytes, (const void *)look->addr,
		       look->len < sizeof(bytes) ? look->len : sizeof(bytes));
		verdict = vgpu_nvidia_judge(look, bytes);
	}
	listed = vgpu_policy_nvidia(&call->file->policy, cmd, look->nr);
	if (listed != VGPU_POLICY_PASS)
		denial_count(export, VGPU_NVIDIA_RM_KEY(look->nr), 0, listed == VGPU_POLICY_AUDIT);
	if (listed == VGPU_POLICY_DENY)
		return -EACCES;
	/*
	 * Let the request through only in a pid namespace of the shadow's own, where the shadow is
	 * process 1. vgpud makes one unless its settings forbid that.
	 */
	if (verdict == VGPU_NVIDIA_ALONE)
		verdict = sys2(__NR_getpid, 0, 0) == 1 ? VGPU_NVIDIA_PASS : VGPU_NVIDIA_DENY;
	if (verdict == VGPU_NVIDIA_PARAMS)
		verdict = judge_params(call, look);
	if (verdict == VGPU_NVIDIA_CHANGE)
		memcpy((void *)look->change, &look->to, sizeof(look->to));
	if (verdict != VGPU_NVIDIA_DENY)
		return nvidia_is_deferred(call, look) ? 1 : 0;
	deny(call, look);
	return 1;
}

/*
 * Sets VGPU_NVIDIA_UVM_SHARED in the ioctl's argument (drivers/common/nvidia_rules.h tells why).
 * @place: set to the address of the argument's flags if the flag must be cleared again for the
 * guest. Return: 0, or -EFAULT.
 */
static int set_shared(struct call *call, u32 cmd, u64 arg, __le64 **place)
{
	const __le64 shared_flag = cpu_to_le64(VGPU_NVIDIA_UVM_SHARED);

	if (call->file->policy.kind != VGPU_EXPORT_NVIDIA || cmd != VGPU_NVIDIA_UVM_INIT)
		return 0;
	if (!vgpu_segs_hold(&call->view, call->segs, arg, sizeof(shared_flag)))
		return -EFAULT;
	if (!(*(__le64 *)arg & shared_flag)) {
		*place = (__le64 *)arg;
		**place |= shared_flag;
	}
	return 0;
}

/* Return: true if the policy lets the ioctl through. An ioctl that the list denies is counted. */
static bool is_allowed(const struct file_entry *file, u32 cmd)
{
	enum vgpu_policy_verdict verdict = vgpu_policy_ioctl(&file->policy, cmd);

	if (verdict != VGPU_POLICY_PASS)
		denial_count(file->origin, vgpu_policy_ioctl_key(&file->policy, cmd), 0,
			     verdict == VGPU_POLICY_AUDIT);
	return verdict != VGPU_POLICY_DENY;
}

/*
 * Prepares the ioctl. Return: 0; a negative errno: the host refuses the call; or 1: the driver is
 * not to be asked.
 */
static int prepare(struct call *call, u32 cmd, u64 *arg, __le64 **shared_flags,
		   struct vgpu_nvidia_look *look)
{
	const struct vgpu_args_ioctl *args = &call->view.call->args.ioctl;
	int ret;

	if (!is_allowed(call->file, cmd))
		return -EACCES;
	if (is_of_vfs(cmd))
		return -ENOTTY;
	ret = place_segs(call);
	if (!ret)
		ret = call_alloc_data(call, call->view.reply_bytes);
	if (!ret)
		ret = fixups_place(call);
	if (ret)
		return ret;
	switch (le32_to_cpu(args->arg_kind)) {
	case VGPU_IOCTL_ARG_SEG:
		*arg = call->segs[0].addr;
		break;
	case VGPU_IOCTL_ARG_FD:
		ret = file_find(call->lane, le64_to_cpu(args->arg), &call->arg_file);
		if (ret)
			return ret;
		*arg = call->arg_file->fd;
		break;
	default:
		*arg = le64_to_cpu(args->arg);
	}
	ret = judge_nvidia(call, cmd, *arg, look);
	if (!ret)
		ret = set_shared(call, cmd, *arg, shared_flags);
	return ret ?: kept_show(call);
}

static u64 clock_ns(int clock)
{
	struct __kernel_timespec now;

	sys2(__NR_clock_gettime, clock, (long)&now);
	return now.tv_sec * (u64)NSEC_PER_SEC + now.tv_nsec;
}

/* Return: by how much a clock is ahead of CLOCK_MONOTONIC, which is read before and after it. */
static u64 clock_ahead(int clock)
{
	unsigned int tries = 0;
	u64 before, other, after;

	do {
		before = now_ns();
		other = clock_ns(clock);
		after = now_ns();
	} while (after - before > CLOCKS_NS && ++tries < CLOCKS_TRIES);
	return other - before;
}

/*
 * Lets the engine make an ioctl that needs CAP_SYS_ADMIN, if the program has that in the guest
 * and the driver has refused the shadow. The engine asks a process that has the capability, with
 * the same file.
 */
static s64 by_admin(struct call *call, u32 cmd, s64 result)
{
	if (result != -EACCES || (cmd != MASTER_SET && cmd != MASTER_DROP) ||
	    !(le16_to_cpu(call->view.call->flags) & VGPU_CALL_ADMIN) ||
	    call->file->policy.kind != VGPU_EXPORT_DRM_PRIMARY || !call->file->policy.master)
		return result;
	return channel_ask_for(call->lane, ESHADOW_MASTER, le32_to_cpu(call->view.call->object),
			       cmd, 0);
}

/*
 * Stops the engine's polls before calls that take buffers away, which are V4L2's REQBUFS and
 * REMOVE_BUFS: the engine must not poll a node without buffers.
 */
static void quiet(struct call *call, u32 cmd)
{
	if (vgpu_export_is_video(call->file->policy.kind) && _IOC_TYPE(cmd) == 'V' &&
	    (_IOC_NR(cmd) == VIDEO_REQBUFS_NR || _IOC_NR(cmd) == VIDEO_REMOVE_BUFS_NR))
		channel_ask_for(call->lane, ESHADOW_QUIET, le32_to_cpu(call->view.call->object),
				0, 0);
}

s64 ioctl_run(struct call *call)
{
	u32 cmd = le32_to_cpu(call->view.call->args.ioctl.cmd);
	struct vgpu_nvidia_look look = {};
	__le64 *shared_flags = NULL;
	u32 owner = 0;
	s64 result;
	u64 arg;
	int ret;

	ret = prepare(call, cmd, &arg, &shared_flags, &look);
	if (ret < 0) {
		fixups_remove(call);
		fixups_cancel_event(call);
		return call_refuse(call, ret);
	}
	if (ret) {
		result = 0;
	} else {
		quiet(call, cmd);
		owner = nvidia_owner(call, cmd);
		store_pages(call);
		/*
		 * Ask last: the guest could free the client, and another guest's could get its
		 * handle.
		 */
		if (look.named && !nvidia_has_client(call, &look))
			result = deny(call, &look);
		else
			result = call_system(call, __NR_ioctl, call->file->fd, cmd, arg, 0);
		kept_hide(call);
		result = by_admin(call, cmd, result);
		if (shared_flags)
			*shared_flags &= cpu_to_le64(~VGPU_NVIDIA_UVM_SHARED);
		if (!result)
			nvidia_answered(call, &look);
		if (look.change)
			memcpy((void *)look.change, &look.from, sizeof(look.from));
	}

	/* Gather after errors as well: many drivers copy their argument out in any case. */
	gather(call);
	fixups_undo(call);
	if (!result && owner)
		nvidia_mapped(call, cmd, owner);
	fixups_remove(call);
	ret = result < 0 ? 0 : fixups_answer(call, &result);
	if (result < 0 || ret)
		fixups_cancel_event(call);
	if (ret) {
		/* Send no bytes: they contain numbers of files that are closed here. */
		call_take_back(call);
		return call_refuse(call, ret);
	}
	if (le16_to_cpu(call->view.call->flags) & VGPU_CALL_CLOCKS) {
		call->reply.out.ioctl.raw = cpu_to_le64(clock_ahead(CLOCK_MONOTONIC_RAW));
		call->reply.out.ioctl.realtime = cpu_to_le64(clock_ahead(CLOCK_REALTIME));
		call->reply.out.ioctl.tsc = cpu_to_le64(call->tsc_in);
	}
	return result;
}
