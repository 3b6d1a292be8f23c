// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of xe: xe_drm.h, which exists from 6.8; other ioctls are DRM core's. A guest that is
 * built with older headers has only those.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#ifdef DRM_IOCTL_XE_DEVICE_QUERY

/*
 * Chain of properties of a new object. A value may be an address, depending on the device: its
 * memory is left to demand paging.
 */
static const struct vgpu_schema_node properties[] = {
	{ .body = VGPU_PLAIN(struct drm_xe_ext_set_property), .dir = VGPU_IN },
};

static const struct vgpu_schema_chain property_chain = {
	.head = sizeof(struct drm_xe_user_extension),
	.next = offsetof(struct drm_xe_user_extension, next_extension),
	.tag = offsetof(struct drm_xe_user_extension, name),
	.tag_size = sizeof_field(struct drm_xe_user_extension, name),
	.max = 16,
	.nr_nodes = ARRAY_SIZE(properties),
	.nodes = properties,
};

/* The program chooses the clock of the time. */
#define CYCLES	struct drm_xe_query_engine_cycles
#define CYCLES_TIME(id, c) \
	{ VGPU_STAMP(CYCLES, cpu_timestamp), .clock = (c), \
	  .when = VGPU_WHEN_EQUAL(CYCLES, clockid, id) }

static const struct vgpu_schema_field engine_cycles[] = {
	CYCLES_TIME(CLOCK_MONOTONIC, VGPU_CLOCK_MONOTONIC),
	CYCLES_TIME(CLOCK_REALTIME, VGPU_CLOCK_REALTIME),
	CYCLES_TIME(CLOCK_MONOTONIC_RAW, VGPU_CLOCK_RAW),
};

static const struct vgpu_schema_struct an_engine_cycles = VGPU_STRUCT(CYCLES, engine_cycles);

/* Programs query the size first, without room; some queries read the buffer, too. */
static const struct vgpu_schema_field device_query[] = {
	{ VGPU_PTR(struct drm_xe_device_query, data), .dir = VGPU_INOUT,
	  .elem = &an_engine_cycles, .stride = VGPU_FIELD(struct drm_xe_device_query, size),
	  .when = VGPU_WHEN_EQUAL(struct drm_xe_device_query, query,
				  DRM_XE_DEVICE_QUERY_ENGINE_CYCLES) },
	FILLS(struct drm_xe_device_query, data, __u8, size),
};

static const struct vgpu_schema_field gem_create[] = {
	{ VGPU_CHAIN(struct drm_xe_gem_create, extensions), .chain = &property_chain },
};

/* The device would keep memory of the process: a range, or a mirror of the whole. */
static const struct vgpu_schema_field bind_op[] = {
	{ VGPU_USERPTR(struct drm_xe_vm_bind_op, userptr), .error = EOPNOTSUPP,
	  .when = VGPU_WHEN_EQUAL(struct drm_xe_vm_bind_op, op, DRM_XE_VM_BIND_OP_MAP_USERPTR) },
#ifdef DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR
	{ VGPU_USERPTR(struct drm_xe_vm_bind_op, flags), .error = EOPNOTSUPP,
	  .when = VGPU_WHEN_FLAG(struct drm_xe_vm_bind_op, flags,
				 DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR) },
#endif
};

static const struct vgpu_schema_struct a_bind_op =
	VGPU_STRUCT(struct drm_xe_vm_bind_op, bind_op);

/* The kernel writes to this fence later: it would keep the memory as well. */
static const struct vgpu_schema_field bind_sync[] = {
	{ VGPU_USERPTR(struct drm_xe_sync, addr), .error = EOPNOTSUPP,
	  .when = VGPU_WHEN_EQUAL(struct drm_xe_sync, type, DRM_XE_SYNC_TYPE_USER_FENCE) },
};

static const struct vgpu_schema_struct a_bind_sync = VGPU_STRUCT(struct drm_xe_sync, bind_sync);

/* A single operation is in the struct itself, several are in an array. */
static const struct vgpu_schema_field vm_bind[] = {
	{ VGPU_INSIDE(struct drm_xe_vm_bind, bind), .elem = &a_bind_op,
	  .when = VGPU_WHEN_EQUAL(struct drm_xe_vm_bind, num_binds, 1) },
	{ VGPU_PTR(struct drm_xe_vm_bind, vector_of_binds), .dir = VGPU_IN, .elem = &a_bind_op,
	  .count = VGPU_FIELD(struct drm_xe_vm_bind, num_binds) },
	{ VGPU_PTR(struct drm_xe_vm_bind, syncs), .dir = VGPU_IN, .elem = &a_bind_sync,
	  .count = VGPU_FIELD(struct drm_xe_vm_bind, num_syncs) },
};

static const struct vgpu_schema_field queue_create[] = {
	{ VGPU_CHAIN(struct drm_xe_exec_queue_create, extensions), .chain = &property_chain },
	{ VGPU_PTR(struct drm_xe_exec_queue_create, instances), .dir = VGPU_IN,
	  .unit = sizeof(struct drm_xe_engine_class_instance),
	  .count = VGPU_FIELD(struct drm_xe_exec_queue_create, width),
	  .times = VGPU_FIELD(struct drm_xe_exec_queue_create, num_placements) },
};

/* The field is the address of one batch, or of an array of addresses of batches. */
static const struct vgpu_schema_field exec[] = {
	READS(struct drm_xe_exec, syncs, struct drm_xe_sync, num_syncs),
	{ VGPU_PLAIN_IF(struct drm_xe_exec, address),
	  .when = VGPU_WHEN_EQUAL(struct drm_xe_exec, num_batch_buffer, 1) },
	READS(struct drm_xe_exec, address, __u64, num_batch_buffer),
};

#define OBSERVE struct drm_xe_observation_param
#define WHEN_OP(n) \
	VGPU_WHEN_EQUAL(OBSERVE, observation_op, DRM_XE_OBSERVATION_OP_ ## n)

/* Field of pairs of a register and its value. */
static const struct vgpu_schema_field oa_config[] = {
	{ VGPU_PTR(struct drm_xe_oa_config, regs_ptr), .dir = VGPU_IN, .unit = 2 * sizeof(__u32),
	  .count = VGPU_FIELD(struct drm_xe_oa_config, n_regs) },
};

static const struct vgpu_schema_struct an_oa_config =
	VGPU_STRUCT(struct drm_xe_oa_config, oa_config);

static const struct vgpu_schema_field observation[] = {
	{ VGPU_RESULT_FD(), .when = WHEN_OP(STREAM_OPEN) },
	{ VGPU_CHAIN(OBSERVE, param), .chain = &property_chain, .when = WHEN_OP(STREAM_OPEN) },
	{ VGPU_PTR(OBSERVE, param), .dir = VGPU_IN, .elem = &an_oa_config,
	  .when = WHEN_OP(ADD_CONFIG) },
	{ VGPU_PTR(OBSERVE, param), .dir = VGPU_IN, .unit = sizeof(__u64),
	  .when = WHEN_OP(REMOVE_CONFIG) },
};

#ifdef DRM_IOCTL_XE_MADVISE
#define MADVISE struct drm_xe_madvise

/* The values 0 and -1 are no fds; an fd is that of another device of the same host. */
static const struct vgpu_schema_field range_advice[] = {
	{ VGPU_PLAIN_IF(MADVISE, preferred_mem_loc.devmem_fd),
	  .when = VGPU_WHEN_EQUAL(MADVISE, preferred_mem_loc.devmem_fd, 0) },
	{ VGPU_FD_IN(MADVISE, preferred_mem_loc.devmem_fd),
	  .when = VGPU_WHEN_EQUAL(MADVISE, type, DRM_XE_MEM_RANGE_ATTR_PREFERRED_LOC) },
#ifdef DRM_XE_VMA_ATTR_PURGEABLE_STATE
	{ VGPU_PTR(MADVISE, purge_state_val.retained_ptr), .dir = VGPU_INOUT,
	  .unit = sizeof(__u32),
	  .when = VGPU_WHEN_EQUAL(MADVISE, type, DRM_XE_VMA_ATTR_PURGEABLE_STATE) },
#endif
};

#define RANGES struct drm_xe_vm_query_mem_range_attr
#endif

/* Ioctls of a stream that OBSERVATION has opened: bare numbers. */
static const struct vgpu_schema_field stream_config[] = {
	{ VGPU_CHAIN(struct drm_xe_ext_set_property, base.next_extension),
	  .chain = &property_chain },
};

static const struct vgpu_schema_ioctl xe_ioctls[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_DEVICE_QUERY, device_query), BOOKS },
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_GEM_CREATE, gem_create) },
	{ VGPU_IOCTL(DRM_IOCTL_XE_GEM_MMAP_OFFSET), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_XE_VM_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_XE_VM_DESTROY) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_VM_BIND, vm_bind) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_EXEC_QUEUE_CREATE, queue_create), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_XE_EXEC_QUEUE_DESTROY) },
	{ VGPU_IOCTL(DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_EXEC, exec) },
	/*
	 * The ioctl waits for a value in mapped memory. The schema does not describe the address
	 * as a pointer: the driver must read the memory itself, not a copy in a segment.
	 */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_XE_WAIT_USER_FENCE,
			 { VGPU_TIME(struct drm_xe_wait_user_fence, timeout),
			   .when = VGPU_WHEN_FLAG(struct drm_xe_wait_user_fence, flags,
						  DRM_XE_UFENCE_WAIT_FLAG_ABSTIME) }) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_OBSERVATION, observation) },
#ifdef DRM_IOCTL_XE_MADVISE
	{ VGPU_IOCTL_WITH(DRM_IOCTL_XE_MADVISE, range_advice) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS,
			 { VGPU_PTR(RANGES, vector_of_mem_attr), .dir = VGPU_INOUT,
			   .count = VGPU_FIELD(RANGES, num_mem_ranges),
			   .stride = VGPU_FIELD(RANGES, sizeof_mem_range_attr) }), BOOKS },
#endif
#ifdef DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY
	{ VGPU_IOCTL(DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY), BOOKS },
#endif
#ifdef DRM_IOCTL_XE_VM_GET_PROPERTY
	{ VGPU_IOCTL_ONE(DRM_IOCTL_XE_VM_GET_PROPERTY,
			 { VGPU_PTR(struct drm_xe_vm_get_property, data), .dir = VGPU_INOUT,
			   .count = VGPU_FIELD(struct drm_xe_vm_get_property, size),
			   .when = VGPU_WHEN_EQUAL(struct drm_xe_vm_get_property, property,
						   DRM_XE_VM_GET_PROPERTY_FAULTS) }), BOOKS },
#endif
	{ VGPU_IOCTL_NO_ARG(DRM_XE_OBSERVATION_IOCTL_ENABLE) },
	{ VGPU_IOCTL_NO_ARG(DRM_XE_OBSERVATION_IOCTL_DISABLE) },
	{ VGPU_IOCTL_WITH_OF(DRM_XE_OBSERVATION_IOCTL_CONFIG, struct drm_xe_ext_set_property,
			     stream_config),
	  .size = sizeof(struct drm_xe_ext_set_property), .dir = VGPU_IN },
	{ VGPU_IOCTL_OF(DRM_XE_OBSERVATION_IOCTL_STATUS, struct drm_xe_oa_stream_status),
	  .size = sizeof(struct drm_xe_oa_stream_status), .dir = VGPU_OUT },
	{ VGPU_IOCTL_OF(DRM_XE_OBSERVATION_IOCTL_INFO, struct drm_xe_oa_stream_info),
	  .size = sizeof(struct drm_xe_oa_stream_info), .dir = VGPU_OUT },
};
#endif

const struct vgpu_schema vgpu_schema_xe = {
	.name = "xe",
#ifdef DRM_IOCTL_XE_DEVICE_QUERY
	VGPU_IOCTLS(xe_ioctls),
#endif
	.base = &vgpu_schema_drm,
};
