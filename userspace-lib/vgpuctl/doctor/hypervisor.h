/* SPDX-License-Identifier: MIT */
/* QEMUs of a host, and processes that serve vsock for them, by their arguments. */
#ifndef VGPUCTL_DOCTOR_HYPERVISOR_H
#define VGPUCTL_DOCTOR_HYPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vgpuctl/doctor/root.h"

/**
 * struct hypervisor - a process
 * @pid: ID of the process
 * @cid: context ID that it gives to its guest; 0: none
 * @vsock_socket: true if another process serves its guest's vsock
 * @daemon: true if the process only serves vsock for a QEMU
 * @window: guest whose window the process opens; 0: none
 * @size: size of that window as the arguments say; 0: they do not
 * @by_socket: true if the window is a socket of a user-space engine
 * @shared: true if the window is given with share=on
 * @aligned: true if the window is given with align=
 * @master: true if a device ivshmem-plain has master=on
 * @vfio: true if it has a device of VFIO
 * @encrypted: true if the guest's memory is encrypted
 */
struct hypervisor {
	uint32_t pid;
	uint32_t cid;
	bool vsock_socket;
	bool daemon;
	uint32_t window;
	unsigned long long size;
	bool by_socket;
	bool shared;
	bool aligned;
	bool master;
	bool vfio;
	bool encrypted;
};

/**
 * struct hypervisors - all such processes
 * @list: array of the processes
 * @nr: number of entries of @list
 * @all: false if processes of other users may be hidden
 */
struct hypervisors {
	struct hypervisor *list;
	size_t nr;
	bool all;
};

/* Find the processes. Return: false: out of memory. */
bool hypervisors_find(const struct root *root, struct hypervisors *hypervisors);
/* Return: the process that gives its guest this context ID; NULL: none does. */
const struct hypervisor *hypervisor_of(const struct hypervisors *hypervisors, uint32_t cid);

#endif /* VGPUCTL_DOCTOR_HYPERVISOR_H */
