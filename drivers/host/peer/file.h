/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of exports: small files of the host's sysfs.
 */
#ifndef _VGPU_HOST_FILE_H
#define _VGPU_HOST_FILE_H

struct vgpu_agent;
struct vgpuh_export;
struct vgpu_host_export_file;
struct vgpu_peer;

int vgpu_file_set(struct vgpu_agent *agent, const struct vgpu_host_export_file *args);
/* Send the files that have changed to the peer. Return: 0, or an error of the connection. */
int vgpu_file_announce(struct vgpu_peer *peer);
void vgpu_file_drop_all(struct vgpuh_export *export);

#endif /* _VGPU_HOST_FILE_H */
