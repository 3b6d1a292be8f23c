/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions for test programs that play vgpud: they are the agent of the host module, and play
 * guests and shadows as well. Such programs need root, and end vgpud before.
 */
#ifndef AGENT_PLAYED_H
#define AGENT_PLAYED_H

#include <fcntl.h>
#include <linux/vgpu_host.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "hostile_peer.h"

#define LOOPBACK	1		/* CID */
#define PORT		22700
/* vgpud has another range, which the guest module keeps free in programs such as this one. */
#define RESERVED_START	0x3c0000000000ULL
#define RESERVED_SIZE	0x000100000000ULL

/* Makes both ends of a connection. Return: true if they exist. */
static inline bool connect_ends(int ends[2])
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = PORT,
	};
	int listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = -1;
	ends[1] = -1;
	if (!bind(listener, (struct sockaddr *)&addr, sizeof(addr)) && !listen(listener, 1)) {
		ends[0] = peer_connect(LOOPBACK, PORT, false);
		if (ends[0] >= 0)
			ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	close(listener);
	return ends[1] >= 0;
}

/*
 * Makes the test the agent, as shadows of vgpud can execute nothing. The peer is granted
 * /dev/zero, export 1. @features: those that the peer and the agent have agreed to. Return: a file
 * for a shadow, or -1.
 */
static inline int begin_agent_with(int agent, int sock, uint64_t features)
{
	struct vgpu_host_agent role = {
		.size = sizeof(role), .reserved_base = RESERVED_START,
		.reserved_size = RESERVED_SIZE, .fetch_timeout_ms = 2000,
	};
	struct vgpu_host_peer_add peer = {
		.size = sizeof(peer), .sock_fd = sock, .cid = LOOPBACK, .port = PORT,
		.features = features,
	};
	struct vgpu_host_export_add export = {
		.size = sizeof(export), .path_fd = open("/dev/zero", O_PATH | O_CLOEXEC),
		.kind = VGPU_EXPORT_PLAIN, .name = "zero", .path = "/dev/zero",
	};
	struct vgpu_host_grant grant = { .size = sizeof(grant) };
	struct vgpu_host_shadow shadow = { .size = sizeof(shadow), .session = 1 };
	bool failed = ioctl(agent, VGPU_HOST_AGENT, &role) ||
		      ioctl(agent, VGPU_HOST_EXPORT_ADD, &export) ||
		      ioctl(agent, VGPU_HOST_PEER_ADD, &peer);

	close(export.path_fd);
	grant.export = export.out_export;
	grant.peer = peer.out_peer;
	if (failed || ioctl(agent, VGPU_HOST_GRANT, &grant))
		return -1;
	shadow.peer = peer.out_peer;
	return ioctl(agent, VGPU_HOST_SHADOW, &shadow) ? -1 : shadow.out_fd;
}

static inline int begin_agent(int agent, int sock)
{
	return begin_agent_with(agent, sock, 0);
}

#endif /* AGENT_PLAYED_H */
