// SPDX-License-Identifier: MIT
/*
 * Fields of the escapes of NVIDIA's driver that programs make most. The structs are those that the
 * guest's schema has (drivers/guest/argument/schema/nvidia.c); drivers 515 to 595 have the same.
 */
#include <stdint.h>

#include "vgpuctl/trace/fields.h"

struct control {
	uint32_t client;
	uint32_t object;
	uint32_t cmd;
	uint32_t flags;
	uint64_t params;
	uint32_t size;
	uint32_t status;
};

/* The longer form of RM_ALLOC has other fields behind params. */
struct alloc {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t class;
	uint64_t params;
};

struct free {
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t status;
};

struct map_memory {
	uint32_t client;
	uint32_t device;
	uint32_t memory;
	uint32_t pad;
	uint64_t offset;
	uint64_t length;
	uint64_t address;
	uint32_t status;
	uint32_t flags;
	int32_t fd;
};

struct os_event {
	uint32_t client;
	uint32_t device;
	int32_t fd;
	uint32_t status;
};

struct register_fd {
	int32_t control;
};

#define D(s, m)	TRACE_NUMBER(struct s, m)
#define X(s, m)	TRACE_HEX(struct s, m)

static const struct trace_field control[] = {
	X(control, client), X(control, object), X(control, cmd), X(control, flags),
	X(control, params), D(control, size), X(control, status),
};

static const struct trace_field alloc[] = {
	X(alloc, client), X(alloc, parent), X(alloc, object), X(alloc, class), X(alloc, params),
};

static const struct trace_field free_object[] = {
	X(free, client), X(free, parent), X(free, object), X(free, status),
};

static const struct trace_field map_memory[] = {
	X(map_memory, client), X(map_memory, device), X(map_memory, memory),
	X(map_memory, offset), X(map_memory, length), X(map_memory, address),
	X(map_memory, status), X(map_memory, flags), D(map_memory, fd),
};

static const struct trace_field os_event[] = {
	X(os_event, client), X(os_event, device), D(os_event, fd), X(os_event, status),
};

static const struct trace_field register_fd[] = {
	D(register_fd, control),
};

#define ESCAPE(ioctl, table)	{ ioctl, 0, table, sizeof(table) / sizeof((table)[0]) }

const struct trace_fields trace_fields_nvidia[] = {
	ESCAPE("NV_ESC_RM_CONTROL", control),
	ESCAPE("NV_ESC_RM_ALLOC", alloc),
	ESCAPE("NV_ESC_RM_FREE", free_object),
	ESCAPE("NV_ESC_RM_MAP_MEMORY", map_memory),
	ESCAPE("NV_ESC_ALLOC_OS_EVENT", os_event),
	ESCAPE("NV_ESC_FREE_OS_EVENT", os_event),
	ESCAPE("NV_ESC_REGISTER_FD", register_fd),
	{ NULL }
};
