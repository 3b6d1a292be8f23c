// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls as the tracepoint vgpu_file_call reports them. Nothing here runs unless the tracepoint is
 * enabled.
 *
 * An ioctl is reported once, by file/ioctl.c, with its argument as the program sees it: fds are
 * the program's own. Any other call is reported when its reply has come.
 */
#include <linux/err.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "argument/schema.h"
#include "call_event.h"
#include "link/call.h"
#include "link/export.h"
#include "link/trace.h"
#include "link/traced.h"

/**
 * struct vgpu_traced - a call that is being traced
 * @file: file of the call, NULL: none; the caller holds the reference
 * @event: what is reported
 * @before: memory of @event.before
 * @after: memory of @event.after. All of it comes from the program's memory, which other threads
 *	may write, so it is for reading by people
 * @path: memory for the path of @file
 */
struct vgpu_traced {
	const struct file *file;
	struct vgpu_call_event event;
	u8 before[VGPU_CALL_EVENT_BYTES];
	u8 after[VGPU_CALL_EVENT_BYTES];
	char path[VGPU_CALL_EVENT_PATH];
};

static struct vgpu_traced *traced_alloc(const struct file *file, gfp_t gfp)
{
	struct vgpu_traced *traced = kzalloc(sizeof(*traced), gfp | __GFP_NOWARN);

	if (!traced)
		return NULL;
	traced->file = file;
	traced->event.fd = -1;
	traced->event.driver = "";
	traced->event.name = "";
	traced->event.path = "";
	traced->event.before = traced->before;
	traced->event.after = traced->after;
	return traced;
}

static int traced_is_file(const void *data, struct file *file, unsigned int fd)
{
	/* 0 means that the search goes on. */
	return file == data ? fd + 1 : 0;
}

/*
 * Completes @traced, reports it, and frees it. The tracepoint's own code may not sleep, as spin
 * locks do in real-time kernels, so what takes locks is done here.
 */
static void traced_report(struct vgpu_traced *traced, const struct vgpu_guest_call *xcall,
			  s64 result)
{
	struct vgpu_call_event *event = &traced->event;
	const struct file *file = traced->file;
	const char *path;

	event->ended = ktime_get_ns();
	event->op = le16_to_cpu(xcall->msg.op);
	event->object = le32_to_cpu(xcall->msg.object);
	event->args = xcall->msg.args.raw;
	event->result = result;
	event->round_trips = xcall->cost.round_trips;
	event->pages = xcall->cost.pages;
	event->bytes_out = xcall->cost.bytes_out;
	event->bytes_in = xcall->cost.bytes_in;
	if (file) {
		path = file_path((struct file *)file, traced->path, sizeof(traced->path));
		event->path = IS_ERR(path) ? "" : path;
		/* It is the lowest fd of the file: a file operation is not told which it is. */
		if (current->files)
			event->fd = iterate_fd(current->files, 0, traced_is_file, file) - 1;
	}
	trace_vgpu_file_call(event);
	kfree(traced);
}

/**
 * vgpu_traced_call - report a call that is over, and is no ioctl of a program
 * @xcall: the call
 * @began: time at which the call began, CLOCK_MONOTONIC in nanoseconds
 * @error: result of vgpu_call_run()
 */
void vgpu_traced_call(const struct vgpu_guest_call *xcall, u64 began, int error)
{
	/* A call of class mm may be part of reclaim, so the allocation must not wait for that. */
	struct vgpu_traced *traced = traced_alloc(xcall->file, GFP_NOWAIT);

	if (!traced)
		return;
	traced->event.began = began;
	traced->event.arg = xcall->nr_segs ? le32_to_cpu(xcall->segs[0].len) : 0;
	traced_report(traced, xcall, error ?: xcall->result);
}

/**
 * vgpu_traced_ioctl_begin - begin to trace an ioctl of a program
 * @file: file of the ioctl; the caller keeps the reference until the end, as of @export
 * @export: export of the file
 * @entry: schema of the ioctl, or NULL
 * @cmd: command
 * @arg: argument from the program
 * @compat: true for a 32-bit program
 *
 * Return: memory for vgpu_traced_ioctl_end(), which frees it; NULL if there is none.
 */
struct vgpu_traced *vgpu_traced_ioctl_begin(const struct file *file,
					    const struct vgpu_export *export,
					    const struct vgpu_schema_ioctl *entry, u32 cmd,
					    unsigned long arg, bool compat)
{
	struct vgpu_traced *traced = traced_alloc(file, GFP_KERNEL);
	u32 len = _IOC_SIZE(cmd);

	if (!traced)
		return NULL;
	if (entry && (entry->arg == VGPU_ARG_VALUE || entry->arg == VGPU_ARG_FD))
		len = 0;
	else if (entry && !len)
		len = entry->size ?: entry->body.size;
	len = min_t(u32, len, VGPU_CALL_EVENT_BYTES);
	if (len && !copy_from_user(traced->before, (void __user *)arg, len))
		traced->event.len = len;
	traced->event.driver = export->driver;
	traced->event.kind = export->kind;
	traced->event.known = entry;
	if (entry && entry->name)
		traced->event.name = entry->name;
	traced->event.arg = arg;
	traced->event.cmd = cmd;
	traced->event.compat = compat;
	traced->event.began = ktime_get_ns();
	return traced;
}

/**
 * vgpu_traced_ioctl_end - report an ioctl of a program, and free its state
 * @traced: result of vgpu_traced_ioctl_begin(), not NULL
 * @xcall: call of the ioctl, initialized, whether it was made or not
 * @class: class in the argument that the schema does not know; 0: none
 * @result: result of the ioctl
 */
void vgpu_traced_ioctl_end(struct vgpu_traced *traced, const struct vgpu_guest_call *xcall,
			   u32 class, long result)
{
	u32 len = traced->event.len;

	traced->event.class = class;
	traced->event.known &= !class;
	/* The program can have unmapped the argument meanwhile. */
	if (len && copy_from_user(traced->after, (void __user *)traced->event.arg, len))
		memcpy(traced->after, traced->before, len);
	traced_report(traced, xcall, result);
}
