// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test ioctls whose arguments have pointers.
 */
#include "vgpu_diff.h"

static __u64 as_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

static void log_array(const struct vgpu_mock_array *array, size_t bytes)
{
	log_line("count %u, total %u, out_count %u, sum %llx", array->count, array->total,
		 array->out_count, array->out_sum);
	log_bytes("array", (void *)(uintptr_t)array->ptr, bytes);
}

DIFF_TEST_TWINS(array_in)
{
	static const __u32 counts[] = { 1, 2, 3, 1000, 1024, 5000, 20000 };
	struct vgpu_mock_array array;
	int fd = open_device(O_RDWR);
	unsigned int i;
	void *data;
	__u64 sum;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		data = alloc_bytes(counts[i] * 4, i);
		sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, counts[i] * 4);
		array = (struct vgpu_mock_array) { .ptr = as_u64(data), .count = counts[i] };
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_IN), &array));
		CHECK(array.ptr == as_u64(data) && array.out_count == counts[i]);
		CHECK(counts[i] * 4 > 16384 || array.out_sum == sum);
		log_array(&array, counts[i] * 4);
	}
}

/* The program has room for @count elements and the driver has @total, as in DRM. */
DIFF_TEST_TWINS(array_out)
{
	static const __u32 rooms[] = { 0, 1, 7, 1000, 1001, 1002, 20000 };
	struct vgpu_mock_array array;
	int fd = open_device(O_RDWR);
	unsigned int i;
	void *data;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		data = alloc_bytes(rooms[i] * 4, i);
		array = (struct vgpu_mock_array) {
			.ptr = rooms[i] ? as_u64(data) : 0, .count = rooms[i], .seed = i,
			.total = 1001,
		};
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_OUT), &array));
		CHECK(array.out_count == (rooms[i] < 1001 ? rooms[i] : 1001));
		/* Memory that the driver did not write to stays as it was. */
		array.ptr = as_u64(data);
		log_array(&array, rooms[i] * 4);
	}
}

DIFF_TEST_TWINS(array_inout)
{
	static const __u32 counts[] = { 1, 3, 1024, 1025, 20000 };
	struct vgpu_mock_array array;
	int fd = open_device(O_RDWR);
	unsigned int i;
	__u32 *data;
	__u32 last;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		data = alloc_bytes(counts[i] * 4, i);
		last = data[counts[i] - 1];
		array = (struct vgpu_mock_array) { .ptr = as_u64(data), .count = counts[i] };
		LOG_CALL(diff_ioctl(fd, CMD(ARRAY_INOUT), &array));
		CHECK(data[counts[i] - 1] == vgpu_mock_mix32(last));
		log_array(&array, counts[i] * 4);
	}
}

DIFF_TEST_TWINS(arrays_of_each_direction)
{
	struct vgpu_mock_pair *pairs = alloc_bytes(40 * sizeof(*pairs), 3);
	struct vgpu_mock_arrays arrays;
	void *in = alloc_bytes(30 * sizeof(__u64), 1);
	void *out = alloc_bytes(51 * sizeof(__u16), 2);
	int fd = open_device(O_RDWR);
	__u32 value = pairs[39].value;

	arrays = (struct vgpu_mock_arrays) {
		.in_ptr = as_u64(in), .in_count = 30,
		.out_ptr = as_u64(out), .out_count = 51,
		.inout_ptr = as_u64(pairs), .inout_count = 40,
	};
	LOG_CALL(diff_ioctl(fd, CMD(ARRAYS), &arrays));
	CHECK(arrays.out_count == 26 && pairs[39].value == vgpu_mock_mix32(value));
	log_line("sum %llx", arrays.out_sum);
	log_bytes("in", in, 30 * sizeof(__u64));
	log_bytes("out", out, 51 * sizeof(__u16));
	log_bytes("pairs", pairs, 40 * sizeof(*pairs));

	/* The call has one array, and then none. */
	arrays.in_count = 0;
	arrays.in_ptr = 0;
	arrays.out_count = 0;
	LOG_CALL(diff_ioctl(fd, CMD(ARRAYS), &arrays));
	log_bytes("pairs", pairs, 40 * sizeof(*pairs));
	arrays.inout_count = 0;
	LOG_CALL(diff_ioctl(fd, CMD(ARRAYS), &arrays));
	log_line("sum %llx", arrays.out_sum);
}

/* The same memory is input and, as another array, input and output. */
DIFF_TEST_TWINS(arrays_that_overlap)
{
	void *data = alloc_bytes(800, 4);
	int fd = open_device(O_RDWR);
	struct vgpu_mock_arrays arrays = {
		.in_ptr = as_u64(data), .in_count = 100,
		.inout_ptr = as_u64(data), .inout_count = 100,
	};

	LOG_CALL(diff_ioctl(fd, CMD(ARRAYS), &arrays));
	log_line("sum %llx", arrays.out_sum);
	log_bytes("data", data, 800);
}

/* The argument and its array are in one piece of memory, as programs have them on their stack. */
DIFF_TEST_TWINS(array_next_to_argument)
{
	struct {
		__u32 before[3];
		__u32 data[7];
		struct vgpu_mock_array array;
		__u32 after[5];
	} all;
	int fd = open_device(O_RDWR);

	vgpu_mock_pattern(&all, sizeof(all), 8, 0);
	all.array = (struct vgpu_mock_array) { .ptr = as_u64(all.data), .count = 7 };
	LOG_CALL(diff_ioctl(fd, CMD(ARRAY_INOUT), &all.array));
	CHECK(all.array.ptr == as_u64(all.data));
	all.array.ptr = 0;
	log_bytes("all", &all, sizeof(all));
}

DIFF_TEST_TWINS(pointer_to_pointer)
{
	__u64 *value = alloc_bytes(sizeof(*value), 1);
	__u64 *pointer = alloc_bytes(sizeof(*pointer), 2);
	struct vgpu_mock_ptrptr argument = { .ptr = as_u64(pointer) };
	int fd = open_device(O_RDWR);
	__u64 before = *value;

	*pointer = as_u64(value);
	LOG_CALL(diff_ioctl(fd, CMD(PTRPTR), &argument));
	CHECK(argument.ptr == as_u64(pointer) && *pointer == as_u64(value));
	CHECK(argument.out_value == before && *value == vgpu_mock_mix64(before));

	*pointer = 0;
	LOG_CALL(ioctl(fd, CMD(PTRPTR), &argument));
	*pointer = 12345;
	LOG_CALL(ioctl(fd, CMD(PTRPTR), &argument));
	argument.ptr = 0;
	LOG_CALL(ioctl(fd, CMD(PTRPTR), &argument));
	log_line("out_value %llx", argument.out_value);
}

DIFF_TEST_TWINS(structs_with_pointers)
{
	static const __u32 lengths[] = { 1, 0, 100, 4096, 4097, 30000, 3 };
	struct vgpu_mock_struct *elems = alloc_bytes(sizeof(*elems) * ARRAY_SIZE(lengths), 1);
	struct vgpu_mock_structs structs = { .ptr = as_u64(elems), .count = ARRAY_SIZE(lengths) };
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		elems[i].ptr = lengths[i] ? as_u64(alloc_bytes(lengths[i], i)) : 0;
		elems[i].length = lengths[i];
	}
	LOG_CALL(diff_ioctl(fd, CMD(STRUCTS), &structs));
	log_line("sum %llx", structs.out_sum);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		log_line("%u: sum %x", i, elems[i].out_sum);
		log_bytes("bytes", (void *)(uintptr_t)elems[i].ptr, lengths[i]);
	}

	/* A bad pointer is among good ones. */
	elems[4].ptr = 4096;
	LOG_CALL(ioctl(fd, CMD(STRUCTS), &structs));
	structs.count = 4;
	LOG_CALL(diff_ioctl(fd, CMD(STRUCTS), &structs));
	structs.reserved = 1;
	LOG_CALL(ioctl(fd, CMD(STRUCTS), &structs));
	structs = (struct vgpu_mock_structs) { };
	LOG_CALL(diff_ioctl(fd, CMD(STRUCTS), &structs));
	log_line("sum %llx", structs.out_sum);
}

DIFF_TEST_TWINS(extension_chain)
{
	struct vgpu_mock_ext_array *array = alloc_bytes(sizeof(*array), 0);
	struct vgpu_mock_ext_set *set = alloc_bytes(sizeof(*set), 0);
	struct vgpu_mock_ext_get *get = alloc_bytes(sizeof(*get), 0);
	struct vgpu_mock_chain chain = { .extensions = as_u64(get), .value = 77 };
	void *data = alloc_bytes(400, 5);
	int fd = open_device(O_RDWR);

	*get = (struct vgpu_mock_ext_get) { { as_u64(set), VGPU_MOCK_EXT_GET, 0 }, 0 };
	*set = (struct vgpu_mock_ext_set) { { as_u64(array), VGPU_MOCK_EXT_SET, 0 }, 99 };
	*array = (struct vgpu_mock_ext_array) {
		{ 0, VGPU_MOCK_EXT_ARRAY, 0 }, as_u64(data), 100, 0,
	};
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	CHECK(chain.out_count == 3 && chain.value == 99 && get->out_value == 77);
	CHECK(chain.extensions == as_u64(get) && get->base.next_extension == as_u64(set));
	CHECK(set->base.next_extension == as_u64(array) && array->ptr == as_u64(data));
	log_line("sum %x", chain.out_sum);
	log_bytes("data", data, 400);

	/* The chain is empty, has an unknown extension, and leads to an address without memory. */
	chain.extensions = 0;
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	log_line("count %u", chain.out_count);
	set->base.name = 1000;
	chain.extensions = as_u64(get);
	LOG_CALL(ioctl(fd, CMD(CHAIN), &chain));
	log_line("count %u, get %llu", chain.out_count, get->out_value);
	set->base.name = VGPU_MOCK_EXT_SET;
	set->base.next_extension = 64;
	LOG_CALL(ioctl(fd, CMD(CHAIN), &chain));
	log_line("count %u", chain.out_count);
}

DIFF_TEST_TWINS(extension_chain_lengths)
{
	struct vgpu_mock_ext_get gets[VGPU_MOCK_MAX_CHAIN + 1] = { };
	struct vgpu_mock_chain chain = { .extensions = as_u64(gets), .value = 5 };
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i <= VGPU_MOCK_MAX_CHAIN; i++) {
		gets[i].base.name = VGPU_MOCK_EXT_GET;
		gets[i].base.next_extension = i + 1 < VGPU_MOCK_MAX_CHAIN ?
			as_u64(&gets[i + 1]) : 0;
	}
	LOG_CALL(diff_ioctl(fd, CMD(CHAIN), &chain));
	CHECK(chain.out_count == VGPU_MOCK_MAX_CHAIN);
	/* The chain has an extension too many, and then is a ring. */
	gets[VGPU_MOCK_MAX_CHAIN - 1].base.next_extension = as_u64(&gets[VGPU_MOCK_MAX_CHAIN]);
	CHECK(LOG_CALL(ioctl(fd, CMD(CHAIN), &chain)) == -1 && errno == E2BIG);
	gets[0].base.next_extension = as_u64(gets);
	CHECK(LOG_CALL(ioctl(fd, CMD(CHAIN), &chain)) == -1 && errno == E2BIG);
}

DIFF_TEST_TWINS(tagged_chunks)
{
	struct vgpu_mock_chunk_buffer *buffers = alloc_bytes(2 * sizeof(*buffers), 0);
	struct vgpu_mock_chunk *list = alloc_bytes(4 * sizeof(*list), 0);
	__u64 *pointers = alloc_bytes(4 * sizeof(*pointers), 0);
	void *bytes[2] = { alloc_bytes(50, 1), alloc_bytes(5000, 2) };
	struct vgpu_mock_chunks chunks = { .chunks = as_u64(pointers), .num_chunks = 4 };
	void *result = alloc_bytes(60, 3);
	void *raw = alloc_bytes(4000, 4);
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < 2; i++)
		buffers[i] = (struct vgpu_mock_chunk_buffer) {
			as_u64(bytes[i]), i ? 5000 : 50, 0,
		};
	list[0] = (struct vgpu_mock_chunk) { VGPU_MOCK_CHUNK_RAW, 1000, as_u64(raw) };
	list[1] = (struct vgpu_mock_chunk) {
		VGPU_MOCK_CHUNK_BUFFERS, 2 * sizeof(*buffers) / 4, as_u64(buffers),
	};
	list[2] = (struct vgpu_mock_chunk) { VGPU_MOCK_CHUNK_RESULT, 15, as_u64(result) };
	list[3] = (struct vgpu_mock_chunk) { VGPU_MOCK_CHUNK_RAW, 0, 0 };
	for (i = 0; i < 4; i++)
		pointers[i] = as_u64(&list[i]);

	LOG_CALL(diff_ioctl(fd, CMD(CHUNKS), &chunks));
	CHECK(chunks.out_count == 4 && pointers[3] == as_u64(&list[3]));
	CHECK(list[1].chunk_data == as_u64(buffers) && buffers[1].ptr == as_u64(bytes[1]));
	log_line("sum %llx", chunks.out_sum);
	log_bytes("bytes 0", bytes[0], 50);
	log_bytes("bytes 1", bytes[1], 5000);
	log_bytes("result", result, 60);

	list[2].chunk_id = 77;
	LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks));
	log_line("count %u", chunks.out_count);
	pointers[1] = 8;
	LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks));
	log_line("count %u", chunks.out_count);
	chunks.num_chunks = 0;
	LOG_CALL(diff_ioctl(fd, CMD(CHUNKS), &chunks));
	chunks.num_chunks = VGPU_MOCK_MAX_CHUNKS + 1;
	LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks));
}

/*
 * A chunk has a list, like amdgpu's list of buffers in a submit. The entries have the size that
 * the program says.
 */
DIFF_TEST_TWINS(chunk_with_a_list)
{
	static const __u32 strides[] = { 8, 12, 256 };
	struct vgpu_mock_chunk *chunk_list = alloc_bytes(3 * sizeof(*chunk_list), 0);
	__u64 *pointers = alloc_bytes(3 * sizeof(*pointers), 0);
	struct vgpu_mock_chunks chunks = { .chunks = as_u64(pointers), .num_chunks = 3 };
	struct vgpu_mock_list *list = alloc_bytes(sizeof(*list), 0);
	void *raw = alloc_bytes(40, 1);
	int fd = open_device(O_RDWR);
	unsigned int i;
	void *entries;

	for (i = 0; i < 3; i++)
		pointers[i] = as_u64(&chunk_list[i]);
	chunk_list[0] = (struct vgpu_mock_chunk) { VGPU_MOCK_CHUNK_RAW, 10, as_u64(raw) };
	chunk_list[1] = (struct vgpu_mock_chunk) {
		VGPU_MOCK_CHUNK_LIST, sizeof(*list) / 4, as_u64(list),
	};
	chunk_list[2] = chunk_list[0];
	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		entries = alloc_bytes(strides[i] * 70, i);
		*list = (struct vgpu_mock_list) { as_u64(entries), 70, strides[i] };
		CHECK(!LOG_CALL(diff_ioctl(fd, CMD(CHUNKS), &chunks)));
		CHECK(chunks.out_count == 3 && list->ptr == as_u64(entries));
		log_line("sum %llx", chunks.out_sum);
	}
	list->count = 0;
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(CHUNKS), &chunks)));
	log_line("sum %llx", chunks.out_sum);

	/*
	 * The list has an entry more than there is memory, then entries without a size, and then
	 * the chunk is shorter than a list.
	 */
	list->count = 71;
	CHECK(LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks)) == -1 && errno == EFAULT);
	log_line("count %u", chunks.out_count);
	list->stride = 0;
	CHECK(LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks)) == -1 && errno == EINVAL);
	chunk_list[1].length_dw--;
	CHECK(LOG_CALL(ioctl(fd, CMD(CHUNKS), &chunks)) == -1 && errno == EINVAL);
}

DIFF_TEST_TWINS(count_elsewhere)
{
	struct vgpu_mock_counted_head *head = alloc_bytes(sizeof(*head), 0);
	void *data = alloc_bytes(4004, 1);
	struct vgpu_mock_counted counted = { .head = as_u64(head), .data = as_u64(data) };
	static const __u32 counts[] = { 1, 0, 1001, 1002, 0xffffffff };
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		*head = (struct vgpu_mock_counted_head) { 0, counts[i] };
		counted.out_sum = 0;
		LOG_CALL(ioctl(fd, CMD(COUNTED), &counted));
		CHECK(counted.head == as_u64(head) && counted.data == as_u64(data));
		/*
		 * The count 1002 goes beyond the end of the memory: the data is not compared
		 * then.
		 */
		log_line("sum %llx", counted.out_sum);
	}
	data = alloc_bytes(4004, 1);
	counted.data = as_u64(data);
	head->count = 1001;
	LOG_CALL(diff_ioctl(fd, CMD(COUNTED), &counted));
	log_bytes("data", data, 4004);
	counted.head = 0;
	LOG_CALL(ioctl(fd, CMD(COUNTED), &counted));
}

DIFF_TEST_TWINS(strides)
{
	static const __u32 strides[] = { 4, 8, 12, 100, 256 };
	struct vgpu_mock_stride stride;
	int fd = open_device(O_RDWR);
	unsigned int i;
	void *data;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		data = alloc_bytes(strides[i] * 50, i);
		stride = (struct vgpu_mock_stride) {
			.ptr = as_u64(data), .count = 50, .stride = strides[i],
		};
		LOG_CALL(diff_ioctl(fd, CMD(STRIDE), &stride));
		log_line("sum %llx", stride.out_sum);
		log_bytes("data", data, strides[i] * 50);
	}
	for (i = 0; i < 3; i++) {
		stride.stride = (const __u32[]) { 0, 6, 260 }[i];
		LOG_CALL(ioctl(fd, CMD(STRIDE), &stride));
	}
	/* The product of size and count has more than 32 bits. */
	stride.stride = 256;
	stride.count = 0x1000001;
	LOG_CALL(ioctl(fd, CMD(STRIDE), &stride));
}

/* Returns the sum that LISTS has for five elements, computed as its driver does. */
static __u64 lists_sum(const char *elems, __u32 stride)
{
	__u64 sum = VGPU_MOCK_SUM_INIT;
	unsigned int i, j;

	for (i = 0; i < 5; i++, elems += stride) {
		const struct vgpu_mock_lists_elem *elem = (const void *)elems;

		sum = vgpu_mock_sum(sum, &elem->value, 8);
		sum = vgpu_mock_sum(sum, elem + 1, stride - sizeof(*elem));
		for (j = 0; j < elem->list.count; j++)
			sum = vgpu_mock_sum(sum, (char *)(uintptr_t)elem->list.ptr +
					    j * elem->list.stride, elem->list.stride);
	}
	return sum;
}

/*
 * Each element has the size that the program says, and has a list of its own, as in panthor's
 * binds and submits.
 */
DIFF_TEST_TWINS(strides_in_strides)
{
	static const struct vgpu_mock_list lists[] = {
		{ 0, 3, 16 }, { 0, 0, 16 }, { 0, 200, 7 }, { 0, 1, 256 }, { 0, 20, 40 },
	};
	static const __u32 strides[] = { sizeof(struct vgpu_mock_lists_elem), 32, 104, 256 };
	struct vgpu_mock_lists arg = { .lists = { .count = ARRAY_SIZE(lists) } };
	struct vgpu_mock_lists_elem *elem = NULL;
	int fd = open_device(O_RDWR);
	unsigned int i, j;
	char *elems;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		elems = alloc_bytes(strides[i] * ARRAY_SIZE(lists), i);
		for (j = 0; j < ARRAY_SIZE(lists); j++) {
			elem = (void *)(elems + j * strides[i]);
			elem->list = lists[j];
			elem->list.ptr = as_u64(alloc_bytes(lists[j].count * lists[j].stride, j));
		}
		arg.lists.ptr = as_u64(elems);
		arg.lists.stride = strides[i];
		CHECK(!LOG_CALL(diff_ioctl(fd, CMD(LISTS), &arg)));
		CHECK(arg.lists.ptr == as_u64(elems));
		CHECK(arg.out_sum == lists_sum(elems, strides[i]));
		log_line("sum %llx", arg.out_sum);
	}

	/* A bad pointer is among good ones. The elements before it are good. */
	elem = (void *)(elems + 2 * arg.lists.stride);
	elem->list.ptr = 4096;
	CHECK(LOG_CALL(ioctl(fd, CMD(LISTS), &arg)) == -1 && errno == EFAULT);
	arg.lists.count = 2;
	CHECK(!LOG_CALL(diff_ioctl(fd, CMD(LISTS), &arg)));
	log_line("sum %llx", arg.out_sum);
	/* Inner elements have no size, and outer elements are shorter than their struct. */
	arg.lists.count = 3;
	elem->list.stride = 0;
	CHECK(LOG_CALL(ioctl(fd, CMD(LISTS), &arg)) == -1 && errno == EINVAL);
	for (i = 0; i < sizeof(*elem); i += 4) {
		arg.lists.stride = i;
		CHECK(LOG_CALL(ioctl(fd, CMD(LISTS), &arg)) == -1 && errno == EINVAL);
	}
}

DIFF_TEST_TWINS(direction_by_flag)
{
	void *data = alloc_bytes(5000, 6);
	struct vgpu_mock_either either = { .ptr = as_u64(data), .length = 5000 };
	int fd = open_device(O_RDWR);

	LOG_CALL(diff_ioctl(fd, CMD(EITHER), &either));
	log_line("sum %llx", either.out_sum);
	log_bytes("data", data, 5000);
	either.op = 1;
	LOG_CALL(diff_ioctl(fd, CMD(EITHER), &either));
	log_line("sum %llx", either.out_sum);
	log_bytes("data", data, 5000);
	either.op = 2;
	LOG_CALL(ioctl(fd, CMD(EITHER), &either));
}

/* A driver that only reads can be given read-only memory. */
DIFF_TEST(direction_by_flag_read_only)
{
	void *data = alloc_pages(2);
	struct vgpu_mock_either either = { .ptr = as_u64(data), .length = 8192 };
	int fd = open_device(O_RDWR);

	vgpu_mock_pattern(data, 8192, 1, 0);
	MUST(!mprotect(data, 8192, PROT_READ));
	LOG_CALL(ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_EITHER), &either));
	log_line("sum %llx", either.out_sum);
	either.op = 1;
	LOG_CALL(ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_EITHER), &either));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_EITHER, &either));
}

/* The driver stores to the field that has the pointer. */
DIFF_TEST_TWINS(pointer_that_moves)
{
	static const __u32 steps[] = { 0, 1, 50, 99, 100 };
	void *data = alloc_bytes(100, 7);
	struct vgpu_mock_moved moved;
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		moved = (struct vgpu_mock_moved) {
			.ptr = as_u64(data), .length = 100, .mode = VGPU_MOCK_MOVED_ADVANCE,
			.step = steps[i],
		};
		LOG_CALL(diff_ioctl(fd, CMD(MOVED), &moved));
		CHECK(moved.ptr == as_u64(data) + steps[i]);
		log_line("sum %llx", moved.out_sum);
	}
	moved = (struct vgpu_mock_moved) { .ptr = as_u64(data), .length = 100 };
	LOG_CALL(diff_ioctl(fd, CMD(MOVED), &moved));
	CHECK(moved.ptr == as_u64(data));
	moved.mode = VGPU_MOCK_MOVED_REPLACE;
	LOG_CALL(diff_ioctl(fd, CMD(MOVED), &moved));
	CHECK(moved.ptr == VGPU_MOCK_MOVED_VALUE);
}

DIFF_TEST(string)
{
	struct vgpu_mock_string string = { };
	char *text = alloc_bytes(100, 1);
	int fd = open_device(O_RDWR);
	char *next = alloc_pages(2);

	memset(text, 'x', 99);
	text[99] = 0;
	string.ptr = as_u64(text);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_STRING, &string));
	CHECK(string.out_length == 99);
	log_line("sum %x", string.out_sum);
	/* The string has no end in its memory, goes across a page, and is too long. */
	text[99] = 'x';
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_STRING, &string));
	memset(next + 4000, 'y', 200);
	string.ptr = as_u64(next + 4000);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_STRING, &string));
	log_line("length %u, sum %x", string.out_length, string.out_sum);
	memset(next, 'z', 8192);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_STRING, &string));
}

TEST_HARNESS_MAIN
