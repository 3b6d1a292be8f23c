/* SPDX-License-Identifier: GPL-2.0-only */
/* Eventfds of this machine that a host's driver signals, see event.c. */
#ifndef VGPU_EVENT_H
#define VGPU_EVENT_H

#include <linux/types.h>

struct vgpu_host;
struct vgpu_object;
struct work_struct;

int vgpu_event_add(struct vgpu_object *object, int fd, u32 *number);
void vgpu_event_cancel(struct vgpu_host *host, u32 number);
void vgpu_event_signal(struct vgpu_host *host, u32 number);
void vgpu_event_signal_work(struct work_struct *work);
void vgpu_event_drop_all(struct vgpu_object *object);

#endif /* VGPU_EVENT_H */
