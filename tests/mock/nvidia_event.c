// SPDX-License-Identifier: GPL-2.0-only
/*
 * OS events of the stand-in for NVIDIA's driver. As in the driver, the key of an event is a client
 * and an fd of the program that made the event; no such file has to be open. An event belongs to
 * the file by which it was made: that file's poll() reports the event, and the file's release ends
 * it. An object of RM may keep a reference of an ended event, which does nothing.
 */
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../../drivers/common/nvidia_rm.h"
#include "nvidia.h"
#include "vgpu_mock_nvidia.h"

/**
 * struct mock_nvidia_event - an OS event
 * @node: entry of event_list while @active
 * @file: file by which the event was made; its pollers are notified
 * @client: handle of the client
 * @fd: fd of the program that made the event
 * @users: number of RM's objects that refer to the event
 * @active: true until the event has ended
 */
struct mock_nvidia_event {
	struct list_head node;
	struct mock_nvidia_file *file;
	u32 client;
	u32 fd;
	unsigned int users;
	bool active;
};

/* Guards all events, and event_pending of all files. */
static DEFINE_SPINLOCK(event_lock);
static LIST_HEAD(event_list);

static struct mock_nvidia_event *event_find(u32 client, u32 fd)
{
	struct mock_nvidia_event *event;

	list_for_each_entry(event, &event_list, node)
		if (event->client == client && event->fd == fd)
			return event;
	return NULL;
}

static void event_end(struct mock_nvidia_event *event)
{
	list_del(&event->node);
	event->active = false;
	if (!event->users)
		kfree(event);
}

static u32 event_alloc(struct mock_nvidia_file *file, u32 client, u32 fd)
{
	struct mock_nvidia_event *event = kzalloc(sizeof(*event), GFP_KERNEL);
	u32 status = RM_OK;

	if (!event)
		return RM_INSUFFICIENT_RESOURCES;
	event->file = file;
	event->client = client;
	event->fd = fd;
	event->active = true;
	spin_lock(&event_lock);
	if (event_find(client, fd))
		status = RM_INSUFFICIENT_RESOURCES;
	else
		list_add(&event->node, &event_list);
	spin_unlock(&event_lock);
	if (status)
		kfree(event);
	return status;
}

static u32 event_free(u32 client, u32 fd)
{
	struct mock_nvidia_event *event;

	spin_lock(&event_lock);
	event = event_find(client, fd);
	if (event)
		event_end(event);
	spin_unlock(&event_lock);
	return event ? RM_OK : VGPU_MOCK_NVIDIA_INVALID_EVENT;
}

/**
 * mock_nvidia_event_ioctl() - make or free an OS event
 * @file: file of the ioctl
 * @nr: number of the ioctl
 * @size: size of the argument
 * @arg: the argument
 *
 * Return: 0, -EFAULT, or -ENOTTY for another ioctl.
 */
long mock_nvidia_event_ioctl(struct mock_nvidia_file *file, u32 nr, u32 size, void __user *arg)
{
	struct vgpu_mock_nvidia_os_event args;
	bool alloc = nr == _IOC_NR(VGPU_MOCK_NVIDIA_ALLOC_OS_EVENT);

	if ((!alloc && nr != _IOC_NR(VGPU_MOCK_NVIDIA_FREE_OS_EVENT)) || size != sizeof(args))
		return -ENOTTY;
	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	args.status = alloc ? event_alloc(file, args.client, args.fd) :
		      event_free(args.client, args.fd);
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

/**
 * mock_nvidia_event_get() - find an event for an object
 * @client: handle of the client
 * @fd: fd of the calling program
 *
 * Return: the event, for mock_nvidia_event_put(), or NULL.
 */
struct mock_nvidia_event *mock_nvidia_event_get(u32 client, u32 fd)
{
	struct mock_nvidia_event *event;

	spin_lock(&event_lock);
	event = event_find(client, fd);
	if (event)
		event->users++;
	spin_unlock(&event_lock);
	return event;
}

/**
 * mock_nvidia_event_put() - drop the reference of an object
 * @event: result of mock_nvidia_event_get()
 */
void mock_nvidia_event_put(struct mock_nvidia_event *event)
{
	spin_lock(&event_lock);
	if (!--event->users && !event->active)
		kfree(event);
	spin_unlock(&event_lock);
}

/**
 * mock_nvidia_event_post() - let an event happen
 * @event: result of mock_nvidia_event_get()
 */
void mock_nvidia_event_post(struct mock_nvidia_event *event)
{
	spin_lock(&event_lock);
	if (event->active) {
		event->file->event_pending = true;
		wake_up_interruptible(&event->file->event_wait);
	}
	spin_unlock(&event_lock);
}

/**
 * mock_nvidia_event_poll() - run ->poll of any file
 * @filp: the file
 * @table: the poller's table
 *
 * A poll clears the event that it reports, as with the driver. A file with O_NONBLOCK does not
 * register a waiter.
 */
__poll_t mock_nvidia_event_poll(struct file *filp, poll_table *table)
{
	struct mock_nvidia_file *file = filp->private_data;
	__poll_t events = 0;

	if (!(filp->f_flags & O_NONBLOCK))
		poll_wait(filp, &file->event_wait, table);
	spin_lock(&event_lock);
	if (file->event_pending)
		events = EPOLLPRI | EPOLLIN;
	file->event_pending = false;
	spin_unlock(&event_lock);
	return events;
}

static void event_end_all(const struct mock_nvidia_file *file, u32 client)
{
	struct mock_nvidia_event *event, *next;

	spin_lock(&event_lock);
	list_for_each_entry_safe(event, next, &event_list, node)
		if (event->file == file || event->client == client)
			event_end(event);
	spin_unlock(&event_lock);
}

/**
 * mock_nvidia_event_release() - end the events of a file
 * @file: file that is released
 *
 * The release of a control file frees its clients, but leaves the events that other files made for
 * these clients: the driver ends them when an ioctl frees the client or those files are released.
 */
void mock_nvidia_event_release(const struct mock_nvidia_file *file)
{
	event_end_all(file, 0);
}

/**
 * mock_nvidia_event_forget() - end the events of a client that an ioctl has freed
 * @client: handle of the client
 */
void mock_nvidia_event_forget(u32 client)
{
	event_end_all(NULL, client);
}
