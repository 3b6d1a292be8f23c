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

/* The host keeps one answer for all pollers, whatever each of them asked for. */
#define POLL_EVENTS	(EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLNVAL | \
			 EPOLLRDNORM | EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLMSG | \
			 EPOLLRDHUP)

/*
 * Return: true if nothing has changed since a POLL call found nothing. Else
 * *@gen is for poll_arm().
 */
static bool poll_is_armed(struct vgpu_object *object, u32 *gen)
{
	bool armed;

	spin_lock(&object->poll_lock);
	armed = object->poll_armed;
	*gen = object->poll_gen;
	spin_unlock(&object->poll_lock);
	return armed;
}

/* A POLL call found nothing; an event may have come before its reply. */
static void poll_arm(struct vgpu_object *object, u32 gen)
{
	spin_lock(&object->poll_lock);
	if (object->poll_gen == gen)
		object->poll_armed = true;
	spin_unlock(&object->poll_lock);
}

/*
 * @flags: VGPU_POLL_*. Return: what the driver's poll says, whose next wakeup the
 * host will tell of.
 */
static __poll_t poll_call(struct file *file, u32 flags)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_session *session;
	struct vgpu_xcall xcall;
	u32 mask = 0;
	u32 gen;
	int ret;

	if (poll_is_armed(object, &gen))
		return 0;
	session = vgpu_session_current(object->host, 0);
	if (IS_ERR(session))
		return PTR_ERR(session) == -EINTR ? 0 : EPOLLHUP | EPOLLERR;
	vgpu_xcall_init(&xcall, VGPU_OP_POLL, object);
	xcall.flags = VGPU_XCALL_NO_MAPPED | VGPU_XCALL_NO_CANCEL;
	xcall.stats = &object->export->stats;
	xcall.msg.f_flags = cpu_to_le32(file->f_flags & (O_ACCMODE | O_NONBLOCK));
	xcall.msg.args.poll.events = cpu_to_le32((__force u32)POLL_EVENTS);
	xcall.msg.args.poll.flags = cpu_to_le32(flags);
	ret = vgpu_call_run(session, &xcall);
	if (!ret && !xcall.result)
		mask = le32_to_cpu(xcall.reply.reply->out.poll.revents);
	else if (ret != -EINTR)
		mask = (__force u32)(EPOLLHUP | EPOLLERR);
	if (!mask && !ret)
		poll_arm(object, gen);
	vgpu_xcall_fini(&xcall);
	vgpu_session_put(session);
	return (__force __poll_t)mask;
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
	return poll_call(file, 0);
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
	poll_call(file, VGPU_POLL_STAY);
	return ret;
}

/* A call on @object was made: whether it is ready has to be asked again. */
void vgpu_poll_touch(struct vgpu_object *object)
{
	spin_lock(&object->poll_lock);
	object->poll_armed = false;
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
