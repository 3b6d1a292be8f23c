/* SPDX-License-Identifier: GPL-2.0-only */
/* poll and SIGIO of files that show objects. */
#ifndef VGPU_POLL_H
#define VGPU_POLL_H

#include <linux/poll.h>

struct file;

int vgpu_fasync(int fd, struct file *file, int on);
__poll_t vgpu_poll(struct file *file, struct poll_table_struct *wait);

#endif /* VGPU_POLL_H */
