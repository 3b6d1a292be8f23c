// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent: the file of /dev/vgpu-host by which vgpud sets up exports and peers, and is
 * notified of the ends of peers and sessions.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "agent/agent_file.h"
#include "agent/command.h"
#include "agent/lasting.h"
#include "peer/agent.h"

static bool agent_has_events(struct vgpu_agent *agent)
{
	bool any;

	spin_lock(&agent->events_lock);
	any = !list_empty(&agent->events);
	spin_unlock(&agent->events_lock);
	return any;
}

static struct vgpu_agent_event *agent_pop_event(struct vgpu_agent *agent)
{
	struct vgpu_agent_event *event;

	spin_lock(&agent->events_lock);
	event = list_first_entry_or_null(&agent->events, struct vgpu_agent_event, node);
	if (event)
		list_del(&event->node);
	spin_unlock(&agent->events_lock);
	return event;
}

/* Free the events that the last read() has returned: a caller that reads on has handled them. */
static void agent_forget_taken(struct vgpu_agent *agent)
{
	struct vgpu_agent_event *event, *next;
	LIST_HEAD(taken);

	spin_lock(&agent->events_lock);
	list_splice_init(&agent->taken, &taken);
	spin_unlock(&agent->events_lock);
	list_for_each_entry_safe(event, next, &taken, node)
		kfree(event);
}

static ssize_t agent_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct vgpu_agent *agent = vgpu_agent_of(file);
	struct vgpu_agent_event *event;
	size_t done = 0;
	int ret;

	if (!agent || len < sizeof(event->event))
		return -EINVAL;
	agent_forget_taken(agent);
	if (!(file->f_flags & O_NONBLOCK)) {
		ret = wait_event_interruptible(agent->events_wait, agent_has_events(agent));
		if (ret)
			return ret;
	}
	while (len - done >= sizeof(event->event)) {
		event = agent_pop_event(agent);
		if (!event)
			break;
		if (copy_to_user(buf + done, &event->event, sizeof(event->event))) {
			spin_lock(&agent->events_lock);
			list_add(&event->node, &agent->events);
			spin_unlock(&agent->events_lock);
			return done ?: -EFAULT;
		}
		spin_lock(&agent->events_lock);
		list_add_tail(&event->node, &agent->taken);
		spin_unlock(&agent->events_lock);
		done += sizeof(event->event);
	}
	return done ?: -EAGAIN;
}

static __poll_t agent_poll(struct file *file, struct poll_table_struct *wait)
{
	struct vgpu_agent *agent = vgpu_agent_of(file);

	if (!agent)
		return EPOLLERR;
	poll_wait(file, &agent->events_wait, wait);
	return agent_has_events(agent) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int agent_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return stream_open(inode, file);
}

/*
 * Handle a close by one process. A child that the agent has just forked has the file, too, and may
 * be kept from running by limits of its guest. So the agent leaves with its own process: the next
 * one does not have to wait for the child, in which the file is dead from then on.
 */
static int agent_flush(struct file *file, fl_owner_t owner)
{
	struct vgpu_agent *agent = vgpu_agent_of(file);

	if (agent)
		vgpu_lasting_leave(agent, file, owner);
	return 0;
}

static int agent_release(struct inode *inode, struct file *file)
{
	struct vgpu_agent *agent = file->private_data;

	if (agent)
		vgpu_lasting_release(agent, file);
	return 0;
}

static const struct file_operations agent_fops = {
	.owner = THIS_MODULE,
	.open = agent_open,
	.flush = agent_flush,
	.release = agent_release,
	.unlocked_ioctl = vgpu_agent_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = agent_read,
	.poll = agent_poll,
};

static struct miscdevice agent_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vgpu-host",
	.fops = &agent_fops,
	.mode = 0600,
};

int vgpu_agent_init(void)
{
	return misc_register(&agent_dev);
}

void vgpu_agent_exit(void)
{
	misc_deregister(&agent_dev);
	vgpu_lasting_exit();
}
