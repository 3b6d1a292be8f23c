/* SPDX-License-Identifier: MIT */
/*
 * The part of the vhost-user protocol that a keeper speaks. docs/interop/vhost-user.rst of QEMU
 * describes all of it, with the meaning of each field.
 */
#ifndef KEEPER_VHOST_H
#define KEEPER_VHOST_H

#include <stdint.h>

struct vhost_hdr {
	uint32_t request;
	uint32_t flags;
	uint32_t size;
};

#define VHOST_VERSION		1U
#define VHOST_VERSION_MASK	3U
#define VHOST_REPLY		(1U << 2)
#define VHOST_NEED_REPLY	(1U << 3)

enum vhost_request {
	VHOST_GET_FEATURES		= 1,
	VHOST_SET_FEATURES		= 2,
	VHOST_SET_OWNER			= 3,
	VHOST_RESET_OWNER		= 4,
	VHOST_SET_VRING_NUM		= 8,
	VHOST_SET_VRING_ADDR		= 9,
	VHOST_SET_VRING_BASE		= 10,
	VHOST_GET_VRING_BASE		= 11,
	VHOST_SET_VRING_KICK		= 12,
	VHOST_SET_VRING_CALL		= 13,
	VHOST_SET_VRING_ERR		= 14,
	VHOST_GET_PROTOCOL_FEATURES	= 15,
	VHOST_SET_PROTOCOL_FEATURES	= 16,
	VHOST_GET_QUEUE_NUM		= 17,
	VHOST_SET_VRING_ENABLE		= 18,
	VHOST_SET_BACKEND_REQ_FD	= 21,
	VHOST_GET_CONFIG		= 24,
	VHOST_SET_CONFIG		= 25,
	VHOST_GET_MAX_MEM_SLOTS		= 36,
	VHOST_ADD_MEM_REG		= 37,
	VHOST_REM_MEM_REG		= 38,
	VHOST_GET_SHMEM_CONFIG		= 44,
};

/* Requests to the hypervisor, by the channel that VHOST_SET_BACKEND_REQ_FD has given. */
#define VHOST_BACKEND_SHARED_REMOVE	7
#define VHOST_BACKEND_SHMEM_MAP		9
#define VHOST_BACKEND_SHMEM_UNMAP	10

#define VHOST_FEATURE_PROTOCOL	(1ULL << 30)
#define VHOST_FEATURE_VERSION_1	(1ULL << 32)

#define VHOST_PROTOCOL_MQ		(1ULL << 0)
#define VHOST_PROTOCOL_REPLY_ACK	(1ULL << 3)
#define VHOST_PROTOCOL_BACKEND_REQ	(1ULL << 5)
#define VHOST_PROTOCOL_CONFIG		(1ULL << 9)
#define VHOST_PROTOCOL_BACKEND_SEND_FD	(1ULL << 10)
#define VHOST_PROTOCOL_MEM_SLOTS	(1ULL << 15)
#define VHOST_PROTOCOL_SHMEM		(1ULL << 22)

struct vhost_config {
	uint32_t offset;
	uint32_t size;
	uint32_t flags;
	uint8_t bytes[256];
};

struct vhost_mem_reg {
	uint64_t padding;
	uint64_t guest_addr;
	uint64_t size;
	uint64_t user_addr;
	uint64_t mmap_offset;
};

struct vhost_shmem_config {
	uint32_t nr;
	uint32_t padding;
	uint64_t sizes[256];
};

struct vhost_mmap {
	uint8_t shmid;
	uint8_t padding[7];
	uint64_t fd_offset;
	uint64_t shm_offset;
	uint64_t len;
	uint64_t flags;
};

#define VHOST_MMAP_WRITE	1

#endif /* KEEPER_VHOST_H */
