/* SPDX-License-Identifier: MIT */
/* What vgpuctl shows, in words (print.c) and as JSON (json.c). */
#ifndef VGPUCTL_H
#define VGPUCTL_H

#include <stdbool.h>

#include "vgpu.h"

/**
 * struct machine - both sides of vgpu on this machine
 * @host: NULL: no agent runs here
 * @is_guest: the guest module is loaded
 * @nodes: its devices
 * @nr_nodes: how many
 */
struct machine {
	struct vgpu_host_info *host;
	bool is_guest;
	struct vgpu_node_info *nodes;
	size_t nr_nodes;
};

/* status: more than a list. */
void print_machine(const struct machine *machine, bool status);
void print_machine_json(const struct machine *machine, bool status);

void print_windows(const struct vgpu_host_info *host);
void print_windows_json(const struct vgpu_host_info *host);
/* How QEMU is told of a guest's window; port 0: the agent's. false: it has none. */
bool print_qemu_args(const struct vgpu_host_info *host, uint32_t cid, uint32_t port, bool memory);

#endif /* VGPUCTL_H */
