// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of the mock device of the tests. The arguments of its ioctls have the shapes that
 * other tables describe (pointers, arrays, chains, conditions, fds), as far as a device takes
 * part in them. The twins of these ioctls (bit 7 of the number) have no entry and are left to
 * demand paging.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "tests/mock/vgpu_mock.h"

/* Entry for an array of @t whose count is in the same struct. */
#define ARRAY(d, s, pointer, t, n) \
	{ VGPU_PTR(s, pointer), .dir = (d), .unit = sizeof(t), .count = VGPU_FIELD(s, n) }

static const struct vgpu_schema_field bare[] = {
	ARRAY(VGPU_INOUT, struct vgpu_mock_bare, ptr, __u64, count),
};

/* The driver fills min(count, total) elements and returns their number in out_count. */
static const struct vgpu_schema_field array_out[] = {
	{ VGPU_PTR(struct vgpu_mock_array, ptr), .dir = VGPU_OUT, .unit = sizeof(__u32),
	  .count = VGPU_FIELD(struct vgpu_mock_array, count),
	  .out_count = VGPU_FIELD(struct vgpu_mock_array, out_count) },
};

static const struct vgpu_schema_field arrays[] = {
	ARRAY(VGPU_IN, struct vgpu_mock_arrays, in_ptr, __u64, in_count),
	{ VGPU_PTR(struct vgpu_mock_arrays, out_ptr), .dir = VGPU_OUT, .unit = sizeof(__u16),
	  .count = VGPU_FIELD(struct vgpu_mock_arrays, out_count),
	  .out_count = VGPU_FIELD(struct vgpu_mock_arrays, out_count) },
	ARRAY(VGPU_INOUT, struct vgpu_mock_arrays, inout_ptr, struct vgpu_mock_pair, inout_count),
};

/* The pointer leads to a pointer to a number. */
static const struct vgpu_schema_struct pointer =
	VGPU_STRUCT_ONE(__u64,
			{ .type = VGPU_FIELD_PTR, .size = sizeof(__u64), .dir = VGPU_INOUT,
			  .unit = sizeof(__u64) });

static const struct vgpu_schema_field ptrptr[] = {
	{ VGPU_PTR(struct vgpu_mock_ptrptr, ptr), .dir = VGPU_IN, .elem = &pointer },
};

static const struct vgpu_schema_struct struct_elem =
	VGPU_STRUCT_ONE(struct vgpu_mock_struct,
			ARRAY(VGPU_INOUT, struct vgpu_mock_struct, ptr, __u8, length));

static const struct vgpu_schema_field structs[] = {
	{ VGPU_PTR(struct vgpu_mock_structs, ptr), .dir = VGPU_INOUT,
	  .count = VGPU_FIELD(struct vgpu_mock_structs, count), .elem = &struct_elem },
};

static const struct vgpu_schema_field ext_array[] = {
	ARRAY(VGPU_INOUT, struct vgpu_mock_ext_array, ptr, __u32, count),
};

#define EXT_CHAIN(n) { \
	.head = sizeof(struct vgpu_mock_ext_base), \
	.next = offsetof(struct vgpu_mock_ext_base, next_extension), \
	.tag = offsetof(struct vgpu_mock_ext_base, name), \
	.tag_size = sizeof_field(struct vgpu_mock_ext_base, name), \
	.max = VGPU_MOCK_MAX_CHAIN, \
	.nr_nodes = ARRAY_SIZE(n), \
	.nodes = (n), \
}

#define EXT_MORE \
	{ .body = VGPU_PLAIN(struct vgpu_mock_ext_more), .dir = VGPU_IN, \
	  .more = VGPU_FIELD(struct vgpu_mock_ext_more, count), \
	  .more_unit = sizeof_field(struct vgpu_mock_ext_more, more[0]), \
	  .tag = VGPU_MOCK_EXT_MORE }

/* The memory begins with a pointer to a chain. */
static const struct vgpu_schema_node more_exts[] = { EXT_MORE };
static const struct vgpu_schema_chain more_chain = EXT_CHAIN(more_exts);

static const struct vgpu_schema_struct chain_pointer =
	VGPU_STRUCT_ONE(__u64,
			{ .type = VGPU_FIELD_CHAIN, .size = sizeof(__u64), .chain = &more_chain });

static const struct vgpu_schema_field param_fields[] = {
	{ VGPU_PTR(struct vgpu_mock_param, value), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct vgpu_mock_param, size),
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_param, param, VGPU_MOCK_PARAM_BYTES) },
	{ VGPU_PTR(struct vgpu_mock_param, value), .dir = VGPU_IN, .elem = &chain_pointer,
	  .stride = VGPU_FIELD(struct vgpu_mock_param, size),
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_param, param, VGPU_MOCK_PARAM_CHAIN) },
};

static const struct vgpu_schema_struct param = VGPU_STRUCT(struct vgpu_mock_param, param_fields);

static const struct vgpu_schema_field ext_param[] = {
	{ VGPU_INSIDE(struct vgpu_mock_ext_param, param), .elem = &param },
};

static const struct vgpu_schema_node exts[] = {
	{ .body = VGPU_PLAIN(struct vgpu_mock_ext_set), .dir = VGPU_IN,
	  .tag = VGPU_MOCK_EXT_SET },
	{ .body = VGPU_PLAIN(struct vgpu_mock_ext_get), .dir = VGPU_INOUT,
	  .tag = VGPU_MOCK_EXT_GET },
	{ .body = VGPU_STRUCT(struct vgpu_mock_ext_array, ext_array), .dir = VGPU_IN,
	  .tag = VGPU_MOCK_EXT_ARRAY },
	EXT_MORE,
	{ .body = VGPU_STRUCT(struct vgpu_mock_ext_param, ext_param), .dir = VGPU_IN,
	  .tag = VGPU_MOCK_EXT_PARAM },
};

static const struct vgpu_schema_chain ext_chain = EXT_CHAIN(exts);

static const struct vgpu_schema_field chain[] = {
	{ VGPU_CHAIN(struct vgpu_mock_chain, extensions), .chain = &ext_chain },
};

static const struct vgpu_schema_struct buffer =
	VGPU_STRUCT_ONE(struct vgpu_mock_chunk_buffer,
			ARRAY(VGPU_INOUT, struct vgpu_mock_chunk_buffer, ptr, __u8, length));

/* The program states the size of the elements. */
#define LIST(s, pointer, n, bytes, e) \
	{ VGPU_PTR(s, pointer), .dir = VGPU_IN, .elem = (e), \
	  .count = VGPU_FIELD(s, n), .stride = VGPU_FIELD(s, bytes) }

static const struct vgpu_schema_struct lists_elem =
	VGPU_STRUCT_ONE(struct vgpu_mock_lists_elem,
			LIST(struct vgpu_mock_lists_elem, list.ptr, list.count, list.stride, NULL));

static const struct vgpu_schema_field lists[] = {
	LIST(struct vgpu_mock_lists, lists.ptr, lists.count, lists.stride, &lists_elem),
};

static const struct vgpu_schema_struct list =
	VGPU_STRUCT_ONE(struct vgpu_mock_list,
			LIST(struct vgpu_mock_list, ptr, count, stride, NULL));

/* The id of a chunk tells the meaning and the direction of chunk_data. */
#define CHUNK(d, id) \
	VGPU_PTR(struct vgpu_mock_chunk, chunk_data), .dir = (d), .unit = sizeof(__u32), \
	.count = VGPU_FIELD(struct vgpu_mock_chunk, length_dw), \
	.when = VGPU_WHEN_EQUAL(struct vgpu_mock_chunk, chunk_id, id)

static const struct vgpu_schema_field chunk_fields[] = {
	{ CHUNK(VGPU_IN, VGPU_MOCK_CHUNK_RAW) },
	{ CHUNK(VGPU_OUT, VGPU_MOCK_CHUNK_RESULT) },
	{ CHUNK(VGPU_IN, VGPU_MOCK_CHUNK_BUFFERS), .elem = &buffer },
	{ CHUNK(VGPU_IN, VGPU_MOCK_CHUNK_LIST), .elem = &list },
};

static const struct vgpu_schema_struct chunk =
	VGPU_STRUCT(struct vgpu_mock_chunk, chunk_fields);

static const struct vgpu_schema_field chunk_pointer_field[] = {
	{ .type = VGPU_FIELD_PTR, .size = sizeof(__u64), .dir = VGPU_IN, .elem = &chunk },
};

static const struct vgpu_schema_struct chunk_pointer = VGPU_STRUCT(__u64, chunk_pointer_field);

static const struct vgpu_schema_field chunks[] = {
	{ VGPU_PTR(struct vgpu_mock_chunks, chunks), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct vgpu_mock_chunks, num_chunks), .elem = &chunk_pointer },
};

static const struct vgpu_schema_field counted[] = {
	{ VGPU_PTR(struct vgpu_mock_counted, head), .dir = VGPU_IN,
	  .unit = sizeof(struct vgpu_mock_counted_head) },
	{ VGPU_PTR(struct vgpu_mock_counted, data), .dir = VGPU_INOUT, .unit = sizeof(__u32),
	  .count = VGPU_TARGET(struct vgpu_mock_counted, head,
			       struct vgpu_mock_counted_head, count) },
};

#define EITHER(d, v) \
	{ VGPU_PTR(struct vgpu_mock_either, ptr), .dir = (d), \
	  .count = VGPU_FIELD(struct vgpu_mock_either, length), \
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_either, op, v) }

static const struct vgpu_schema_field either[] = {
	EITHER(VGPU_IN, 0),
	EITHER(VGPU_OUT, 1),
};

static const struct vgpu_schema_field locked[] = {
	ARRAY(VGPU_IN, struct vgpu_mock_locked, in_ptr, __u8, length),
	ARRAY(VGPU_OUT, struct vgpu_mock_locked, out_ptr, __u8, length),
};

/* A single operation is in the struct itself, several are in an array. */
static const struct vgpu_schema_struct op =
	VGPU_STRUCT_ONE(struct vgpu_mock_op,
			{ VGPU_PTR(struct vgpu_mock_op, ptr), .dir = VGPU_INOUT,
			  .count = VGPU_FIELD(struct vgpu_mock_op, length),
			  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_op, op, 1) });

static const struct vgpu_schema_field ops[] = {
	{ VGPU_INSIDE(struct vgpu_mock_ops, op), .elem = &op,
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_ops, count, 1) },
	{ VGPU_PTR(struct vgpu_mock_ops, ptr), .dir = VGPU_IN, .elem = &op,
	  .count = VGPU_FIELD(struct vgpu_mock_ops, count) },
};

/* The struct is packed: pointers have unusual offsets. */
static const struct vgpu_schema_struct control =
	VGPU_STRUCT_ONE(struct vgpu_mock_control,
			ARRAY(VGPU_INOUT, struct vgpu_mock_control, ptr, __u8, size));

static const struct vgpu_schema_field controls[] = {
	{ VGPU_PTR(struct vgpu_mock_controls, ptr), .dir = VGPU_INOUT, .elem = &control,
	  .count = VGPU_FIELD(struct vgpu_mock_controls, count) },
};

static const struct vgpu_schema_field table[] = {
	{ VGPU_PLAIN_IF(struct vgpu_mock_table, ptr),
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_table, height, 1) },
	{ VGPU_PTR(struct vgpu_mock_table, ptr), .dir = VGPU_INOUT, .unit = sizeof(__u32),
	  .count = VGPU_FIELD(struct vgpu_mock_table, width),
	  .times = VGPU_FIELD(struct vgpu_mock_table, height) },
};

static const struct vgpu_schema_field caps[] = {
	{ VGPU_HIDE(struct vgpu_mock_caps, out_caps), .mask = VGPU_MOCK_CAPS_HIDDEN,
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_caps, kind, 0) },
	{ VGPU_HIDE(struct vgpu_mock_caps, out_caps), .mask = ~0U },
};

#define EXEC	struct vgpu_mock_exec
#define WHEN_OP(n)	VGPU_WHEN_EQUAL(EXEC, op, VGPU_MOCK_EXEC_OP_ ## n)

static const struct vgpu_schema_field exec_config[] = {
	ARRAY(VGPU_IN, struct vgpu_mock_exec_config, ptr, struct vgpu_mock_pair, count),
};

static const struct vgpu_schema_struct an_exec_config =
	VGPU_STRUCT(struct vgpu_mock_exec_config, exec_config);

/* A flag says if ptr is a chain, an array or neither; an operation tells the meaning of param. */
static const struct vgpu_schema_field exec[] = {
	{ VGPU_CHAIN(EXEC, ptr), .chain = &ext_chain,
	  .when = VGPU_WHEN_FLAG(EXEC, flags, VGPU_MOCK_EXEC_CHAIN) },
	{ VGPU_PTR(EXEC, ptr), .dir = VGPU_IN, .unit = sizeof(struct vgpu_mock_pair),
	  .count = VGPU_FIELD(EXEC, count),
	  .when = VGPU_WHEN_FLAG(EXEC, flags, VGPU_MOCK_EXEC_ARRAY) },
	{ VGPU_CHAIN(EXEC, param), .chain = &ext_chain, .when = WHEN_OP(OPEN) },
	{ VGPU_PTR(EXEC, param), .dir = VGPU_IN, .elem = &an_exec_config, .when = WHEN_OP(ADD) },
	{ VGPU_PTR(EXEC, param), .dir = VGPU_IN, .unit = sizeof(__u64), .when = WHEN_OP(REMOVE) },
};

static const struct vgpu_schema_field fd_maybe[] = {
	{ VGPU_RESULT_FD(), .when = VGPU_WHEN_EQUAL(struct vgpu_mock_fd_maybe, want, 1) },
};

static const struct vgpu_schema_struct fds_in_elem =
	VGPU_STRUCT_ONE(__s32, { .type = VGPU_FIELD_FD_IN, .size = sizeof(__s32) });
static const struct vgpu_schema_struct fds_out_elem =
	VGPU_STRUCT_ONE(__s32, { .type = VGPU_FIELD_FD_OUT, .size = sizeof(__s32) });

static const struct vgpu_schema_field fds_in[] = {
	{ VGPU_PTR(struct vgpu_mock_fds, ptr), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct vgpu_mock_fds, count),
	  .max = VGPU_MOCK_MAX_FDS * sizeof(__s32), .elem = &fds_in_elem },
};

static const struct vgpu_schema_field fds_out[] = {
	{ VGPU_PTR(struct vgpu_mock_fds, ptr), .dir = VGPU_INOUT,
	  .count = VGPU_FIELD(struct vgpu_mock_fds, count),
	  .max = VGPU_MOCK_MAX_FDS * sizeof(__s32), .elem = &fds_out_elem },
};

static const struct vgpu_schema_field fd_merge[] = {
	{ VGPU_FD_IN(struct vgpu_mock_fd_merge, fd) },
	{ VGPU_FD_IN(struct vgpu_mock_fd_merge, fd2) },
	{ VGPU_FD_OUT(struct vgpu_mock_fd_merge, out_fd) },
};

static const struct vgpu_schema_field fd_optional[] = {
	{ VGPU_FD_IN(struct vgpu_mock_fd_optional, fd_in),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_fd_optional, flags, VGPU_MOCK_FD_HAS_IN) },
	{ VGPU_FD_OUT(struct vgpu_mock_fd_optional, fd_out),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_fd_optional, flags, VGPU_MOCK_FD_WANT_OUT) },
};

static const struct vgpu_schema_field queue[] = {
	{ VGPU_FD_OUT(struct vgpu_mock_queue, out_fence),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_queue, flags, VGPU_MOCK_QUEUE_FENCE) },
};

static const struct vgpu_schema_field buf_job[] = {
	{ VGPU_EVENT_IN(struct vgpu_mock_buf_job, event),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_buf_job, flags, VGPU_MOCK_JOB_EVENT) },
	{ VGPU_FD_OUT(struct vgpu_mock_buf_job, out_fence),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_buf_job, flags, VGPU_MOCK_JOB_FENCE) },
};

static const struct vgpu_schema_field fd_swap[] = {
	{ VGPU_FD_IN(struct vgpu_mock_fd_swap, fd),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_fd_swap, flags, VGPU_MOCK_FD_HAS_IN) },
	{ VGPU_FD_OUT(struct vgpu_mock_fd_swap, fd),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_fd_swap, flags, VGPU_MOCK_FD_WANT_OUT) },
};

/* The modes are like those of i915's GEM_MMAP. */
static const struct vgpu_schema_map_mode buf_map_modes[] = {
	{ 0, VGPU_MOCK_PLACE_CACHED },
	{ VGPU_MOCK_MAP_WC, VGPU_MOCK_PLACE_WC },
};

static const struct vgpu_schema_map buf_map = {
	.cmd = VGPU_MOCK_IOC_BUF_MAP,
	.handle = VGPU_FIELD(struct vgpu_mock_buf_map, id),
	.offset = VGPU_FIELD(struct vgpu_mock_buf_map, offset),
	.size = VGPU_FIELD(struct vgpu_mock_buf_map, size),
	.mode = VGPU_FIELD(struct vgpu_mock_buf_map, flags),
	.addr = VGPU_FIELD(struct vgpu_mock_buf_map, out_addr),
	.place_cmd = VGPU_MOCK_IOC_BUF_PLACE,
	.place_handle = VGPU_FIELD(struct vgpu_mock_buf_place, id),
	.place_mode = VGPU_FIELD(struct vgpu_mock_buf_place, flags),
	.place = VGPU_FIELD(struct vgpu_mock_buf_place, out_offset),
	.nr_modes = ARRAY_SIZE(buf_map_modes),
	.modes = buf_map_modes,
};

static const struct vgpu_schema_field times[] = {
	{ VGPU_STAMP(struct vgpu_mock_times, ns) },
	{ VGPU_STAMP_PARTS(struct vgpu_mock_times, seconds, 2 * sizeof(__s64), USEC_PER_SEC),
	  .when = VGPU_WHEN_FLAG(struct vgpu_mock_times, flags, VGPU_MOCK_TIMES_VALID) },
	{ VGPU_STAMP(struct vgpu_mock_times, realtime_ns), .clock = VGPU_CLOCK_REALTIME },
	{ VGPU_STAMP(struct vgpu_mock_times, raw_ns), .clock = VGPU_CLOCK_RAW },
	{ VGPU_STAMP(struct vgpu_mock_times, realtime_us), .clock = VGPU_CLOCK_REALTIME,
	  .max = NSEC_PER_USEC },
	{ VGPU_STAMP(struct vgpu_mock_times, tsc), .clock = VGPU_CLOCK_TSC },
};

static const struct vgpu_schema_field keep[] = {
	{ VGPU_PLAIN_IF(struct vgpu_mock_keep, ptr),
	  .when = VGPU_WHEN_EQUAL(struct vgpu_mock_keep, what, VGPU_MOCK_KEEP_PLAIN) },
	{ VGPU_KEPT(struct vgpu_mock_keep, ptr), .dir = VGPU_INOUT, .mask = 1,
	  .count = VGPU_FIELD(struct vgpu_mock_keep, last) },
};

static const struct vgpu_schema_blank buf_create = {
	.makes = true,
	.handle = VGPU_FIELD(struct vgpu_mock_buf_create, out_id),
	.offset = VGPU_FIELD(struct vgpu_mock_buf_create, out_offset),
	.when = { .ref = VGPU_FIELD(struct vgpu_mock_buf_create, flavour),
		  .mask = VGPU_MOCK_BUF_NEW, .value = VGPU_MOCK_BUF_NEW },
};

static const struct vgpu_schema_ioctl mock_ioctls[] = {
	{ VGPU_IOCTL_WITH_OF(VGPU_MOCK_BARE, struct vgpu_mock_bare, bare),
	  .size = sizeof(struct vgpu_mock_bare), .dir = VGPU_INOUT,
	  .flags = VGPU_IOCTL_EXACT | VGPU_IOCTL_NO_MAPPED },
	{ VGPU_IOCTL_NO_ARG(VGPU_MOCK_IOC_NOOP), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_IN), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_OUT), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_INOUT), BOOKS },
	{ VGPU_IOCTL_NO_ARG(VGPU_MOCK_IOC_INTEGER), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_ERROR,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_error, ptr, __u32, count)), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_RETURN), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BIG), BOOKS },
	{ VGPU_IOCTL_OF(VGPU_MOCK_IOC_OVERREAD, struct vgpu_mock_overread),
	  .size = sizeof(struct vgpu_mock_overread), .dir = VGPU_INOUT, BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_SELF,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_self, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_EXTENSIBLE), BOOKS },
	{ VGPU_IOCTL_OF(VGPU_MOCK_IOC_SIZED, struct vgpu_mock_sized), .dir = VGPU_INOUT,
	  .size = offsetof(struct vgpu_mock_sized, more),
	  .size_from = VGPU_FIELD(struct vgpu_mock_sized, size), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_ARRAY_IN,
			 ARRAY(VGPU_IN, struct vgpu_mock_array, ptr, __u32, count)), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_ARRAY_OUT, array_out), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_ARRAY_INOUT,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_array, ptr, __u32, count)), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_ARRAYS, arrays), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_PTRPTR, ptrptr), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_STRUCTS, structs), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_CHAIN, chain), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_CHUNKS, chunks), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_COUNTED, counted), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_STRIDE,
			 { VGPU_PTR(struct vgpu_mock_stride, ptr), .dir = VGPU_INOUT,
			   .count = VGPU_FIELD(struct vgpu_mock_stride, count),
			   .stride = VGPU_FIELD(struct vgpu_mock_stride, stride) }), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_LARGE_IN,
			 ARRAY(VGPU_IN, struct vgpu_mock_large, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_LARGE_OUT,
			 ARRAY(VGPU_OUT, struct vgpu_mock_large, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_LARGE_INOUT,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_large, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_EITHER, either), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_MOVED,
			 ARRAY(VGPU_IN, struct vgpu_mock_moved, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_OPS, ops), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_CONTROLS, controls), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_TABLE, table), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_CAPS, caps), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_LISTS, lists), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_EXEC, exec), BOOKS },
	/* Delayed fills change buffers during these ioctls. */
	{ VGPU_IOCTL(VGPU_MOCK_IOC_SLEEP) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_WAIT) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_WAKE) },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_LOCKED, locked) },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_FD_OUT,
			 { VGPU_FD_OUT(struct vgpu_mock_fd_out, out_fd) }), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_FD_IN, { VGPU_FD_IN(struct vgpu_mock_fd_in, fd) }), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FDS_IN, fds_in), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FDS_OUT, fds_out), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FD_MERGE, fd_merge), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_FD_RETURN),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_RESULT_FD },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FD_OPTIONAL, fd_optional), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_OBJ_INFO), BOOKS },
	{ VGPU_IOCTL_NO_ARG(VGPU_MOCK_IOC_OBJ_SIGNAL), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FD_SWAP, fd_swap), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FD_MAYBE, fd_maybe), BOOKS },
	{ VGPU_IOCTL_FD(VGPU_MOCK_IOC_FD_VALUE), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_FD_HOLD, fd_swap), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_CREATE), .blank = &buf_create },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_DESTROY) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_FILL) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_SUM) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_INVALIDATE) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_REVOKE) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_SYNC) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_INFO), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_SLOW) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_ECHO) },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_BUF_JOB, buf_job) },
	{ VGPU_IOCTL_MAP(VGPU_MOCK_IOC_BUF_MAP, &buf_map) },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_BUF_PLACE), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_IO_MODE), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_POLL_ARM), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_ATOMIC,
			 ARRAY(VGPU_IN, struct vgpu_mock_atomic, ptr, __u8, length)), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_INFO), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_COUNTERS), BOOKS },
	{ VGPU_IOCTL_NO_ARG(VGPU_MOCK_IOC_EXCLUSIVE), BOOKS },
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_COMPAT,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_compat, ptr, __u8, length)), BOTH },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_TIMES, times), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_KEEP, keep), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_KEPT), BOOKS },
	{ VGPU_IOCTL_NO_ARG(VGPU_MOCK_IOC_FLUSH), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_WORK), BOOKS },
	{ VGPU_IOCTL_WITH(VGPU_MOCK_IOC_QUEUE, queue), BOOKS },
	{ VGPU_IOCTL(VGPU_MOCK_IOC_QUEUE_WAIT), BOOKS },
};

static const struct vgpu_schema_ioctl mock_compat[] = {
	{ VGPU_IOCTL_ONE(VGPU_MOCK_IOC_COMPAT32,
			 ARRAY(VGPU_INOUT, struct vgpu_mock_compat32, ptr, __u8, length)), BOOKS },
};

const struct vgpu_schema vgpu_schema_mock = {
	.name = "vgpu-mock",
	VGPU_IOCTLS(mock_ioctls),
	VGPU_COMPAT(mock_compat),
};

/* Programs and the device take turns with the buffers of this device. */
const struct vgpu_schema vgpu_schema_mock_apart = {
	.name = "vgpu-mock-apart",
	.base = &vgpu_schema_mock,
	.apart = true,
};
