/* SPDX-License-Identifier: MIT */
/*
 * /dev/vgpu-host: the host module, as its agent sees it. All functions return 0
 * or a negative errno.
 */
#ifndef VGPUD_HOSTDEV_H
#define VGPUD_HOSTDEV_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/vgpu_host.h>

struct device_change;

/* Becomes the agent. -ENOENT: no module; -EBUSY: another agent. */
int hostdev_open(void);
/* In place of hostdev_open(): user-space engines serve the guests. */
int hostdev_open_engines(void);
bool hostdev_is_engine(void);
void hostdev_close(void);

int hostdev_export_add(struct vgpu_host_export_add *arg);
int hostdev_export_del(uint32_t export);
int hostdev_export_change(uint32_t export, const struct device_change *change);
int hostdev_export_file(struct vgpu_host_export_file *arg);
int hostdev_peer_add(struct vgpu_host_peer_add *arg);
int hostdev_peer_del(uint32_t peer);
int hostdev_grant(struct vgpu_host_grant *arg);
int hostdev_revoke(uint32_t peer, uint32_t export);
/* Returns the shadow's file. */
int hostdev_shadow(uint32_t peer, uint64_t session);
int hostdev_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat);
/* The module owns none: its windows have the mappings of shadows. */
uint64_t hostdev_owned_bytes(uint32_t peer);
/* A hypervisor has connected to where it may tell of the guest's memory. */
void hostdev_keeper_came(uint32_t cid, uint32_t port);
/* Begins to listen for hypervisors of guests whose windows the module has already. */
void hostdev_listen(void);
int hostdev_window_create(struct vgpu_host_window_create *arg);
int hostdev_window_drain(uint32_t cid, uint32_t port, bool drain);
int hostdev_window_destroy(uint32_t cid, uint32_t port, bool force);
/* The first window after that of @cid and @port; 0 and 0: of all. */
int hostdev_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);

#endif /* VGPUD_HOSTDEV_H */
