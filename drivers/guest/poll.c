// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll: a POLL call arms the object, and the host tells of the next wakeup. Until
 * then the answer of one that found nothing stands, and waiting costs no calls.
 * What a wakeup was good for is asked by the poll that follows it: the poll of
 * some drivers takes away what it reports.
 *
 * Where it does not, the host tells the driver's answer with the wakeup, and the poll
 * that follows needs no call. That answer is good until a call may have changed it: each
 * has a new number when it is over, POLL calls carry it, and the event tells the one of
 * the last that the host had seen. A fence, once signaled, stays so.
 *
 * Fences are short-lived, so that their POLL call would mostly be their only one. If the
 * programs of an export poll fences, the host watches new ones from the reply on which
 * gives them to the guest.
 *
 * A poll event and the reply to the call that caused it travel on two connections, and the
 * reply may be there first. A poll that does not wait asks the host again if any call has
 * ended since the host found nothing; one that waits is woken by the event.
 *
 * What the device wrote before it became ready has to be seen by a program that was told so,
 * but no call may come between the two. So a poll forgets cached device memory before it
 * says for the first time that the object is ready.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/signal.h>

#include "ahead.h"
#include "call.h"
#include "export.h"
#include "file.h"
#include "host.h"
#include "object.h"
#include "session.h"
#include "space.h"

#define POLL_EVENTS	((__force __poll_t)VGPU_POLL_EVENTS)
/* So many fences that nobody polls, and new ones are not watched any more. */
#define POLL_FENCES	16

static bool poll_is_fence(const struct vgpu_object *object)
{
	return object->kind == VGPU_OBJECT_SYNC_FILE;
}

/*
 * @waits: the caller hears of an event that comes later.
 * Return: false if nothing has changed since the host found none of @wanted, or it has
 * said what it is ready for (*@mask); else *@seen is for the call.
 */
static bool poll_ask(struct vgpu_object *object, __poll_t wanted, bool waits, __poll_t *mask,
		     struct vgpu_poll_seen *seen)
{
	bool ask;

	spin_lock(&object->poll_lock);
	*mask = wanted & object->poll_ready;
	seen->gen = object->poll_gen;
	seen->number = object->poll_number;
	seen->calls = atomic64_read(&object->host->calls);
	ask = !*mask && ((wanted & ~object->poll_armed) ||
			 (!waits && object->poll_calls != seen->calls));
	spin_unlock(&object->poll_lock);
	return ask;
}

/*
 * One call has ended, which said that the object is not ready. Return: the count of calls
 * after which that was so: today's, or @before if others have ended meanwhile.
 */
static s64 poll_calls_after(struct vgpu_host *host, s64 before)
{
	s64 now = atomic64_read(&host->calls);

	return now - before <= 1 ? now : before;
}

/* A POLL call found none of @wanted; an event may have come before its reply. */
static void poll_arm(struct vgpu_object *object, const struct vgpu_poll_seen *seen,
		     __poll_t wanted)
{
	spin_lock(&object->poll_lock);
	if (object->poll_gen == seen->gen) {
		object->poll_armed |= wanted;
		object->poll_calls = seen->calls;
	}
	spin_unlock(&object->poll_lock);
}

/* Killed, the program sees nothing any more. */
static void poll_drop(struct vgpu_object *object)
{
	if (!vgpu_space_await_faults(object->host))
		vgpu_space_drop(object->host, NULL);
}

/*
 * The object is ready, as of poll_gen @gen: nothing stays cached that the device may have
 * changed before. Waits for the host where programs have written to mapped memory.
 */
static void poll_renew(struct vgpu_object *object, u32 gen)
{
	bool renew;

	spin_lock(&object->poll_lock);
	renew = object->poll_renewed != gen;
	spin_unlock(&object->poll_lock);
	if (!renew)
		return;
	poll_drop(object);
	/* Only now: another poll must not say so earlier. */
	spin_lock(&object->poll_lock);
	object->poll_renewed = gen;
	spin_unlock(&object->poll_lock);
}

/* A POLL call found @mask, and what was cached when it was made, at poll_gen @gen, is gone. */
static void poll_found(struct vgpu_object *object, __poll_t mask, u32 gen)
{
	if (!poll_is_fence(object)) {
		/* It may have changed since others found nothing. */
		vgpu_poll_touch(object);
		return;
	}
	spin_lock(&object->poll_lock);
	object->poll_ready |= mask;
	object->poll_renewed = gen;
	spin_unlock(&object->poll_lock);
}

/* Return: -errno, or 0 with *@mask. */
static int poll_call(struct file *file, u32 flags, __poll_t asked, u32 number, __poll_t *mask)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	struct vgpu_xcall xcall;
	bool again;
	int ret;

	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	do {
		vgpu_xcall_init(&xcall, VGPU_OP_POLL, object);
		xcall.flags = VGPU_XCALL_NO_MAPPED | VGPU_XCALL_NO_CANCEL;
		xcall.stats = &object->export->stats;
		xcall.msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_NONBLOCK));
		xcall.msg.args.poll.events = cpu_to_le32((__force u32)asked);
		xcall.msg.args.poll.flags = cpu_to_le32(flags);
		xcall.msg.args.poll.number = cpu_to_le32(number);
		ret = vgpu_call_run(session, &xcall);
		/* Its thread was stopped there, or frozen with its machine: nothing of ours. */
		again = !ret && (s64)xcall.result == -EINTR && !fatal_signal_pending(current);
		if (!ret && xcall.result)
			ret = -EIO;
		if (!ret)
			*mask = (__force __poll_t)le32_to_cpu(xcall.reply.reply->out.poll.revents) &
				POLL_EVENTS;
		vgpu_xcall_fini(&xcall);
	} while (again);
	vgpu_session_put(session);
	return ret;
}

/* f_op->poll */
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	__poll_t wanted = (poll_requested_events(wait) & POLL_EVENTS) | EPOLLERR | EPOLLHUP;
	struct vgpu_object *object = file->private_data;
	struct vgpu_poll_seen seen;
	__poll_t mask, ahead;
	int ret;

	poll_wait(file, &object->wait, wait);
	if (vgpu_host_is_down(object->host))
		return EPOLLHUP | EPOLLERR;
	if (!(object->fops & VGPU_FOP_POLL))
		return DEFAULT_POLLMASK;
	if (poll_is_fence(object) && !READ_ONCE(object->polled)) {
		WRITE_ONCE(object->polled, true);
		atomic_set(&object->export->fences, POLL_FENCES);
	}
	/*
	 * The call that brought them has ended since, so nothing is cached from before. Who
	 * waits has the host asked all the same, to be told of what comes next.
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
	/* Some drivers do something when asked for an event, so ask for no other. */
	ret = poll_call(file, 0, wanted, seen.number, &mask);
	if (ret)
		return ret == -EINTR ? 0 : EPOLLHUP | EPOLLERR;
	if (!mask) {
		poll_arm(object, &seen, wanted);
		return ahead;
	}
	poll_drop(object);
	poll_found(object, mask, seen.gen);
	return mask | ahead;
}

/*
 * f_op->fasync. Drivers send SIGIO where they wake their pollers, so once somebody
 * wants it the host tells of every wakeup. The driver is asked for no event: some do
 * something then, and nobody polls.
 */
int vgpu_fasync(int fd, struct file *file, int on)
{
	struct vgpu_object *object = file->private_data;
	int ret = fasync_helper(fd, file, on, &object->fasync);
	__poll_t mask;

	if (ret > 0 && on)
		poll_call(file, VGPU_POLL_STAY, 0, READ_ONCE(object->poll_number), &mask);
	return ret;
}

/* A call on @object is over: whether it is ready has to be asked again. */
void vgpu_poll_touch(struct vgpu_object *object)
{
	vgpu_poll_ioctl_end(object, NULL, NULL);
}

/**
 * vgpu_poll_ioctl_begin - an ioctl is to be made
 * @object: on which
 * @seen: out: for vgpu_poll_ioctl_end()
 *
 * Return: its number. No other call has the same, so that what the host says after it is
 * never taken for something that it said after another call.
 */
u32 vgpu_poll_ioctl_begin(struct vgpu_object *object, struct vgpu_poll_seen *seen)
{
	spin_lock(&object->poll_lock);
	seen->gen = object->poll_gen;
	seen->number = object->poll_number;
	seen->own = ++object->poll_last;
	seen->calls = atomic64_read(&object->host->calls);
	seen->missed = READ_ONCE(object->host->events_missed);
	spin_unlock(&object->poll_lock);
	return seen->own;
}

/**
 * vgpu_poll_ioctl_end - a call is over
 * @object: on which it was made
 * @seen: from vgpu_poll_ioctl_begin(), or NULL: it was another one than an ioctl
 * @out: what its reply says, or NULL if there is none
 */
void vgpu_poll_ioctl_end(struct vgpu_object *object, const struct vgpu_poll_seen *seen,
			 const struct vgpu_out_ioctl *out)
{
	bool alone, quiet;

	if (poll_is_fence(object))
		return;
	spin_lock(&object->poll_lock);
	/* Others that have ended meanwhile may have come before it, or after it. */
	alone = seen && object->poll_number == seen->number && !object->poll_unsure;
	/* And so may an event, of which the host does not tell again. */
	quiet = seen && object->poll_gen == seen->gen;
	object->poll_armed = 0;
	object->poll_gen++;
	object->poll_ready = 0;
	object->poll_number = alone ? seen->own : ++object->poll_last;
	if (alone && out && (le32_to_cpu(out->flags) & VGPU_POLL_ANSWER)) {
		object->poll_ready = (__force __poll_t)le32_to_cpu(out->revents);
		if (quiet && !object->poll_ready) {
			object->poll_armed = POLL_EVENTS;
			object->poll_calls = poll_calls_after(object->host, seen->calls);
		}
	}
	spin_unlock(&object->poll_lock);
}

/* A READ or WRITE of @object was given up, but the host may be running it still. */
void vgpu_poll_unsure(struct vgpu_object *object)
{
	spin_lock(&object->poll_lock);
	object->poll_unsure = true;
	spin_unlock(&object->poll_lock);
}

/**
 * vgpu_poll_fence_given - a reply gave an object, which others can find by now
 * @object: maybe a fence, maybe an old one
 * @flags: what the reply says of it, VGPU_OBJECT_*
 * @call: from vgpu_poll_ioctl_begin() of the call
 */
void vgpu_poll_fence_given(struct vgpu_object *object, u32 flags,
			   const struct vgpu_poll_seen *call)
{
	struct vgpu_host *host = object->host;
	bool seen;

	if (!(flags & (VGPU_OBJECT_WATCHED | VGPU_OBJECT_SIGNALED)))
		return;
	/* Its event may have overtaken the reply, and found no object. */
	spin_lock(&host->lock);
	seen = host->events_missed == call->missed;
	spin_unlock(&host->lock);
	spin_lock(&object->poll_lock);
	if (flags & VGPU_OBJECT_SIGNALED) {
		object->poll_ready |= EPOLLIN;
	} else if (seen && !object->poll_gen) {
		object->poll_armed = POLL_EVENTS;
		object->poll_calls = poll_calls_after(host, call->calls);
	}
	spin_unlock(&object->poll_lock);
}

/* The last file of a fence is closed. */
void vgpu_poll_fence_closed(struct vgpu_object *object)
{
	if (!object->polled)
		atomic_add_unless(&object->export->fences, -1, 0);
}

/**
 * vgpu_poll_event - the host says that something changed
 * @object: the object; host->lock is held
 * @event: what it says
 */
void vgpu_poll_event(struct vgpu_object *object, const struct vgpu_poll_event *event)
{
	__poll_t revents = (__force __poll_t)le32_to_cpu(event->revents);
	bool answer = le32_to_cpu(event->flags) & VGPU_POLL_ANSWER;

	spin_lock(&object->poll_lock);
	object->poll_armed = 0;
	object->poll_gen++;
	object->poll_ready = 0;
	if (answer && !object->poll_unsure &&
	    (poll_is_fence(object) || le32_to_cpu(event->number) == object->poll_number))
		object->poll_ready = revents;
	spin_unlock(&object->poll_lock);
	/*
	 * All who wait for it, as only one wakeup is told. Without an event where it may
	 * have been for any: some take what they are told for the answer.
	 */
	if (revents & (EPOLLERR | EPOLLHUP))
		wake_up_all(&object->wait);
	else
		__wake_up(&object->wait, TASK_NORMAL, 0, poll_to_key(revents));
	kill_fasync(&object->fasync, SIGIO,
		    revents & (EPOLLIN | EPOLLPRI | EPOLLERR | EPOLLHUP) ? POLL_IN : POLL_OUT);
}
