// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll. A POLL call arms the object at the host, which reports the next wakeup by POLL_EVENT.
 * Until then the answer "nothing is ready" is valid, and waiting costs no calls. After the
 * wakeup the next poll asks the driver by another call, as the poll of some drivers consumes
 * what it reports.
 *
 * A POLL_EVENT and the reply to the call that caused it travel on two connections, and the
 * reply may be first. A poll that does not wait asks the host again if any call has ended since
 * the host found nothing. A poll that waits is woken by the event.
 *
 * A program that finds an object ready must see what the device wrote before, and there may be
 * no call between the poll and the program's reads. So a poll drops cached device memory before
 * it reports for the first time that the object is ready.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "file/ahead.h"
#include "file/op.h"
#include "file/poll.h"
#include "file/ready.h"
#include "link/call.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/space_sync.h"

/* Number of fences closed without a poll, after which new fences are not watched any more. */
#define POLL_FENCES	16

/*
 * Decides whether a POLL call is needed.
 * @waits: true if an event that comes later wakes the caller.
 * @mask: out: those of @wanted that the host has reported as ready.
 * @seen: out: state of the object at the decision.
 * Return: true if the call is needed; false if *@mask is not 0, or nothing has changed since the
 * host found none of @wanted.
 */
static bool poll_ask(struct vgpu_object *object, __poll_t wanted, bool waits, __poll_t *mask,
		     struct vgpu_ready_seen *seen)
{
	bool ask;

	spin_lock(&object->readiness.lock);
	*mask = wanted & object->readiness.ready;
	seen->gen = object->readiness.gen;
	seen->number = object->readiness.number;
	seen->calls = atomic64_read(&object->host->calls);
	ask = !*mask && ((wanted & ~object->readiness.armed) ||
			 (!waits && object->readiness.calls != seen->calls));
	spin_unlock(&object->readiness.lock);
	return ask;
}

/* Remembers that a POLL call found none of @wanted, unless an event came before the reply. */
static void poll_arm(struct vgpu_object *object, const struct vgpu_ready_seen *seen,
		     __poll_t wanted)
{
	spin_lock(&object->readiness.lock);
	if (object->readiness.gen == seen->gen) {
		object->readiness.armed |= wanted;
		object->readiness.calls = seen->calls;
	}
	spin_unlock(&object->readiness.lock);
}

/*
 * Drops cached device memory. Return: true if all was dropped; false if the task was killed. Such a
 * task may leave memory cached, because it reads no memory any more; others have to drop it.
 */
static bool poll_drop(struct vgpu_object *object)
{
	if (vgpu_space_await_faults(object->host))
		return false;
	vgpu_space_drop(object->host, NULL);
	return !fatal_signal_pending(current);
}

/*
 * Drops cached device memory for an object that is ready as of readiness.gen @gen, unless it was
 * dropped for @gen already. Waits for the host if programs have written to mapped memory.
 */
static void poll_renew(struct vgpu_object *object, u32 gen)
{
	bool renew;

	spin_lock(&object->readiness.lock);
	renew = object->readiness.renewed != gen;
	spin_unlock(&object->readiness.lock);
	if (!renew || !poll_drop(object))
		return;
	/* Set this last: another poll must not report readiness before the memory was dropped. */
	spin_lock(&object->readiness.lock);
	object->readiness.renewed = gen;
	spin_unlock(&object->readiness.lock);
}

/*
 * Notes that a POLL call, made at readiness.gen @gen, found @mask. @dropped: result of poll_drop()
 * after the call.
 */
static void poll_found(struct vgpu_object *object, __poll_t mask, u32 gen, bool dropped)
{
	if (!vgpu_ready_is_fence(object)) {
		/* The driver's poll may have changed the readiness: earlier answers are void. */
		vgpu_ready_touch(object);
		return;
	}
	spin_lock(&object->readiness.lock);
	object->readiness.ready |= mask;
	if (dropped)
		object->readiness.renewed = gen;
	spin_unlock(&object->readiness.lock);
}

/* Makes a POLL call for the events @asked. Return: a negative errno, or 0 with *@mask. */
static int poll_call(struct file *file, u32 flags, __poll_t asked, u32 number, __poll_t *mask)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	struct vgpu_guest_call xcall;
	bool interrupted;
	int ret;

	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	do {
		vgpu_guest_call_init(&xcall, VGPU_OP_POLL, object->id);
		xcall.flags = VGPU_GUEST_CALL_NO_MAPPED | VGPU_GUEST_CALL_NO_CANCEL;
		xcall.stats = &object->export->stats;
		xcall.file = file;
		xcall.msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_NONBLOCK));
		xcall.msg.args.poll.events = cpu_to_le32((__force u32)asked);
		xcall.msg.args.poll.flags = cpu_to_le32(flags);
		xcall.msg.args.poll.number = cpu_to_le32(number);
		ret = vgpu_op_run(session, object, &xcall);
		/*
		 * -EINTR: the shadow's thread was stopped or frozen, which is no signal here. A
		 * host may say so for ever, so a signal of the program ends that.
		 */
		interrupted = !ret && (s64)xcall.result == -EINTR;
		if (!ret && xcall.result)
			ret = interrupted ? -EINTR : -EIO;
		if (!ret)
			*mask = (__force __poll_t)le32_to_cpu(xcall.reply.reply->out.poll.revents) &
				VGPU_READY_EVENTS;
		vgpu_guest_call_fini(&xcall);
	} while (interrupted && !signal_pending(current));
	vgpu_session_put(session);
	return ret;
}

/* f_op->poll */
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	__poll_t wanted = (poll_requested_events(wait) & VGPU_READY_EVENTS) | EPOLLERR | EPOLLHUP;
	struct vgpu_object *object = file->private_data;
	struct vgpu_ready_seen seen;
	__poll_t mask, ahead;
	int ret;

	poll_wait(file, &object->readiness.wait, wait);
	if (vgpu_host_is_down(object->host))
		return EPOLLHUP | EPOLLERR;
	if (!(object->fops & VGPU_FOP_POLL))
		return DEFAULT_POLLMASK;
	if (vgpu_ready_is_fence(object) && !READ_ONCE(object->readiness.polled)) {
		WRITE_ONCE(object->readiness.polled, true);
		atomic_set(&object->export->fences, POLL_FENCES);
	}
	/*
	 * Report events that were read ahead (ahead.c). The READ call that brought them has
	 * dropped cached device memory at its end, so no bytes older than the events are cached.
	 * A poll that waits goes on nevertheless, to have the host report the next wakeup.
	 */
	ahead = vgpu_ahead_poll(object) & wanted;
	if (ahead && vgpu_poll_only_looks(wait)) {
		atomic64_inc(&object->export->stats.calls);
		return ahead;
	}
	if (!poll_ask(object, wanted, !vgpu_poll_only_looks(wait), &mask, &seen)) {
		if (mask) {
			atomic64_inc(&object->export->stats.calls);
			poll_renew(object, seen.gen);
		}
		return mask | ahead;
	}
	/* Ask for no other event: some drivers act on the events that are asked for. */
	ret = poll_call(file, 0, wanted, seen.number, &mask);
	if (ret)
		return ret == -EINTR ? 0 : EPOLLHUP | EPOLLERR;
	if (!mask) {
		poll_arm(object, &seen, wanted);
		return ahead;
	}
	poll_found(object, mask, seen.gen, poll_drop(object));
	return mask | ahead;
}

/*
 * f_op->fasync. Drivers send SIGIO when they wake their pollers, so the host reports every
 * wakeup from the first fasync on. This POLL call asks for no event, because some drivers act
 * on the events that are asked for and no program polls here.
 */
int vgpu_fasync(int fd, struct file *file, int on)
{
	struct vgpu_object *object = file->private_data;
	int ret = fasync_helper(fd, file, on, &object->readiness.fasync);
	__poll_t mask;

	if (ret > 0 && on)
		poll_call(file, VGPU_POLL_STAY, 0, READ_ONCE(object->readiness.number), &mask);
	return ret;
}
