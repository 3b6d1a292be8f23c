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

struct uvm_card_fd {
	__u8 card[16];
	__s32 fd;
	__u8 rest[12];
};

/* An object is identified by the fd of the control file that made it, and by a handle. */
static const struct vgpu_schema_field address_space[] = {
	{ VGPU_FD_IN(struct uvm_card_fd, fd) },
};

struct uvm_channel {
	__u8 card[16];
	__s32 fd;
	__u8 rest[36];
};

static const struct vgpu_schema_field channel[] = {
	{ VGPU_FD_IN(struct uvm_channel, fd) },
};

struct uvm_register_card {
	__u8 card[24];
	__s32 fd;
	__u8 rest[12];
};

static const struct vgpu_schema_field register_card[] = {
	{ VGPU_FD_IN(struct uvm_register_card, fd) },
};

/* The fd follows the array of the mappings of each card. */
struct uvm_map_external {
	__u8 what[9248];
	__s32 fd;
	__u8 rest[12];
};

static const struct vgpu_schema_field map_external[] = {
	{ VGPU_FD_IN(struct uvm_map_external, fd) },
};

struct uvm_tracker {
	__u8 what[44];
	__s32 fd;
	__u8 rest[16];
};

static const struct vgpu_schema_field tracker[] = {
	{ VGPU_FD_IN(struct uvm_tracker, fd) },
};

struct uvm_device_peer {
	__u8 what[40];
	__s32 fd;
	__u8 rest[12];
};

static const struct vgpu_schema_field device_peer[] = {
	{ VGPU_FD_IN(struct uvm_device_peer, fd) },
};

struct uvm_mm {
	__s32 fd;
	__u32 status;
};

static const struct vgpu_schema_field mm[] = {
	{ VGPU_FD_IN(struct uvm_mm, fd) },
};

/*
 * Cards write to a semaphore pool, but libcuda works if the program maps the pool in copy mode.
 * All other mappings are managed memory, which programs and cards share without a call.
 */
struct uvm_pool {
	__u64 base;
	__u8 rest[9240];
};

static const struct vgpu_schema_field pool[] = {
	{ VGPU_COPIED(struct uvm_pool, base) },
};

#define UVM(nr, n, what) \
	.cmd = (nr), .name = "UVM_" what, .dir = VGPU_INOUT, .size = (n)
#define UVM_PLAIN(nr, n, what) \
	UVM(nr, n, what), .body = { .size = (n) }
#define UVM_WITH(nr, s, f, what) \
	UVM(nr, sizeof(s), what), .body = VGPU_STRUCT(s, f)
/* The commands are bare numbers: a command with the same number and a size is another one. */
#define EXACT		.flags = VGPU_IOCTL_EXACT
/* Ioctls that only query, and access no memory. */
#define ASKS		.flags = VGPU_IOCTL_EXACT | VGPU_IOCTL_NO_MAPPED

static const struct vgpu_schema_ioctl uvm_ioctls[] = {
	{ UVM_PLAIN(0x30000001, 16, "INITIALIZE"), ASKS },
	{ .cmd = 0x30000002, .name = "UVM_DEINITIALIZE", .arg = VGPU_ARG_VALUE, EXACT },
	{ UVM_PLAIN(0x17, 16, "CREATE_RANGE_GROUP"), EXACT },
	{ UVM_PLAIN(0x18, 16, "DESTROY_RANGE_GROUP"), EXACT },
	{ UVM_WITH(0x19, struct uvm_card_fd, address_space, "REGISTER_GPU_VASPACE"), EXACT },
	{ UVM_PLAIN(0x1a, 20, "UNREGISTER_GPU_VASPACE"), EXACT },
	{ UVM_WITH(0x1b, struct uvm_channel, channel, "REGISTER_CHANNEL"), EXACT },
	{ UVM_PLAIN(0x1c, 28, "UNREGISTER_CHANNEL"), EXACT },
	{ UVM_PLAIN(0x1d, 36, "ENABLE_PEER_ACCESS"), EXACT },
	{ UVM_PLAIN(0x1e, 36, "DISABLE_PEER_ACCESS"), EXACT },
	{ UVM_PLAIN(0x1f, 32, "SET_RANGE_GROUP"), EXACT },
	{ UVM_WITH(0x21, struct uvm_map_external, map_external, "MAP_EXTERNAL_ALLOCATION"), EXACT },
	{ UVM_PLAIN(0x22, 24, "FREE"), EXACT },
	{ UVM_WITH(0x25, struct uvm_register_card, register_card, "REGISTER_GPU"), EXACT },
	{ UVM_PLAIN(0x26, 20, "UNREGISTER_GPU"), EXACT },
	{ UVM_PLAIN(0x27, 8, "PAGEABLE_MEM_ACCESS"), ASKS },
	{ UVM_PLAIN(0x28, 272, "PREVENT_MIGRATION_RANGE_GROUPS"), EXACT },
	{ UVM_PLAIN(0x29, 272, "ALLOW_MIGRATION_RANGE_GROUPS"), EXACT },
	{ UVM_PLAIN(0x2a, 40, "SET_PREFERRED_LOCATION"), EXACT },
	{ UVM_PLAIN(0x2b, 24, "UNSET_PREFERRED_LOCATION"), EXACT },
	{ UVM_PLAIN(0x2c, 24, "ENABLE_READ_DUPLICATION"), EXACT },
	{ UVM_PLAIN(0x2d, 24, "DISABLE_READ_DUPLICATION"), EXACT },
	{ UVM_PLAIN(0x2e, 40, "SET_ACCESSED_BY"), EXACT },
	{ UVM_PLAIN(0x2f, 40, "UNSET_ACCESSED_BY"), EXACT },
	{ UVM_PLAIN(0x33, 80, "MIGRATE"), EXACT },
	{ UVM_PLAIN(0x35, 32, "MIGRATE_RANGE_GROUP"), EXACT },
	{ UVM_PLAIN(0x36, 20, "ENABLE_SYSTEM_WIDE_ATOMICS"), EXACT },
	{ UVM_PLAIN(0x37, 20, "DISABLE_SYSTEM_WIDE_ATOMICS"), EXACT },
	{ UVM_WITH(0x38, struct uvm_tracker, tracker, "TOOLS_INIT_EVENT_TRACKER"), EXACT },
	{ UVM_PLAIN(0x41, 40, "MAP_DYNAMIC_PARALLELISM_REGION"), EXACT },
	{ UVM_PLAIN(0x42, 40, "UNMAP_EXTERNAL"), EXACT },
	{ UVM_WITH(0x44, struct uvm_pool, pool, "ALLOC_SEMAPHORE_POOL"), EXACT },
	{ UVM_PLAIN(0x45, 4, "CLEAN_UP_ZOMBIE_RESOURCES"), EXACT },
	{ UVM_PLAIN(0x46, 24, "PAGEABLE_MEM_ACCESS_ON_GPU"), ASKS },
	{ UVM_PLAIN(0x47, 24, "POPULATE_PAGEABLE"), EXACT },
	{ UVM_PLAIN(0x48, 24, "VALIDATE_VA_RANGE"), ASKS },
	{ UVM_PLAIN(0x49, 24, "CREATE_EXTERNAL_RANGE"), EXACT },
	{ UVM_PLAIN(0x4a, 40, "MAP_EXTERNAL_SPARSE"), EXACT },
	{ UVM_WITH(0x4b, struct uvm_mm, mm, "MM_INITIALIZE"), ASKS },
	{ UVM_WITH(0x4c, struct uvm_tracker, tracker, "TOOLS_INIT_EVENT_TRACKER_V2"), EXACT },
	{ UVM_WITH(0x4e, struct uvm_device_peer, device_peer, "ALLOC_DEVICE_P2P"), EXACT },
	{ UVM_PLAIN(0x4f, 4, "CLEAR_ALL_ACCESS_COUNTERS"), EXACT },
	{ UVM_PLAIN(0x50, 32, "DISCARD"), EXACT },
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
