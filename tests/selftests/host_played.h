/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions for test programs that play the host: the guest module is loaded so that it
 * connects to the program, which sends any messages. Such programs need root, and connect
 * the guest to its real host again at the end.
 */
#ifndef HOST_PLAYED_H
#define HOST_PLAYED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <endian.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <linux/vgpu_wire.h>

#include "tool.h"

#define PORT	22999

static int listener = -1, control = -1;
static uint32_t last_export;

static bool send_all(const void *data, size_t len)
{
	return send(control, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool host_listen(unsigned int port)
{
	struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port,
	};

	listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listener >= 0 && !bind(listener, (struct sockaddr *)&address, sizeof(address)) &&
	       !listen(listener, 4);
}

/* Receives the guest's HELLO and answers with WELCOME. Return: false on errors. */
static bool host_welcome(void)
{
	struct vgpu_welcome welcome = {
		.hdr.len = htole32(sizeof(welcome)),
		.hdr.type = htole16(VGPU_MSG_WELCOME),
		.magic = htole32(VGPU_WIRE_MAGIC),
		.version = htole16(VGPU_WIRE_VERSION),
		.features = htole64(VGPU_FEATURES),
		.reserved_base = htole64(0x3e0000000000),
		.reserved_size = htole64(4ULL << 30),
		.call_bytes_max = htole32(VGPU_CALL_BYTES_MIN),
		.segs_max = htole32(16),
		.fixups_max = htole32(16),
		.lanes_max = htole32(4),
	};
	struct timeval patience = { .tv_sec = 30 };
	struct vgpu_hello hello;

	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (;;) {
		control = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (control < 0)
			return false;
		setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		if (recv(control, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello) &&
		    recv(control, &hello, 1, MSG_PEEK | MSG_DONTWAIT) &&
		    send_all(&welcome, sizeof(welcome)))
			return true;
		/* This connection came from the module that was loaded before. */
		close(control);
	}
}

static void fill_export(struct vgpu_export_add *add, const char *name, const char *bus_id)
{
	memset(add, 0, sizeof(*add));
	add->hdr.len = htole32(sizeof(*add));
	add->hdr.type = htole16(VGPU_MSG_EXPORT_ADD);
	add->export = htole32(++last_export);
	add->kind = htole32(VGPU_EXPORT_DRM_PRIMARY);
	strcpy((char *)add->name, name);
	strcpy((char *)add->path, "/dev/dri/card0");
	if (!bus_id)
		return;
	add->bus = htole32(VGPU_BUS_PCI);
	strcpy((char *)add->bus_id, bus_id);
}

/* Fills an export of a display, with a PCI header as full as that of a real one. */
static inline void fill_pci(struct vgpu_export_add *add, const char *name, const char *bus_id,
			    unsigned int vendor, unsigned int device)
{
	unsigned char *header = add->pci_header;

	fill_export(add, name, bus_id);
	memset(header, 0xa5, sizeof(add->pci_header));
	header[0x00] = vendor;
	header[0x01] = vendor >> 8;
	header[0x02] = device;
	header[0x03] = device >> 8;
	header[0x09] = 0;
	header[0x0a] = 0;
	header[0x0b] = 3;
	header[0x0e] = 0x80;
}

static inline bool native(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && !strcmp(tier, "native");
}

/* Return: the guest module is loaded, and this program is its first host. */
static bool guest_is_ours(void)
{
	char ports[32];

	tool_read_line("/sys/module/vgpu_guest/parameters/port", ports, sizeof(ports));
	return atoi(ports) == PORT;
}

/* Brings the real host's devices back, and loads the guest module for that host if need be. */
static inline bool restore(void)
{
	const char *tier = getenv("VGPU_TIER");

	/* A file that was just closed may hold the module for a moment. */
	if (guest_is_ours())
		tool_run("for i in $(seq 100); do rmmod vgpu_guest && exit; busybox usleep 50000; done");
	return !tool_run("/usr/lib/vgpu-test/setup guest %s $(cat /run/vgpu-exports) && "
			 "/usr/lib/vgpu-test/setup env",
			 tier && !strcmp(tier, "pair") ? "2" : "1")->status;
}

/* Loads the guest module with this program as its host. Return: 0, or -1. */
static inline int host_begin(void)
{
	tool_run("modprobe -q vsock_loopback");
	if (!host_listen(PORT))
		return -1;
	tool_run("rmmod vgpu_guest");
	return tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status || !host_welcome() ? -1 : 0;
}

/*
 * Makes this program the host of the guest module, as host_begin(). A module that host_leave() has
 * left is used again, because loading takes longer than the test on slow machines.
 */
static inline int host_begin_again(void)
{
	if (guest_is_ours())
		return host_listen(PORT) && host_welcome() ? 0 : -1;
	return host_begin();
}

static inline void host_end(void)
{
	close(control);
	close(listener);
	control = -1;
	listener = -1;
	tool_run("rmmod vgpu_guest");
}

/* Leaves the module without a host and without devices, for host_begin_again() of the next test. */
static inline void host_leave(void)
{
	uint64_t deadline = tool_now_ms() + 30000;
	glob_t paths = {};

	close(control);
	close(listener);
	control = -1;
	listener = -1;
	while (glob("/sys/class/vgpu/vgpu*", 0, NULL, &paths) != GLOB_NOMATCH &&
	       tool_now_ms() < deadline) {
		globfree(&paths);
		usleep(20000);
	}
	globfree(&paths);
}

static int other_listener = -1, other_control = -1;

/* Makes the other host the current one. */
static inline void host_switch(void)
{
	int listening = listener, connected = control;

	listener = other_listener;
	control = other_control;
	other_listener = listening;
	other_control = connected;
}

/*
 * Loads the guest module with this program as two hosts. host_end() ends the current one. Return:
 * 0, or -1.
 */
static inline int hosts_begin(void)
{
	tool_run("modprobe -q vsock_loopback");
	if (!host_listen(PORT + 1))
		return -1;
	host_switch();
	if (!host_listen(PORT))
		return -1;
	tool_run("rmmod vgpu_guest");
	if (tool_run("modprobe vgpu_guest cid=1,1 port=%d,%d", PORT, PORT + 1)->status ||
	    !host_welcome())
		return -1;
	host_switch();
	if (!host_welcome())
		return -1;
	host_switch();
	return 0;
}

/* The program's main(): it brings the real host back after the tests, for other programs. */
#define PLAYED_MAIN \
	int main(int argc, char **argv) \
	{ \
		pid_t pid = fork(); \
		int status; \
\
		if (!pid) \
			return test_harness_run(argc, argv); \
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || \
		    (!native() && !restore())) \
			return KSFT_FAIL; \
		return WEXITSTATUS(status); \
	}

#endif /* HOST_PLAYED_H */
