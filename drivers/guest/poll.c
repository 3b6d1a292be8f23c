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

#define POLL_EVENTS	((__force __poll_t)VGPU_POLL_EVENTS)

/*
 * Return: false if nothing has changed since POLL calls found none of @wanted; else
 * *@gen is for poll_arm().
 */
static bool poll_ask(struct vgpu_object *object, __poll_t wanted, u32 *gen)
{
	bool ask;

	spin_lock(&object->poll_lock);
	ask = wanted & ~object->poll_armed;
	*gen = object->poll_gen;
	spin_unlock(&object->poll_lock);
	return ask;
}

/* A POLL call found none of @wanted; an event may have come before its reply. */
static void poll_arm(struct vgpu_object *object, u32 gen, __poll_t wanted)
{
	spin_lock(&object->poll_lock);
	if (object->poll_gen == gen)
		object->poll_armed |= wanted;
	spin_unlock(&object->poll_lock);
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
		*mask = (__force __poll_t)le32_to_cpu(xcall.reply.reply->out.poll.revents) &
			POLL_EVENTS;
	vgpu_xcall_fini(&xcall);
	vgpu_session_put(session);
	return ret;
}

/* f_op->poll */
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	__poll_t wanted = (poll_requested_events(wait) & POLL_EVENTS) | EPOLLERR | EPOLLHUP;
	struct vgpu_object *object = file->private_data;
	__poll_t mask = 0;
	u32 gen;
	int ret;

	poll_wait(file, &object->wait, wait);
	if (vgpu_host_is_down(object->host))
		return EPOLLHUP | EPOLLERR;
	if (!(object->fops & VGPU_FOP_POLL))
		return DEFAULT_POLLMASK;
	/* Some drivers do something when asked for an event, so ask for no other. */
	if (!poll_ask(object, wanted, &gen))
		return 0;
	ret = poll_call(file, 0, wanted, &mask);
	if (ret)
		return ret == -EINTR ? 0 : EPOLLHUP | EPOLLERR;
	/* It may have changed since others found nothing. */
	if (mask)
		vgpu_poll_touch(object);
	else
		poll_arm(object, gen, wanted);
	return mask;
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
		poll_call(file, VGPU_POLL_STAY, 0, &mask);
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
void vgpu_poll_event(struct vgpu_object *object, __poll_t revents)
{
	vgpu_poll_touch(object);
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
