// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of NVIDIA's driver for unified memory, /dev/nvidia-uvm. Its commands are bare numbers,
 * so the table has the sizes: those of the open modules 550 to 595, and the largest one where
 * they differ. Every struct ends with a status, which the driver writes. Addresses in the
 * structs are ranges that the driver manages, not memory to read.
 *
 * Ioctls for tools (queues of events, memory of other processes) have no entry, as the driver
 * would pin their buffers; those with an fd have one for the fd.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"

/* Entry for an argument of @n bytes, all of which is plain data except a field of FD_AT or POOL. */
#define UVM(nr, n, what, ...) \
	.cmd = (nr), .name = "UVM_" what, .dir = VGPU_INOUT, .size = (n), \
	.body = { .size = (n), __VA_ARGS__ }
/* An object is identified by the fd of the control file that made it, and by a handle. */
#define FD_AT(at)	VGPU_ONE({ VGPU_FD_IN_AT(at) })
/*
 * Cards write to a semaphore pool, but libcuda works if the program maps the pool in copy mode.
 * All other mappings are managed memory, which programs and cards share without a call. The
 * argument begins with the pool's address.
 */
#define POOL		VGPU_ONE({ .type = VGPU_FIELD_COPIED, .size = sizeof(__u64) })
/* The commands are bare numbers: a command with the same number and a size is another one. */
#define EXACT		.flags = VGPU_IOCTL_EXACT
/* Ioctls that only query, and access no memory. */
#define ASKS		.flags = VGPU_IOCTL_EXACT | VGPU_IOCTL_NO_MAPPED

static const struct vgpu_schema_ioctl uvm_ioctls[] = {
	{ UVM(0x30000001, 16, "INITIALIZE"), ASKS },
	{ .cmd = 0x30000002, .name = "UVM_DEINITIALIZE", .arg = VGPU_ARG_VALUE, EXACT },
	{ UVM(0x17, 16, "CREATE_RANGE_GROUP"), EXACT },
	{ UVM(0x18, 16, "DESTROY_RANGE_GROUP"), EXACT },
	{ UVM(0x19, 32, "REGISTER_GPU_VASPACE", FD_AT(16)), EXACT },
	{ UVM(0x1a, 20, "UNREGISTER_GPU_VASPACE"), EXACT },
	{ UVM(0x1b, 56, "REGISTER_CHANNEL", FD_AT(16)), EXACT },
	{ UVM(0x1c, 28, "UNREGISTER_CHANNEL"), EXACT },
	{ UVM(0x1d, 36, "ENABLE_PEER_ACCESS"), EXACT },
	{ UVM(0x1e, 36, "DISABLE_PEER_ACCESS"), EXACT },
	{ UVM(0x1f, 32, "SET_RANGE_GROUP"), EXACT },
	/* The fd follows the array of the mappings of each card. */
	{ UVM(0x21, 9264, "MAP_EXTERNAL_ALLOCATION", FD_AT(9248)), EXACT },
	{ UVM(0x22, 24, "FREE"), EXACT },
	{ UVM(0x25, 40, "REGISTER_GPU", FD_AT(24)), EXACT },
	{ UVM(0x26, 20, "UNREGISTER_GPU"), EXACT },
	{ UVM(0x27, 8, "PAGEABLE_MEM_ACCESS"), ASKS },
	{ UVM(0x28, 272, "PREVENT_MIGRATION_RANGE_GROUPS"), EXACT },
	{ UVM(0x29, 272, "ALLOW_MIGRATION_RANGE_GROUPS"), EXACT },
	{ UVM(0x2a, 40, "SET_PREFERRED_LOCATION"), EXACT },
	{ UVM(0x2b, 24, "UNSET_PREFERRED_LOCATION"), EXACT },
	{ UVM(0x2c, 24, "ENABLE_READ_DUPLICATION"), EXACT },
	{ UVM(0x2d, 24, "DISABLE_READ_DUPLICATION"), EXACT },
	{ UVM(0x2e, 40, "SET_ACCESSED_BY"), EXACT },
	{ UVM(0x2f, 40, "UNSET_ACCESSED_BY"), EXACT },
	{ UVM(0x33, 80, "MIGRATE"), EXACT },
	{ UVM(0x35, 32, "MIGRATE_RANGE_GROUP"), EXACT },
	{ UVM(0x36, 20, "ENABLE_SYSTEM_WIDE_ATOMICS"), EXACT },
	{ UVM(0x37, 20, "DISABLE_SYSTEM_WIDE_ATOMICS"), EXACT },
	{ UVM(0x38, 64, "TOOLS_INIT_EVENT_TRACKER", FD_AT(44)), EXACT },
	{ UVM(0x41, 40, "MAP_DYNAMIC_PARALLELISM_REGION"), EXACT },
	{ UVM(0x42, 40, "UNMAP_EXTERNAL"), EXACT },
	{ UVM(0x44, 9248, "ALLOC_SEMAPHORE_POOL", POOL), EXACT },
	{ UVM(0x45, 4, "CLEAN_UP_ZOMBIE_RESOURCES"), EXACT },
	{ UVM(0x46, 24, "PAGEABLE_MEM_ACCESS_ON_GPU"), ASKS },
	{ UVM(0x47, 24, "POPULATE_PAGEABLE"), EXACT },
	{ UVM(0x48, 24, "VALIDATE_VA_RANGE"), ASKS },
	{ UVM(0x49, 24, "CREATE_EXTERNAL_RANGE"), EXACT },
	{ UVM(0x4a, 40, "MAP_EXTERNAL_SPARSE"), EXACT },
	{ UVM(0x4b, 8, "MM_INITIALIZE", FD_AT(0)), ASKS },
	{ UVM(0x4c, 64, "TOOLS_INIT_EVENT_TRACKER_V2", FD_AT(44)), EXACT },
	{ UVM(0x4e, 56, "ALLOC_DEVICE_P2P", FD_AT(40)), EXACT },
	{ UVM(0x4f, 4, "CLEAR_ALL_ACCESS_COUNTERS"), EXACT },
	{ UVM(0x50, 32, "DISCARD"), EXACT },
};

const struct vgpu_schema vgpu_schema_uvm = {
	.name = "nvidia-uvm",
	VGPU_IOCTLS(uvm_ioctls),
	/*
	 * cudaMallocManaged returns cudaErrorNotSupported for this errno, cudaErrorUnknown for
	 * others.
	 */
	.polled = EOPNOTSUPP,
	.keepers = VGPU_KEEPERS_NVIDIA,
};
