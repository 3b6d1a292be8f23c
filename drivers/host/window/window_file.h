/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device file of a window.
 */
#ifndef _VGPU_HOST_WINDOW_FILE_H
#define _VGPU_HOST_WINDOW_FILE_H

#include <linux/fs.h>

extern const struct file_operations vgpuh_window_fops;

#endif /* _VGPU_HOST_WINDOW_FILE_H */
