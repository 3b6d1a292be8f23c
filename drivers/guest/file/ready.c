// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readiness of objects: whether poll() finds them ready, as the host has last reported it.
 *
 * If the driver's poll consumes nothing, POLL_EVENT carries the driver's answer, and the next
 * poll needs no call. That answer is valid until a call may have changed it. So the calls on an
 * object have numbers: an ioctl gets a new number when it begins, any other call that may have
 * changed the readiness gets one when it ends. readiness.number is that of the last call that has
 * ended; if calls have overlapped, it is a new one, so answers to these calls are ignored. POLL
 * calls carry readiness.number, ioctls carry their own number, and POLL_EVENT names the number of
 * the last of these calls that the host had run. An answer for another number than
 * readiness.number is ignored, except for a fence, which stays signaled once it is signaled.
 *
 * Fences are short-lived: a fence's POLL call would mostly be its only one. If the programs of
 * an export poll fences, the host watches new fences from the reply on that gives them to the
 * guest.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/signal.h>
#include <linux/spinlock.h>

#include "file/ready.h"
#include "link/export.h"
#include "link/host.h"

/*
 * Returns the value of host->calls up to which an object is known not to be ready. Called after
 * a call whose reply said that the object is not ready.
 * @before: value before the call; returned if other calls have ended meanwhile.
 */
static s64 ready_calls_after(struct vgpu_host *host, s64 before)
{
	s64 now = atomic64_read(&host->calls);

	return now - before <= 1 ? now : before;
}

/* Voids all answers about the readiness of @object after a call on it that was no ioctl. */
void vgpu_ready_touch(struct vgpu_object *object)
{
	vgpu_ready_ioctl_end(object, NULL, NULL);
}

/**
 * vgpu_ready_ioctl_begin - note an object's state before an ioctl
 * @object: object of the ioctl
 * @seen: out: state for vgpu_ready_ioctl_end()
 *
 * Return: the number of the ioctl. No other call of the object has the same number, so an
 * answer that the host gives after this ioctl is never taken for an answer after another call.
 */
u32 vgpu_ready_ioctl_begin(struct vgpu_object *object, struct vgpu_ready_seen *seen)
{
	spin_lock(&object->readiness.lock);
	seen->gen = object->readiness.gen;
	seen->number = object->readiness.number;
	seen->own = ++object->readiness.last;
	seen->calls = atomic64_read(&object->host->calls);
	seen->missed = READ_ONCE(object->host->objects.events_missed);
	spin_unlock(&object->readiness.lock);
	return seen->own;
}

/**
 * vgpu_ready_ioctl_end - update the readiness of an object after a call on it
 * @object: object of the call
 * @seen: state from vgpu_ready_ioctl_begin(), or NULL if the call was no ioctl
 * @out: part of the reply about the readiness, or NULL if there is no reply
 */
void vgpu_ready_ioctl_end(struct vgpu_object *object, const struct vgpu_ready_seen *seen,
			  const struct vgpu_out_ioctl *out)
{
	bool alone, quiet;

	if (vgpu_ready_is_fence(object))
		return;
	spin_lock(&object->readiness.lock);
	/*
	 * Use no answer if other calls have ended meanwhile: on the host they may have run after
	 * this call, and changed the readiness.
	 */
	alone = seen && object->readiness.number == seen->number && !object->readiness.unsure;
	/*
	 * Do not arm the object if a wakeup came meanwhile: the wakeup may be newer than the
	 * answer, and the host does not report it again.
	 */
	quiet = seen && object->readiness.gen == seen->gen;
	object->readiness.armed = 0;
	object->readiness.gen++;
	object->readiness.ready = 0;
	object->readiness.number = alone ? seen->own : ++object->readiness.last;
	if (alone && out && (le32_to_cpu(out->flags) & VGPU_POLL_ANSWER)) {
		object->readiness.ready = (__force __poll_t)le32_to_cpu(out->revents);
		if (quiet && !object->readiness.ready) {
			object->readiness.armed = VGPU_READY_EVENTS;
			object->readiness.calls = ready_calls_after(object->host, seen->calls);
		}
	}
	spin_unlock(&object->readiness.lock);
}

/*
 * Ignores answers for @object from now on: the host may still run a call, such as READ or WRITE,
 * that was given up.
 */
void vgpu_ready_unsure(struct vgpu_object *object)
{
	spin_lock(&object->readiness.lock);
	object->readiness.unsure = true;
	spin_unlock(&object->readiness.lock);
}

/**
 * vgpu_ready_fence_given - note the state of a fence that a reply reports
 * @object: object in the reply, perhaps no fence, perhaps an old one; other threads can find it
 * @flags: VGPU_OBJECT_* in the reply
 * @call: state from vgpu_ready_ioctl_begin() of the call
 */
void vgpu_ready_fence_given(struct vgpu_object *object, u32 flags,
			    const struct vgpu_ready_seen *call)
{
	struct vgpu_host *host = object->host;
	bool seen;

	if (!(flags & (VGPU_OBJECT_WATCHED | VGPU_OBJECT_SIGNALED)))
		return;
	/*
	 * The fence's event may have come before the reply, when the object was unknown. If any
	 * event was missed, the fence does not count as armed.
	 */
	spin_lock(&host->lock);
	seen = host->objects.events_missed == call->missed;
	spin_unlock(&host->lock);
	spin_lock(&object->readiness.lock);
	if (flags & VGPU_OBJECT_SIGNALED) {
		object->readiness.ready |= EPOLLIN;
	} else if (seen && !object->readiness.gen) {
		object->readiness.armed = VGPU_READY_EVENTS;
		object->readiness.calls = ready_calls_after(host, call->calls);
	}
	spin_unlock(&object->readiness.lock);
}

/* Counts a fence that was closed without a poll. */
void vgpu_ready_fence_closed(struct vgpu_object *object)
{
	if (!object->readiness.polled)
		atomic_add_unless(&object->export->fences, -1, 0);
}

/**
 * vgpu_ready_event - handle a POLL_EVENT
 * @object: the object; host->lock is held
 * @event: the message
 */
void vgpu_ready_event(struct vgpu_object *object, const struct vgpu_poll_event *event)
{
	__poll_t revents = (__force __poll_t)le32_to_cpu(event->revents);
	bool answer = le32_to_cpu(event->flags) & VGPU_POLL_ANSWER;

	spin_lock(&object->readiness.lock);
	object->readiness.armed = 0;
	object->readiness.gen++;
	object->readiness.ready = 0;
	if (answer && !object->readiness.unsure &&
	    (vgpu_ready_is_fence(object) || le32_to_cpu(event->number) == object->readiness.number))
		object->readiness.ready = revents;
	spin_unlock(&object->readiness.lock);
	/*
	 * Wake all pollers, because the host reports one wakeup only. With EPOLLERR or EPOLLHUP
	 * the driver's wakeup may have had no key, so none is passed on: some waiters take the
	 * key for the answer.
	 */
	if (revents & (EPOLLERR | EPOLLHUP))
		wake_up_all(&object->readiness.wait);
	else
		__wake_up(&object->readiness.wait, TASK_NORMAL, 0, poll_to_key(revents));
	kill_fasync(&object->readiness.fasync, SIGIO,
		    revents & (EPOLLIN | EPOLLPRI | EPOLLERR | EPOLLHUP) ? POLL_IN : POLL_OUT);
}
