// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control ioctls: a table for each role of a file, and one contract for all of them (see
 * uapi/linux/vgpu_host.h).
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/cmd.h"
#include "plant.h"

static const struct vgpu_cmd_op *cmd_find(const struct vgpu_cmd_op *ops, unsigned int nr,
					  unsigned int nr_cmd)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ops[i].cmd == nr_cmd)
			return &ops[i];
	return NULL;
}

long vgpu_cmd_run(const struct vgpu_cmd_op *ops, unsigned int nr, void *data, struct file *file,
		  unsigned int nr_cmd, unsigned long arg)
{
	const struct vgpu_cmd_op *op = cmd_find(ops, nr, nr_cmd);
	u64 buf[VGPU_CMD_BYTES_MAX / sizeof(u64)];
	struct vgpu_cmd cmd = { .arg = buf, .user = (void __user *)arg };
	int ret;

	if (!op)
		return -ENOTTY;
	if (!op->size)
		return op->fn(data, file, NULL);
	if (WARN_ON(op->size > sizeof(buf)))
		return -E2BIG;
	if (get_user(cmd.user_size, (u32 __user *)cmd.user))
		return -EFAULT;
	if (cmd.user_size < op->size)
		return -EINVAL;
	/* All bytes that this module does not know are read, so their number is limited. */
	if (cmd.user_size > PAGE_SIZE)
		return -E2BIG;
	/* The function returns -E2BIG if members that this module does not know are not zero. */
	ret = copy_struct_from_user(buf, op->size, cmd.user, cmd.user_size);
	if (ret)
		return ret;
	cmd.size = op->size;
	return op->fn(data, file, &cmd);
}

int vgpu_cmd_respond(struct vgpu_cmd *cmd)
{
	return copy_to_user(cmd->user, cmd->arg, cmd->size) ? -EFAULT : 0;
}

int vgpu_cmd_respond_file(struct vgpu_cmd *cmd, int *out_fd, int fd, struct file *file)
{
	int ret = PTR_ERR_OR_ZERO(file);

	if (!ret) {
		*out_fd = fd;
		ret = vgpu_cmd_respond(cmd);
		if (ret && !vgpu_planted(VGPU_PLANT_RESPOND))
			fput(file);
	}
	if (ret && fd >= 0)
		put_unused_fd(fd);
	return ret;
}
