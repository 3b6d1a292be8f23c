/* SPDX-License-Identifier: MIT */
/*
 * User-space engines: what the host module does, in a process for each guest. Functions are as
 * those of hostdev.h, which calls them where the settings choose this engine.
 */
#ifndef VGPUD_ENGINE_H
#define VGPUD_ENGINE_H

#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

struct device_change;
struct peer;
struct session;

/* Looks for what engines need. 0, or a negative errno, having said what is missing. */
int engine_init(void);

int engine_export_add(struct vgpu_host_export_add *arg);
int engine_export_del(uint32_t export);
int engine_export_change(uint32_t export, const struct device_change *change);
int engine_export_file(const struct vgpu_host_export_file *arg);
int engine_peer_add(struct vgpu_host_peer_add *arg);
int engine_peer_del(uint32_t peer);
int engine_grant(struct vgpu_host_grant *arg);
int engine_revoke(uint32_t peer, uint32_t export);
int engine_shadow(uint32_t peer, uint64_t session);
int engine_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat);
/* Devices' memory that the guest's engine owns now, in bytes. */
uint64_t engine_owned_bytes(uint32_t peer);
/* Makes the shadow whose end of the connection is @shadow_fd. */
int engine_spawn_shadow(struct peer *peer, const char *comm, int shadow_fd, pid_t *pid,
			int *lanes_fd);
/* Most mappings of a guest's memory that a shadow has at once. */
uint32_t engine_pieces_max(void);
/* A hypervisor has connected to the guest's window. */
void engine_keeper_came(uint32_t cid, uint32_t port);
/* What the guest has in its window. */
void engine_window_stat(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);
/* The program of that name, beside the module's shadow. A file, or an errno, having said so. */
int engine_program_open(const char *name);

/**
 * engine_pair_open - make a pair of connected sockets between an engine and what works with it
 * @pair: filled in: the sockets
 *
 * Neither end waits until the other one has read, and one that finds no room gives the other up.
 * So there is room for all that may be said at once: each of a shadow's mappings may end
 * twice, and all of a window's may end together.
 *
 * Return: 0, or a negative errno.
 */
int engine_pair_open(int pair[2]);

/**
 * engine_pair_make - make such a pair of which vgpud keeps one end
 * @pair: filled in: the sockets; nothing can be sent to the first, which is to be vgpud's
 *
 * Return: 0, or a negative errno.
 */
int engine_pair_make(int pair[2]);
/* A child has ended: perhaps a shadow that was made so. */
void engine_shadow_ended(pid_t pid);
/* Perhaps an engine. */
void engine_reaped(pid_t pid, int status);

#endif /* VGPUD_ENGINE_H */
