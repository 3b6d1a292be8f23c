/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control ioctls: vgpu_cmd_run() looks an ioctl up in the table of a file's role, and copies its
 * argument in. Each role's table is next to its functions.
 */
#ifndef _VGPU_HOST_CMD_H
#define _VGPU_HOST_CMD_H

#include <linux/types.h>

struct file;

/**
 * struct vgpu_cmd - one ioctl of /dev/vgpu-host or of a file made by it
 * @arg: private copy of the caller's struct, @size bytes long
 * @user: address of the caller's struct
 * @user_size: length of the caller's struct in bytes, as the caller says
 * @size: length in bytes of the struct that struct vgpu_cmd_op asks for
 */
struct vgpu_cmd {
	void *arg;
	void __user *user;
	u32 user_size;
	u32 size;
};

struct vgpu_cmd_op {
	u32 cmd;
	u32 size;
	int (*fn)(void *data, struct file *file, struct vgpu_cmd *cmd);
};

#define VGPU_CMD(_cmd, _type, _fn) { .cmd = (_cmd), .size = sizeof(_type), .fn = (_fn) }
#define VGPU_CMD_BYTES_MAX	512

long vgpu_cmd_run(const struct vgpu_cmd_op *ops, unsigned int nr, void *data, struct file *file,
		  unsigned int nr_cmd, unsigned long arg);
/* Copy the outputs to the caller, before anything is published that could not be undone. */
int vgpu_cmd_respond(struct vgpu_cmd *cmd);
/*
 * Copy the outputs, of which @out_fd is one, for a new file that the caller will install as @fd.
 * @file may be an ERR_PTR(), and @fd a negative errno. After a failure, the function has put the
 * file and freed @fd.
 * Return: 0 or a negative errno.
 */
int vgpu_cmd_respond_file(struct vgpu_cmd *cmd, int *out_fd, int fd, struct file *file);

#endif /* _VGPU_HOST_CMD_H */
