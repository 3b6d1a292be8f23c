/* SPDX-License-Identifier: MIT */
/*
 * User-space engines: a process for each guest does the work of the host module. The functions
 * take the arguments of those in hostdev.h. hostdev.c calls them if the settings choose this
 * engine.
 */
#ifndef VGPUD_ENGINE_H
#define VGPUD_ENGINE_H

#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

struct device_change;
struct host_events;
struct sandbox;

/*
 * Check that the host has all that engines need. @handlers stays the caller's. Return: 0, or a negative errno; the log then
 * names what is missing.
 */
int engine_init(const struct host_events *handlers);

int engine_export_add(struct vgpu_host_export_add *arg);
int engine_export_del(uint32_t export);
int engine_export_change(uint32_t export, const struct device_change *change);
int engine_export_file(const struct vgpu_host_export_file *arg);
int engine_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox);
int engine_peer_del(uint32_t peer);
int engine_grant(struct vgpu_host_grant *arg);
int engine_revoke(uint32_t peer, uint32_t export);
int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions);
int engine_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat);
/* Return the bytes of device memory that the guest's engine owns at the moment. */
uint64_t engine_owned_bytes(uint32_t peer);
/* Start a shadow. @shadow_fd is the shadow's end of its connection to the engine. */
int engine_spawn_shadow(uint32_t peer, const char *comm, int shadow_fd, pid_t *pid,
			int *lanes_fd);
/* Notify the guest's engine that a hypervisor has connected to the guest's window. */
void engine_keeper_came(uint32_t cid, uint32_t port);
/* Fill in the fields of @stat that say what the guest has in its window. */
void engine_window_stat(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);
/* Handle the end of a child of vgpud, which may be a shadow of engine_spawn_shadow(). */
void engine_shadow_ended(pid_t pid);
/* Handle the end of a child of vgpud, which may be an engine. */
void engine_reaped(pid_t pid, int status);

#endif /* VGPUD_ENGINE_H */
