/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls on open files. */
#ifndef VGPU_FILE_CALL_H
#define VGPU_FILE_CALL_H

#include <linux/fcntl.h>
#include <linux/types.h>

struct file;
struct vgpu_guest_call;

/* Flags that each call carries: the access mode, and the flags that fcntl() can change. */
#define VGPU_FILE_CALL_FLAGS	(O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME)

void vgpu_file_fill_call(struct file *file, struct vgpu_guest_call *xcall, u16 op, loff_t pos);
s64 vgpu_file_call(struct file *file, struct vgpu_guest_call *xcall, bool *replied);

#endif /* VGPU_FILE_CALL_H */
