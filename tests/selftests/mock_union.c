// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test ioctls in which one field has several meanings, and structs that are inside other structs
 * or have data behind their end. Drivers without a device in the test machines have such
 * arguments.
 */
#include "vgpu_diff.h"

static __u64 as_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* The argument has one operation, or the pointer of an array of more, like xe's VM_BIND. */
DIFF_TEST_TWINS(operations_inside_and_elsewhere)
{
	struct vgpu_mock_op *array = alloc_bytes(3 * sizeof(*array), 0);
	void *bytes[2] = { alloc_bytes(100, 1), alloc_bytes(5000, 2) };
	struct vgpu_mock_ops ops = { .count = 1 };
	int fd = open_device(O_RDWR);

	/* The field is a number that could be an address. */
	ops.op = (struct vgpu_mock_op) { 0, 100, as_u64(bytes[0]) };
	LOG_CALL(diff_ioctl(fd, CMD(OPS), &ops));
	CHECK(ops.op.ptr == as_u64(bytes[0]));
	CHECK(ops.out_sum == (__u32)vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &ops.op.ptr, 8));
	log_bytes("bytes", bytes[0], 100);
	ops.op.op = 1;
	LOG_CALL(diff_ioctl(fd, CMD(OPS), &ops));
	CHECK(ops.op.ptr == as_u64(bytes[0]));
	log_line("sum %x", ops.out_sum);
	log_bytes("bytes", bytes[0], 100);

	array[0] = (struct vgpu_mock_op) { 1, 100, as_u64(bytes[0]) };
	array[1] = (struct vgpu_mock_op) { 0, 0, 1234 };
	array[2] = (struct vgpu_mock_op) { 1, 5000, as_u64(bytes[1]) };
	/* The fields beside the pointer look like the rest of an operation. */
	ops = (struct vgpu_mock_ops) { .count = 3, .op = { .op = 1, .length = 9, .ptr = 8 } };
	ops.ptr = as_u64(array);
	LOG_CALL(diff_ioctl(fd, CMD(OPS), &ops));
	CHECK(ops.ptr == as_u64(array) && array[2].ptr == as_u64(bytes[1]));
	log_line("sum %x", ops.out_sum);
	log_bytes("bytes 0", bytes[0], 100);
	log_bytes("bytes 1", bytes[1], 5000);

	array[1].op = 2;
	LOG_CALL(ioctl(fd, CMD(OPS), &ops));
	ops.ptr = 64;
	LOG_CALL(ioctl(fd, CMD(OPS), &ops));
	ops.count = 0;
	LOG_CALL(diff_ioctl(fd, CMD(OPS), &ops));
	CHECK(ops.ptr == 64);
}

/* Numbers and memory are mixed in a packed struct, like V4L2's controls. */
DIFF_TEST_TWINS(controls_that_are_packed)
{
	static const __u32 sizes[] = { 0, 7, 5000, 0, 1 };
	struct vgpu_mock_control *list = alloc_bytes(sizeof(*list) * ARRAY_SIZE(sizes), 1);
	struct vgpu_mock_controls controls = { .count = ARRAY_SIZE(sizes), .ptr = as_u64(list) };
	int fd = open_device(O_RDWR);
	void *bytes[ARRAY_SIZE(sizes)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bytes[i] = alloc_bytes(sizes[i], i);
		list[i] = (struct vgpu_mock_control) { .id = i, .size = sizes[i] };
		list[i].value = sizes[i] ? as_u64(bytes[i]) : 77 + i;
	}
	LOG_CALL(diff_ioctl(fd, CMD(CONTROLS), &controls));
	log_line("sum %x", controls.out_sum);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK(list[i].value == (sizes[i] ? as_u64(bytes[i]) : vgpu_mock_mix64(77 + i)));
		log_bytes("bytes", bytes[i], sizes[i]);
	}
	list[2].ptr = 4;
	LOG_CALL(ioctl(fd, CMD(CONTROLS), &controls));
	list[1].reserved = 1;
	LOG_CALL(ioctl(fd, CMD(CONTROLS), &controls));
}

/*
 * The size of a table is the product of two counts, like that of xe's queues. If the table has a
 * single row, its field is a number and no pointer.
 */
DIFF_TEST_TWINS(table_of_two_counts)
{
	static const __u16 heights[] = { 0, 2, 3, 100 };
	int fd = open_device(O_RDWR);
	struct vgpu_mock_table table;
	unsigned int i;
	void *data;

	for (i = 0; i < ARRAY_SIZE(heights); i++) {
		data = alloc_bytes(heights[i] * 13 * 4, i);
		table = (struct vgpu_mock_table) { as_u64(data), 13, heights[i], 0 };
		LOG_CALL(diff_ioctl(fd, CMD(TABLE), &table));
		CHECK(table.ptr == as_u64(data));
		log_line("sum %x", table.out_sum);
		log_bytes("data", data, heights[i] * 13 * 4);
	}
	table.height = 1;
	LOG_CALL(diff_ioctl(fd, CMD(TABLE), &table));
	CHECK(table.out_sum == (__u32)vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &table.ptr, 8));
	table.width = 0xffff;
	table.height = 0xffff;
	LOG_CALL(ioctl(fd, CMD(TABLE), &table));
}

static struct vgpu_mock_ext_more *alloc_more(__u64 next, __u16 count)
{
	struct vgpu_mock_ext_more *more = alloc_bytes(sizeof(*more) + count * 4, count);

	more->base = (struct vgpu_mock_ext_base) { next, VGPU_MOCK_EXT_MORE, 0 };
	more->count = count;
	memset(more->reserved, 0, sizeof(more->reserved));
	return more;
}

/* An extension says how many elements follow it, like i915's engines that share load. */
DIFF_TEST_TWINS(extensions_that_go_on)
{
	static const __u16 counts[] = { 0, 1, 2, 1000, 5000 };
	int fd = open_device(O_RDWR);
	struct vgpu_mock_chain chain;
	__u64 next = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		next = as_u64(alloc_more(next, counts[i]));
		chain = (struct vgpu_mock_chain) { .extensions = next };
		LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
		CHECK(chain.extensions == next && chain.out_count == i + 1);
		log_line("sum %x", chain.out_sum);
	}
	/* The count goes beyond the end of the memory. */
	((struct vgpu_mock_ext_more *)(uintptr_t)next)->count++;
	CHECK(LOG_CALL(ioctl(fd, CMD(CHAIN), &chain)) == -1 && errno == EFAULT);
}

/* A struct in an extension names memory, in which a chain begins, like i915's contexts. */
DIFF_TEST_TWINS(parameter_inside_an_extension)
{
	struct vgpu_mock_ext_param *ext = alloc_bytes(sizeof(*ext), 0);
	struct vgpu_mock_chain chain = { .extensions = as_u64(ext) };
	struct vgpu_mock_ext_more *more = alloc_more(as_u64(alloc_more(0, 3)), 70);
	__u64 *head = alloc_bytes(36, 1);
	int fd = open_device(O_RDWR);

	ext->base = (struct vgpu_mock_ext_base) { 0, VGPU_MOCK_EXT_PARAM, 0 };
	ext->param = (struct vgpu_mock_param) { 0, VGPU_MOCK_PARAM_NUMBER, as_u64(head) };
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	CHECK(chain.value == as_u64(head));
	chain.value = 0;
	ext->param.param = VGPU_MOCK_PARAM_BYTES;
	ext->param.size = 36;
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	log_line("sum %x", chain.out_sum);
	*head = as_u64(more);
	ext->param.param = VGPU_MOCK_PARAM_CHAIN;
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	CHECK(*head == as_u64(more) && ext->param.value == as_u64(head));
	log_line("sum %x", chain.out_sum);
	*head = 0;
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	log_line("sum %x", chain.out_sum);
	/* The memory is too short for the pointer; then there is no such parameter. */
	ext->param.size = 7;
	LOG_CALL(ioctl(fd, CMD(CHAIN), &chain));
	ext->param.param = 3;
	LOG_CALL(ioctl(fd, CMD(CHAIN), &chain));
}

/* Allocates two extensions: the driver changes @data, and the value becomes @value. */
static __u64 alloc_chain(void *data, __u32 count, __u64 value)
{
	struct vgpu_mock_ext_array *array = alloc_bytes(sizeof(*array), 0);
	struct vgpu_mock_ext_set *set = alloc_bytes(sizeof(*set), 0);

	*set = (struct vgpu_mock_ext_set) { { as_u64(array), VGPU_MOCK_EXT_SET, 0 }, value };
	*array = (struct vgpu_mock_ext_array) {
		{ 0, VGPU_MOCK_EXT_ARRAY, 0 }, as_u64(data), count, 0,
	};
	return as_u64(set);
}

/*
 * A flag tells whether the field is the pointer of a chain, the pointer of an array, or a
 * number, like i915's submits.
 */
DIFF_TEST_TWINS(chain_or_array_by_flag)
{
	struct vgpu_mock_pair *pairs = alloc_bytes(50 * sizeof(*pairs), 1);
	void *data = alloc_bytes(400, 2);
	struct vgpu_mock_exec exec = { .ptr = alloc_chain(data, 100, 99), .count = 50 };
	int fd = open_device(O_RDWR);
	__u64 first = exec.ptr;
	__u64 numbers[2] = { first, 0 };

	/* The field is a number that could be an address. */
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(EXEC), &exec)));
	CHECK(exec.out_sum == vgpu_mock_sum(VGPU_MOCK_SUM_INIT, numbers, 16) && !exec.value);
	log_bytes("data", data, 400);
	exec.flags = VGPU_MOCK_EXEC_CHAIN;
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(EXEC), &exec)));
	CHECK(exec.ptr == first && exec.value == 99);
	log_line("sum %llx", exec.out_sum);
	log_bytes("data", data, 400);
	exec.flags = VGPU_MOCK_EXEC_ARRAY;
	exec.ptr = as_u64(pairs);
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(EXEC), &exec)));
	CHECK(exec.ptr == as_u64(pairs));
	log_line("sum %llx", exec.out_sum);
	exec.count = 0;
	exec.ptr = 8;
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(EXEC), &exec)));

	/*
	 * The array is longer than its memory; the chain is broken in the middle; both flags are
	 * set.
	 */
	exec.count = 51;
	exec.ptr = as_u64(pairs);
	CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EFAULT);
	((struct vgpu_mock_ext_base *)(uintptr_t)first)->next_extension = 64;
	exec.flags = VGPU_MOCK_EXEC_CHAIN;
	exec.ptr = first;
	exec.value = 0;
	CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EFAULT);
	CHECK(exec.value == 99);
	exec.flags |= VGPU_MOCK_EXEC_ARRAY;
	CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EINVAL);
	CHECK(exec.ptr == first);
}

/*
 * The operation tells whether the field is a number, or the pointer of a chain, of a struct with
 * an array, or of a number, like xe's observation.
 */
DIFF_TEST_TWINS(pointer_by_operation)
{
	struct vgpu_mock_exec_config *config = alloc_bytes(sizeof(*config), 0);
	struct vgpu_mock_pair *pairs = alloc_bytes(600 * sizeof(*pairs), 1);
	__u64 *number = alloc_bytes(sizeof(*number), 2);
	void *data = alloc_bytes(400, 3);
	__u64 params[] = {
		as_u64(data), alloc_chain(data, 100, 99), as_u64(config), as_u64(number),
	};
	struct vgpu_mock_exec exec = { };
	int fd = open_device(O_RDWR);
	__u64 sum;

	*config = (struct vgpu_mock_exec_config) { as_u64(pairs), 600, 0 };
	for (exec.op = 0; exec.op < ARRAY_SIZE(params); exec.op++) {
		exec.param = params[exec.op];
		CHECK(!LOG_CALL(diff_ioctl(fd, CMD(EXEC), &exec)));
		CHECK(exec.param == params[exec.op] && config->ptr == as_u64(pairs));
		CHECK(exec.value == (exec.op ? 99 : 0));
		/* The first sum is that of an address, which differs between the two accounts. */
		if (exec.op)
			log_line("sum %llx", exec.out_sum);
		log_bytes("data", data, 400);
	}
	sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &exec.ptr, 8);
	CHECK(exec.out_sum == vgpu_mock_sum(sum, number, 8));

	/* There is no such operation; then each operation has a bad pointer. */
	CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EINVAL);
	exec.param = 64;
	for (exec.op = 1; exec.op < ARRAY_SIZE(params); exec.op++)
		CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EFAULT);
	exec.op = VGPU_MOCK_EXEC_OP_ADD;
	exec.param = as_u64(config);
	config->ptr = 4096;
	CHECK(LOG_CALL(ioctl(fd, CMD(EXEC), &exec)) == -1 && errno == EFAULT);
}

/* The guest hides flags and values that a schema says programs shall not see. */
DIFF_TEST(hidden_bits)
{
	struct vgpu_mock_caps caps = { 0, 0 };
	int fd = open_device(O_RDWR);

	CHECK(!ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_CAPS), &caps));
	CHECK(caps.out_caps == 0xff);
	CHECK(!diff_ioctl(fd, VGPU_MOCK_IOC_CAPS, &caps));
	CHECK(caps.out_caps == (forwarded ? 0xff & ~VGPU_MOCK_CAPS_HIDDEN : 0xff));
	caps.kind = 1;
	CHECK(!diff_ioctl(fd, VGPU_MOCK_IOC_CAPS, &caps));
	CHECK(caps.out_caps == (forwarded ? ~0U : 5));
	/* The struct stays as it was after an error. */
	caps = (struct vgpu_mock_caps) { 2, 0xff };
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_CAPS, &caps));
	CHECK(caps.out_caps == 0xff);
}

/* The result is an fd only if the argument says so. */
DIFF_TEST(result_that_may_be_an_fd)
{
	struct vgpu_mock_fd_maybe maybe = { 0, 3 };
	struct vgpu_mock_obj_info info = { };
	int fd = open_device(O_RDWR);
	int new;

	CHECK(LOG_CALL(diff_ioctl(fd, VGPU_MOCK_IOC_FD_MAYBE, &maybe)) == 3);
	maybe = (struct vgpu_mock_fd_maybe) { 0, 1000000 };
	LOG_CALL(diff_ioctl(fd, VGPU_MOCK_IOC_FD_MAYBE, &maybe));
	maybe = (struct vgpu_mock_fd_maybe) { 1, 4711 };
	new = diff_ioctl(fd, VGPU_MOCK_IOC_FD_MAYBE, &maybe);
	LOG_CALL(new);
	LOG_CALL(ioctl(new, VGPU_MOCK_IOC_OBJ_INFO, &info));
	CHECK(info.out_cookie == 4711);
	LOG_CALL(close(new));
	maybe.want = 2;
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_FD_MAYBE, &maybe));
}

TEST_HARNESS_MAIN
