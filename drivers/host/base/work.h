/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workqueues that all peers share.
 */
#ifndef _VGPU_HOST_WORK_H
#define _VGPU_HOST_WORK_H

struct workqueue_struct;

/* Deferred work of all peers that does not wait for guests or drivers: poll, ends of sessions. */
extern struct workqueue_struct *vgpu_host_wq;
/* Deferred work that may wait for a guest that does not read, or for a driver's ->release. */
extern struct workqueue_struct *vgpu_host_patient_wq;

int vgpu_work_init(void);
void vgpu_work_exit(void);

#endif /* _VGPU_HOST_WORK_H */
