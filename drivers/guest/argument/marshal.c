// SPDX-License-Identifier: GPL-2.0-only
/* Conversion of an ioctl's argument to a call. */
#include "argument/marshal_mem.h"
#include "argument/marshal_value.h"
#include "argument/marshal_walk.h"

/* DRM_IOCTL_BASE */
#define MARSHAL_DRM_TYPE	'd'

static u8 cmd_dir(u32 cmd)
{
	return (_IOC_DIR(cmd) & _IOC_WRITE ? VGPU_IN : 0) |
	       (_IOC_DIR(cmd) & _IOC_READ ? VGPU_OUT : 0);
}

/* Pass the argument to the driver unchanged. */
static int arg_value(struct vgpu_marshal *m, unsigned long arg)
{
	m->arg_kind = VGPU_IOCTL_ARG_VALUE;
	m->arg = arg;
	return 0;
}

/* Leave the argument's memory to demand paging. */
static int arg_left(struct vgpu_marshal *m, unsigned long arg)
{
	m->found.raw = true;
	return arg_value(m, arg);
}

/*
 * The argument is unknown. If it could be an address, its page goes along: most drivers will
 * read that page.
 */
static int arg_unknown(struct vgpu_marshal *m, unsigned long arg)
{
	u64 page = arg & ~(u64)(VGPU_PAGE_SIZE - 1);
	int seg;

	arg_value(m, arg);
	if (!page)
		return 0;
	seg = vgpu_marshal_page_add(m, page);
	return seg == -ENOMEM ? seg : 0;
}

/* Make segment 0 of the argument. On failure the driver gets the address itself. */
static int arg_seg(struct vgpu_marshal *m, unsigned long arg, u32 size, u8 dir)
{
	/*
	 * Memory that the driver only writes goes along as well: the driver may write only a
	 * part, or nothing on failure, and the rest must stay as it was.
	 */
	int seg = vgpu_marshal_seg_add(m, arg, size, dir | VGPU_IN);

	if (seg < 0)
		return seg;
	m->arg_kind = VGPU_IOCTL_ARG_SEG;
	m->arg = 0;
	return 0;
}

/* Add the rest of a struct that contains its own size. */
static int arg_rest(struct vgpu_marshal *m, const struct vgpu_schema_ioctl *ioctl, u8 dir)
{
	const struct vgpu_schema_ref *ref = &ioctl->size_from;
	u32 len = m->info[0].len;
	u64 size;

	if (ref->kind != VGPU_REF_FIELD || ref->offset + ref->size > len)
		return 0;
	size = vgpu_marshal_int(m->data + m->info[0].in_off + ref->offset, ref->size);
	if ((ioctl->flags & VGPU_IOCTL_SIZE_BEHIND) && check_add_overflow(size, (u64)len, &size))
		return -E2BIG;
	if (size <= len)
		return 0;
	/* The driver decides which part it reads, so a part of the struct would not do. */
	if (size > VGPU_SCHEMA_SIZED_MAX)
		return -E2BIG;
	return vgpu_marshal_seg_extend(m, size - len, dir);
}

/*
 * Return: number of bytes that drm_ioctl() always copies out, even if the driver has changed
 * nothing or failed.
 */
static u32 arg_written(const struct vgpu_schema_ioctl *ioctl, u32 cmd)
{
	return _IOC_TYPE(cmd) == MARSHAL_DRM_TYPE && (cmd & ioctl->cmd & IOC_OUT) ?
		_IOC_SIZE(cmd) : 0;
}

static int arg_struct(struct vgpu_marshal *m, const struct vgpu_schema_ioctl *ioctl, u32 cmd,
		      unsigned long arg, bool compat)
{
	u32 size = ioctl->size ? ioctl->size : _IOC_SIZE(cmd);
	u8 dir = ioctl->dir ? ioctl->dir : cmd_dir(cmd);
	int error;

	/*
	 * The program's command has no size or no direction: drivers that recognize a command by
	 * its number copy no argument then.
	 */
	if (!size || !dir)
		return arg_value(m, arg);
	error = arg_seg(m, arg, size, dir);
	if (!error) {
		error = arg_rest(m, ioctl, dir);
		if (error)
			vgpu_marshal_seg_drop(m);
	}
	if (error == -EFAULT || error == -E2BIG)
		return arg_left(m, arg);
	/* Some 32-bit commands do not go through drm_ioctl(): drm_compat_ioctl() handles them. */
	if (!error && !compat)
		m->arg_written = arg_written(ioctl, cmd);
	if (error || !(dir & VGPU_IN))
		return error;
	return vgpu_marshal_walk(m, &ioctl->body);
}

/* Make a segment of the string, without reading beyond the page in which the string ends. */
static int arg_string(struct vgpu_marshal *m, unsigned long arg, u32 max)
{
	u32 len = min_t(u32, max, VGPU_PAGE_SIZE - (arg & (VGPU_PAGE_SIZE - 1)));
	int error = arg_seg(m, arg, len, VGPU_IN);

	if (!error && len < max && !memchr(m->data, 0, len)) {
		error = vgpu_marshal_seg_extend(m, max - len, VGPU_IN);
		if (error)
			vgpu_marshal_seg_drop(m);
	}
	return error == -EFAULT || error == -E2BIG ? arg_left(m, arg) : error;
}

/* Convert an argument that is an fd: the driver gets an fd of the host's object. */
static int arg_fd(struct vgpu_marshal *m, unsigned long arg)
{
	struct vgpu_marshal_held held = { .kind = VGPU_HELD_OBJECT };
	u32 object = 0;
	int error;

	if ((int)arg < 0)
		return arg_value(m, arg);
	error = m->caller.ops->get(m->caller.data, (int)arg, &object, &held.handle);
	if (error == -ENOMEM)
		return error;
	if (error) {
		/* The shadow may have an fd of this number: send a number that is never open. */
		if (error != -EBADF)
			m->fd_error = error;
		return arg_value(m, VGPU_MARSHAL_NO_FD);
	}
	error = vgpu_marshal_held_add(m, &held);
	if (error) {
		m->caller.ops->put(m->caller.data, held.handle);
		return error;
	}
	m->arg_kind = VGPU_IOCTL_ARG_FD;
	m->arg = object;
	return 0;
}

int vgpu_marshal_ioctl(struct vgpu_marshal *m, const struct vgpu_schema *schema, u32 cmd,
		       unsigned long arg, bool compat)
{
	const struct vgpu_schema_ioctl *ioctl = vgpu_schema_find(schema, cmd, compat);
	int error;

	/*
	 * A command whose size or direction differs from the schema's may be another command to
	 * the driver, with other pointers and fds.
	 */
	m->found.raw = !ioctl || cmd != ioctl->cmd;
	if (!ioctl) {
		if (!_IOC_SIZE(cmd) || !cmd_dir(cmd))
			return arg_unknown(m, arg);
		/*
		 * The command may state a wrong direction: ALSA's WRITEI_FRAMES writes a result
		 * to memory that the command says is read only.
		 */
		error = arg_seg(m, arg, _IOC_SIZE(cmd), VGPU_INOUT);
		return error == -EFAULT || error == -E2BIG ? arg_value(m, arg) : error;
	}

	m->entry.ioctl = ioctl;
	m->entry.flags = ioctl->flags;
	m->entry.name = ioctl->name;
	switch (ioctl->arg) {
	case VGPU_ARG_STRUCT:
		error = arg_struct(m, ioctl, cmd, arg, compat);
		break;
	case VGPU_ARG_VALUE:
		error = arg_value(m, arg);
		break;
	case VGPU_ARG_STRING:
		error = arg_string(m, arg, ioctl->size);
		break;
	case VGPU_ARG_FD:
		error = arg_fd(m, arg);
		break;
	case VGPU_ARG_MAP:
		m->entry.map = ioctl->map;
		return VGPU_MARSHAL_MAP;
	default:
		return -ioctl->error;
	}
	if (error || !(ioctl->flags & VGPU_IOCTL_RESULT_FD))
		return error;
	return vgpu_marshal_fd_ret(m);
}

long vgpu_marshal_refused(const struct vgpu_marshal *m, long error)
{
	if (!m->found.status || (error != -ENOMEM && error != -ENOSPC))
		return error;
	return copy_to_user(u64_to_user_ptr(m->found.status_addr), &m->found.status,
			    sizeof(m->found.status)) ? -EFAULT : 0;
}

void vgpu_marshal_view(const struct vgpu_marshal *m, const struct vgpu_call *call,
		       struct vgpu_call_view *view)
{
	view->call = call;
	view->segs = m->segs;
	view->fixups = m->fixups;
	view->data = m->data;
	view->scratch_bytes = m->scratch_bytes;
	view->reply_bytes = m->reply_bytes;
}
