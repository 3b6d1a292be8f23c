// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll: a POLL call arms the object, and the host tells of the next wakeup. Until
 * then the answer of one that found nothing stands, and waiting costs no calls.
 * What a wakeup was good for is asked by the poll that follows it: the poll of
 * some drivers takes away what it reports.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/signal.h>

#include "call.h"
#include "export.h"
#include "file.h"
#include "host.h"
#include "object.h"
#include "session.h"

/* What pollers can ask for. */
#define POLL_EVENTS	(EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLNVAL | \
			 EPOLLRDNORM | EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLMSG | \
			 EPOLLRDHUP)

/* Whether no other poller than the caller may be waiting. */
static bool poll_is_alone(struct vgpu_object *object, struct poll_table_struct *wait)
{
	struct list_head *pollers = &object->wait.head;
	unsigned long flags;
	bool alone;

	spin_lock_irqsave(&object->wait.lock, flags);
	alone = list_empty(pollers) || (wait && wait->_qproc && list_is_singular(pollers));
	spin_unlock_irqrestore(&object->wait.lock, flags);
	return alone;
}

/*
 * What to ask for in a call. Some drivers do something when they are asked for an
 * event, so it is what pollers want, and no more; but what all of them want, as one
 * call arms the object for all. @wait: the caller has queued itself, if it waits.
 * Return: 0 if nothing has changed since a POLL call found none of @wanted; else
 * *@gen is for poll_arm().
 */
static __poll_t poll_ask(struct vgpu_object *object, struct poll_table_struct *wait,
			 __poll_t wanted, u32 *gen)
{
	__poll_t asked = 0;

	spin_lock(&object->poll_lock);
	if (poll_is_alone(object, wait))
		object->poll_asked = 0;
	object->poll_asked |= object->fasync ? POLL_EVENTS : wanted;
	if (wanted & ~object->poll_armed) {
		asked = object->poll_asked;
		/* The host forgets what it was armed for. */
		object->poll_armed = 0;
	}
	*gen = object->poll_gen;
	spin_unlock(&object->poll_lock);
	return asked;
}

/*
 * A POLL call that asked for @asked found @mask; an event may have come before its
 * reply. Return: what other pollers asked for meanwhile, whose call the host may
 * have had before this one, which took the arming away.
 */
static __poll_t poll_arm(struct vgpu_object *object, u32 gen, __poll_t asked, __poll_t mask)
{
	__poll_t more;

	spin_lock(&object->poll_lock);
	more = object->poll_asked & ~asked;
	if (!mask && !more && object->poll_gen == gen)
		object->poll_armed = asked;
	spin_unlock(&object->poll_lock);
	return more;
}

/* Return: -errno, or 0 with *@mask. */
static int poll_call(struct file *file, u32 flags, __poll_t asked, __poll_t *mask)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	struct vgpu_xcall xcall;
	int ret;

	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session);
	vgpu_xcall_init(&xcall, VGPU_OP_POLL, object);
	xcall.flags = VGPU_XCALL_NO_MAPPED | VGPU_XCALL_NO_CANCEL;
	xcall.stats = &object->export->stats;
	xcall.msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_NONBLOCK));
	xcall.msg.args.poll.events = cpu_to_le32((__force u32)asked);
	xcall.msg.args.poll.flags = cpu_to_le32(flags);
	ret = vgpu_call_run(session, &xcall);
	if (!ret && xcall.result)
		ret = -EIO;
	if (!ret)
		*mask = (__force __poll_t)le32_to_cpu(xcall.reply.reply->out.poll.revents);
	vgpu_xcall_fini(&xcall);
	vgpu_session_put(session);
	return ret;
}

/*
 * @wait: of a poller; NULL: nobody's. @flags: VGPU_POLL_*. Return: what the driver's
 * poll says, whose next wakeup the host will tell of.
 */
static __poll_t poll_object(struct file *file, struct poll_table_struct *wait, __poll_t wanted,
			    u32 flags)
{
	struct vgpu_object *object = file->private_data;
	__poll_t asked, more, found, mask = 0;
	bool again = false;
	u32 gen;
	int ret;

	asked = poll_ask(object, wait, wanted, &gen);
	while (asked) {
		ret = poll_call(file, flags, asked, &found);
		if (ret)
			return ret == -EINTR ? mask : EPOLLHUP | EPOLLERR;
		mask |= found;
		more = poll_arm(object, gen, asked, mask);
		asked = more ? asked | more : 0;
		again = again || more;
	}
	/* It may have found what another poller, whose call found nothing, waits for. */
	if (again && (mask & ~wanted)) {
		vgpu_poll_touch(object);
		wake_up_poll(&object->wait, mask & ~wanted);
	}
	return mask;
}

/* f_op->poll */
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	struct vgpu_object *object = file->private_data;

	poll_wait(file, &object->wait, wait);
	if (vgpu_host_is_down(object->host))
		return EPOLLHUP | EPOLLERR;
	if (!(object->fops & VGPU_FOP_POLL))
		return DEFAULT_POLLMASK;
	return poll_object(file, wait,
			   (poll_requested_events(wait) & POLL_EVENTS) | EPOLLERR | EPOLLHUP, 0);
}

/*
 * f_op->fasync. Drivers send SIGIO where they wake their pollers, so once somebody
 * wants it the host tells of every wakeup.
 */
int vgpu_fasync(int fd, struct file *file, int on)
{
	struct vgpu_object *object = file->private_data;
	int ret = fasync_helper(fd, file, on, &object->fasync);

	if (ret <= 0 || !on)
		return ret;
	vgpu_poll_touch(object);
	poll_object(file, NULL, POLL_EVENTS, VGPU_POLL_STAY);
	return ret;
}

/* A call on @object was made: whether it is ready has to be asked again. */
void vgpu_poll_touch(struct vgpu_object *object)
{
	spin_lock(&object->poll_lock);
	object->poll_armed = 0;
	object->poll_gen++;
	spin_unlock(&object->poll_lock);
}

/**
 * vgpu_poll_event - the host says that something changed
 * @object: the object; host->lock is held
 * @revents: what the driver's wakeup was for
 */
void vgpu_poll_event(struct vgpu_object *object, u32 revents)
{
	vgpu_poll_touch(object);
	wake_up_poll(&object->wait, (__force __poll_t)revents);
	kill_fasync(&object->fasync, SIGIO,
		    (__force __poll_t)revents & (EPOLLIN | EPOLLPRI | EPOLLERR | EPOLLHUP) ?
		    POLL_IN : POLL_OUT);
}
