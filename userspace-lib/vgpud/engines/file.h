/* SPDX-License-Identifier: MIT */
/* Small files of exported devices: vgpud tells engines of them. */
#ifndef VGPUD_FILE_H
#define VGPUD_FILE_H

#include <stdbool.h>

struct engine;
struct offer;
struct offer_file;
struct vgpu_host_export_file;

/*
 * Send a file of an export with its content, or without if the file is @gone. Return: 0 or a
 * negative errno.
 */
int file_tell(struct engine *engine, const struct offer *offer, const struct offer_file *file,
	      bool gone);
/* Take a file of an export; see hostdev_export_file(). Return: 0 or a negative errno. */
int engine_export_file(const struct vgpu_host_export_file *arg);

#endif /* VGPUD_FILE_H */
