/* SPDX-License-Identifier: GPL-2.0-only */
/* Control connection of a host, from the handshake to its end. */
#ifndef VGPU_CONNECTION_H
#define VGPU_CONNECTION_H

#include <linux/types.h>

struct vgpu_host;

struct vgpu_host *vgpu_host_connect(u32 cid, u32 port, bool *refused);
int vgpu_host_serve(struct vgpu_host *host);
void vgpu_host_shutdown(struct vgpu_host *host);
void vgpu_host_abort(struct vgpu_host *host);

#endif /* VGPU_CONNECTION_H */
