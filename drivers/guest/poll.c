// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll: readiness is cached, so that waiting costs no calls. A POLL call that
 * finds nothing arms the object: the host tells once when that changes. Any
 * other call on the object makes the next poll ask again.
 */
#include <linux/err.h>
#include <linux/poll.h>

#include "call.h"
#include "export.h"
#include "file.h"
#include "host.h"
#include "object.h"
#include "session.h"

/* The host keeps one answer for all pollers, whatever each of them asked for. */
#define POLL_EVENTS	(EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLNVAL | \
			 EPOLLRDNORM | EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLMSG | \
			 EPOLLRDHUP)

/* Return: true if @mask is the answer, without a call. */
static bool poll_cached(struct vgpu_object *object, u32 *mask)
{
	bool cached = true;

	spin_lock(&object->poll_lock);
	*mask = object->poll_mask;
	object->poll_mask = 0;
	if (!*mask && !object->poll_armed) {
		/* Before the call: the event may be here before the reply is. */
		object->poll_armed = true;
		cached = false;
	}
	spin_unlock(&object->poll_lock);
	return cached;
}

static void poll_disarm(struct vgpu_object *object)
{
	spin_lock(&object->poll_lock);
	object->poll_armed = false;
	spin_unlock(&object->poll_lock);
}

/* f_op->poll */
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	struct vgpu_xcall xcall;
	u32 mask;
	int ret;

	poll_wait(file, &object->wait, wait);
	if (vgpu_host_is_down(object->host))
		return EPOLLHUP | EPOLLERR;
	if (!(object->fops & VGPU_FOP_POLL))
		return DEFAULT_POLLMASK;
	if (poll_cached(object, &mask))
		return (__force __poll_t)mask;

	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session)) {
		poll_disarm(object);
		return PTR_ERR(session) == -EINTR ? 0 : EPOLLHUP | EPOLLERR;
	}
	vgpu_xcall_init(&xcall, VGPU_OP_POLL, object);
	xcall.flags = VGPU_XCALL_NO_MAPPED | VGPU_XCALL_NO_CANCEL;
	xcall.stats = &object->export->stats;
	xcall.msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_NONBLOCK));
	xcall.msg.args.poll.events = cpu_to_le32((__force u32)POLL_EVENTS);
	ret = vgpu_call_run(session, &xcall);
	mask = 0;
	if (!ret && !xcall.result)
		mask = le32_to_cpu(xcall.reply.reply->out.poll.revents);
	else if (ret != -EINTR)
		mask = (__force u32)(EPOLLHUP | EPOLLERR);
	if (mask || ret)
		poll_disarm(object);
	vgpu_xcall_fini(&xcall);
	vgpu_session_put(session);
	return (__force __poll_t)mask;
}

/* A call on @object was made: what is known about its readiness may be wrong. */
void vgpu_poll_touch(struct vgpu_object *object)
{
	spin_lock(&object->poll_lock);
	object->poll_armed = false;
	object->poll_mask = 0;
	spin_unlock(&object->poll_lock);
}

/*
 * The host says that @object became ready; host->lock is held. Waiters are woken
 * in any case: a call by another thread may have disarmed the object since they
 * went to sleep, and the host tells but once.
 */
void vgpu_poll_event(struct vgpu_object *object, u32 revents)
{
	spin_lock(&object->poll_lock);
	if (object->poll_armed) {
		object->poll_armed = false;
		object->poll_mask = revents;
	}
	spin_unlock(&object->poll_lock);
	wake_up_poll(&object->wait, (__force __poll_t)revents);
}
