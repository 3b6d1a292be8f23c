// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of ioctls: find the entry, copy the structure in, run the ioctl, copy it out.
 */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock.h"

#define VGPU_MOCK_ENTRY(name, func, how) \
	[_IOC_NR(VGPU_MOCK_IOC_ ## name)] = { \
		.cmd = VGPU_MOCK_IOC_ ## name, .run = (func), .flags = (how) }

static const struct vgpu_mock_ioctl vgpu_mock_ioctls[VGPU_MOCK_UNDESCRIBED_BIT] = {
	VGPU_MOCK_ENTRY(NOOP, vgpu_mock_noop, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(IN, vgpu_mock_in, 0),
	VGPU_MOCK_ENTRY(OUT, vgpu_mock_out, 0),
	VGPU_MOCK_ENTRY(INOUT, vgpu_mock_inout, 0),
	VGPU_MOCK_ENTRY(INTEGER, vgpu_mock_integer, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(ERROR, vgpu_mock_error, 0),
	VGPU_MOCK_ENTRY(RETURN, vgpu_mock_return, 0),
	VGPU_MOCK_ENTRY(BIG, vgpu_mock_big, 0),
	VGPU_MOCK_ENTRY(OVERREAD, vgpu_mock_overread, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(SELF, vgpu_mock_self, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(EXTENSIBLE, vgpu_mock_extensible, VGPU_MOCK_RAW | VGPU_MOCK_ANY_SIZE),
	VGPU_MOCK_ENTRY(SIZED, vgpu_mock_sized, VGPU_MOCK_RAW),

	VGPU_MOCK_ENTRY(ARRAY_IN, vgpu_mock_array, 0),
	VGPU_MOCK_ENTRY(ARRAY_OUT, vgpu_mock_array, 0),
	VGPU_MOCK_ENTRY(ARRAY_INOUT, vgpu_mock_array, 0),
	VGPU_MOCK_ENTRY(ARRAYS, vgpu_mock_arrays, 0),
	VGPU_MOCK_ENTRY(PTRPTR, vgpu_mock_ptrptr, 0),
	VGPU_MOCK_ENTRY(STRUCTS, vgpu_mock_structs, 0),
	VGPU_MOCK_ENTRY(CHAIN, vgpu_mock_chain, 0),
	VGPU_MOCK_ENTRY(CHUNKS, vgpu_mock_chunks, 0),
	VGPU_MOCK_ENTRY(COUNTED, vgpu_mock_counted_array, 0),
	VGPU_MOCK_ENTRY(STRIDE, vgpu_mock_stride, 0),
	VGPU_MOCK_ENTRY(LARGE_IN, vgpu_mock_large, 0),
	VGPU_MOCK_ENTRY(LARGE_OUT, vgpu_mock_large, 0),
	VGPU_MOCK_ENTRY(LARGE_INOUT, vgpu_mock_large, 0),
	VGPU_MOCK_ENTRY(EITHER, vgpu_mock_either, 0),
	VGPU_MOCK_ENTRY(MOVED, vgpu_mock_moved, 0),
	VGPU_MOCK_ENTRY(STRING, vgpu_mock_string, 0),
	VGPU_MOCK_ENTRY(OPS, vgpu_mock_ops, 0),
	VGPU_MOCK_ENTRY(CONTROLS, vgpu_mock_controls, 0),
	VGPU_MOCK_ENTRY(TABLE, vgpu_mock_table, 0),
	VGPU_MOCK_ENTRY(CAPS, vgpu_mock_caps, 0),
	VGPU_MOCK_ENTRY(LISTS, vgpu_mock_lists, 0),
	VGPU_MOCK_ENTRY(EXEC, vgpu_mock_exec, 0),

	VGPU_MOCK_ENTRY(SLEEP, vgpu_mock_sleep, 0),
	VGPU_MOCK_ENTRY(WAIT, vgpu_mock_wait, 0),
	VGPU_MOCK_ENTRY(WAKE, vgpu_mock_wake, 0),
	VGPU_MOCK_ENTRY(LOCKED, vgpu_mock_locked, 0),
	VGPU_MOCK_ENTRY(WORK, vgpu_mock_work, 0),
	VGPU_MOCK_ENTRY(QUEUE, vgpu_mock_queue, 0),
	VGPU_MOCK_ENTRY(QUEUE_WAIT, vgpu_mock_queue_wait, 0),

	VGPU_MOCK_ENTRY(FD_OUT, vgpu_mock_fd_out, 0),
	VGPU_MOCK_ENTRY(FD_IN, vgpu_mock_fd_in, 0),
	VGPU_MOCK_ENTRY(FDS_IN, vgpu_mock_fds_in, 0),
	VGPU_MOCK_ENTRY(FDS_OUT, vgpu_mock_fds_out, 0),
	VGPU_MOCK_ENTRY(FD_MERGE, vgpu_mock_fd_merge, 0),
	VGPU_MOCK_ENTRY(FD_RETURN, vgpu_mock_fd_return, 0),
	VGPU_MOCK_ENTRY(FD_OPTIONAL, vgpu_mock_fd_optional, 0),
	VGPU_MOCK_ENTRY(FD_SWAP, vgpu_mock_fd_swap, 0),
	VGPU_MOCK_ENTRY(FD_MAYBE, vgpu_mock_fd_maybe, 0),
	VGPU_MOCK_ENTRY(FD_VALUE, vgpu_mock_fd_value, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(FD_HOLD, vgpu_mock_fd_hold, 0),

	VGPU_MOCK_ENTRY(BUF_CREATE, vgpu_mock_buf_create, 0),
	VGPU_MOCK_ENTRY(BUF_DESTROY, vgpu_mock_buf_destroy, 0),
	VGPU_MOCK_ENTRY(BUF_FILL, vgpu_mock_buf_fill, 0),
	VGPU_MOCK_ENTRY(BUF_SUM, vgpu_mock_buf_sum, 0),
	VGPU_MOCK_ENTRY(BUF_INVALIDATE, vgpu_mock_buf_invalidate, 0),
	VGPU_MOCK_ENTRY(BUF_REVOKE, vgpu_mock_buf_revoke, 0),
	VGPU_MOCK_ENTRY(BUF_SYNC, vgpu_mock_buf_sync, 0),
	VGPU_MOCK_ENTRY(BUF_SLOW, vgpu_mock_buf_slow, 0),
	VGPU_MOCK_ENTRY(BUF_ECHO, vgpu_mock_buf_echo, 0),
	VGPU_MOCK_ENTRY(BUF_INFO, vgpu_mock_buf_info, 0),
	VGPU_MOCK_ENTRY(BUF_JOB, vgpu_mock_buf_job, 0),
	VGPU_MOCK_ENTRY(BUF_MAP, vgpu_mock_buf_map, 0),
	VGPU_MOCK_ENTRY(BUF_PLACE, vgpu_mock_buf_place, 0),

	VGPU_MOCK_ENTRY(IO_MODE, vgpu_mock_io_mode, 0),
	VGPU_MOCK_ENTRY(POLL_ARM, vgpu_mock_poll_arm, 0),

	VGPU_MOCK_ENTRY(PIN, vgpu_mock_pin, 0),
	VGPU_MOCK_ENTRY(ATOMIC, vgpu_mock_atomic, 0),
	VGPU_MOCK_ENTRY(INFO, vgpu_mock_info, 0),
	VGPU_MOCK_ENTRY(COUNTERS, vgpu_mock_counters, 0),
	VGPU_MOCK_ENTRY(EXCLUSIVE, vgpu_mock_exclusive, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(COMPAT, vgpu_mock_compat, 0),
	VGPU_MOCK_ENTRY(TIMES, vgpu_mock_times, 0),
	VGPU_MOCK_ENTRY(KEEP, vgpu_mock_keep, 0),
	VGPU_MOCK_ENTRY(KEPT, vgpu_mock_kept, 0),
	VGPU_MOCK_ENTRY(FLUSH, vgpu_mock_flush, VGPU_MOCK_RAW),
	VGPU_MOCK_ENTRY(REACH, vgpu_mock_reach, 0),
};

static const struct vgpu_mock_ioctl vgpu_mock_bare_ioctl = {
	.cmd = VGPU_MOCK_BARE, .run = vgpu_mock_bare, .flags = VGPU_MOCK_RAW,
};

#ifdef CONFIG_COMPAT
static const struct vgpu_mock_ioctl vgpu_mock_compat32_ioctl = {
	.cmd = VGPU_MOCK_IOC_COMPAT32, .run = vgpu_mock_compat, .flags = 0,
};
#endif

static atomic_t vgpu_mock_call_counter[256];

u32 vgpu_mock_calls(unsigned int nr)
{
	return atomic_read(&vgpu_mock_call_counter[nr]);
}

static const struct vgpu_mock_ioctl *vgpu_mock_ioctl_find(unsigned int cmd, bool compat)
{
	unsigned int plain = cmd & ~VGPU_MOCK_UNDESCRIBED_BIT;
	const struct vgpu_mock_ioctl *ioctl;

	if (plain == VGPU_MOCK_BARE)
		return &vgpu_mock_bare_ioctl;
	if (_IOC_TYPE(plain) != VGPU_MOCK_IOC_TYPE)
		return NULL;
#ifdef CONFIG_COMPAT
	if (compat && plain == VGPU_MOCK_IOC_COMPAT32)
		return &vgpu_mock_compat32_ioctl;
	if (compat && plain == VGPU_MOCK_IOC_COMPAT)
		return NULL;
#endif
	ioctl = &vgpu_mock_ioctls[_IOC_NR(plain)];
	if (!ioctl->run)
		return NULL;
	if (ioctl->flags & VGPU_MOCK_ANY_SIZE)
		return _IOC_DIR(plain) == _IOC_DIR(ioctl->cmd) ? ioctl : NULL;
	return plain == ioctl->cmd ? ioctl : NULL;
}

/**
 * vgpu_mock_call_add_fd() - reserve an fd for the program
 * @call: the call
 * @file: file of the new fd; the function takes over the reference, on errors too
 * @flags: O_CLOEXEC or 0
 *
 * The fd is installed when everything has been copied out, and released if the
 * call fails.
 *
 * Return: the fd or -errno.
 */
int vgpu_mock_call_add_fd(struct vgpu_mock_call *call, struct file *file, u32 flags)
{
	struct vgpu_mock_pending_fd *fds;
	int fd;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (call->nr_fds == call->max_fds) {
		fds = krealloc(call->fds, (call->max_fds + 8) * sizeof(*fds), GFP_KERNEL);
		if (!fds) {
			fput(file);
			return -ENOMEM;
		}
		call->fds = fds;
		call->max_fds += 8;
	}
	fd = get_unused_fd_flags(flags & O_CLOEXEC);
	if (fd < 0) {
		fput(file);
		return fd;
	}
	call->fds[call->nr_fds].fd = fd;
	call->fds[call->nr_fds].file = file;
	call->nr_fds++;
	return fd;
}

static void vgpu_mock_call_finish_fds(struct vgpu_mock_call *call, bool ok)
{
	u32 i;

	for (i = 0; i < call->nr_fds; i++) {
		if (ok) {
			fd_install(call->fds[i].fd, call->fds[i].file);
		} else {
			put_unused_fd(call->fds[i].fd);
			fput(call->fds[i].file);
		}
	}
	kfree(call->fds);
}

static long vgpu_mock_call_copied(const struct vgpu_mock_ioctl *ioctl,
				  struct vgpu_mock_call *call)
{
	unsigned int size = _IOC_SIZE(ioctl->cmd);
	unsigned int dir = _IOC_DIR(ioctl->cmd);
	long ret;

	call->data = kzalloc(size, GFP_KERNEL);
	if (!call->data)
		return -ENOMEM;
	if ((dir & _IOC_WRITE) && copy_from_user(call->data, call->user, size)) {
		ret = -EFAULT;
		goto out_free;
	}
	ret = ioctl->run(call);
	/* Results are copied out on errors too. */
	if ((dir & _IOC_READ) && copy_to_user(call->user, call->data, size))
		ret = -EFAULT;
out_free:
	kfree(call->data);
	return ret;
}

/**
 * vgpu_mock_call_run() - run an ioctl
 * @filp: file of the ioctl
 * @cmd: command
 * @arg: argument
 * @compat: true if a 32-bit program made the call
 *
 * Return: the result of the ioctl.
 */
long vgpu_mock_call_run(struct file *filp, unsigned int cmd, unsigned long arg, bool compat)
{
	struct vgpu_mock_call call = {
		.file = filp->private_data,
		.filp = filp,
		.cmd = cmd,
		.arg = arg,
		.user = (void __user *)arg,
		.compat = compat,
	};
	const struct vgpu_mock_ioctl *ioctl = vgpu_mock_ioctl_find(cmd, compat);
	long ret;

	if (!ioctl)
		return -ENOTTY;
	atomic_inc(&vgpu_mock_call_counter[_IOC_NR(cmd)]);
	if (ioctl->flags & VGPU_MOCK_RAW)
		ret = ioctl->run(&call);
	else
		ret = vgpu_mock_call_copied(ioctl, &call);
	vgpu_mock_call_finish_fds(&call, ret >= 0);
	return ret;
}
