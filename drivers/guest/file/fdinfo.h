/* SPDX-License-Identifier: GPL-2.0-only */
/* Driver's part of /proc/PID/fdinfo. */
#ifndef VGPU_FDINFO_H
#define VGPU_FDINFO_H

struct file;
struct seq_file;

void vgpu_fdinfo_show(struct seq_file *seq, struct file *file);

#endif /* VGPU_FDINFO_H */
