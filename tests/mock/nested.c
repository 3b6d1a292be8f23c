// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls whose argument holds pointers.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock.h"

static int vgpu_mock_call_dir(struct vgpu_mock_call *call)
{
	switch (_IOC_NR(call->cmd) & ~VGPU_MOCK_UNDESCRIBED_BIT) {
	case _IOC_NR(VGPU_MOCK_IOC_ARRAY_IN):
	case _IOC_NR(VGPU_MOCK_IOC_LARGE_IN):
		return VGPU_MOCK_IN;
	case _IOC_NR(VGPU_MOCK_IOC_ARRAY_OUT):
	case _IOC_NR(VGPU_MOCK_IOC_LARGE_OUT):
		return VGPU_MOCK_OUT;
	default:
		return VGPU_MOCK_INOUT;
	}
}

long vgpu_mock_array(struct vgpu_mock_call *call)
{
	struct vgpu_mock_array *array = call->data;
	int dir = vgpu_mock_call_dir(call);
	u64 sum = VGPU_MOCK_SUM_INIT;
	u32 count = array->count;
	int ret;

	if (count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	if (dir == VGPU_MOCK_OUT) {
		count = min(count, array->total);
		sum = 0;
		ret = vgpu_mock_user_pattern(array->ptr, (u64)count * sizeof(u32), array->seed);
	} else {
		ret = vgpu_mock_user_words(array->ptr, count, dir, &sum);
	}
	if (ret)
		return ret;
	array->out_count = count;
	array->out_sum = sum;
	return 0;
}

static int vgpu_mock_pairs_change(u64 ptr, u32 count, u64 *sum)
{
	struct vgpu_mock_pair pair;
	u32 i;
	int ret;

	for (i = 0; i < count; i++, ptr += sizeof(pair)) {
		ret = vgpu_mock_user_read(ptr, &pair, sizeof(pair));
		if (ret)
			return ret;
		*sum = vgpu_mock_sum(*sum, &pair, sizeof(pair));
		pair.value = vgpu_mock_mix32(pair.value);
		ret = vgpu_mock_user_write(ptr, &pair, sizeof(pair));
		if (ret)
			return ret;
	}
	return 0;
}

long vgpu_mock_arrays(struct vgpu_mock_call *call)
{
	struct vgpu_mock_arrays *arrays = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	u32 count;
	int ret;

	if (arrays->reserved)
		return -EINVAL;
	if (max3(arrays->in_count, arrays->out_count, arrays->inout_count) > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	ret = vgpu_mock_user_bytes(arrays->in_ptr, arrays->in_count * sizeof(u64), VGPU_MOCK_IN,
				   &sum);
	if (ret)
		return ret;
	ret = vgpu_mock_pairs_change(arrays->inout_ptr, arrays->inout_count, &sum);
	if (ret)
		return ret;
	count = DIV_ROUND_UP(arrays->out_count, 2);
	ret = vgpu_mock_user_pattern(arrays->out_ptr, count * sizeof(u16), sum);
	if (ret)
		return ret;
	arrays->out_count = count;
	arrays->out_sum = sum;
	return 0;
}

long vgpu_mock_ptrptr(struct vgpu_mock_call *call)
{
	struct vgpu_mock_ptrptr *p = call->data;
	u64 value;
	u64 ptr;
	int ret;

	ret = vgpu_mock_user_read(p->ptr, &ptr, sizeof(ptr));
	if (ret)
		return ret;
	ret = vgpu_mock_user_read(ptr, &value, sizeof(value));
	if (ret)
		return ret;
	p->out_value = value;
	value = vgpu_mock_mix64(value);
	return vgpu_mock_user_write(ptr, &value, sizeof(value));
}

long vgpu_mock_structs(struct vgpu_mock_call *call)
{
	struct vgpu_mock_structs *structs = call->data;
	u64 total = VGPU_MOCK_SUM_INIT;
	struct vgpu_mock_struct one;
	u64 ptr = structs->ptr;
	u64 sum;
	u32 i;
	int ret;

	if (structs->reserved)
		return -EINVAL;
	if (structs->count > VGPU_MOCK_MAX_STRUCTS)
		return -E2BIG;
	for (i = 0; i < structs->count; i++, ptr += sizeof(one)) {
		ret = vgpu_mock_user_read(ptr, &one, sizeof(one));
		if (ret)
			return ret;
		if (one.length > VGPU_MOCK_MAX_STRUCT_BYTES)
			return -E2BIG;
		sum = VGPU_MOCK_SUM_INIT;
		ret = vgpu_mock_user_bytes(one.ptr, one.length, VGPU_MOCK_INOUT, &sum);
		if (ret)
			return ret;
		one.out_sum = sum;
		ret = vgpu_mock_user_write(ptr, &one, sizeof(one));
		if (ret)
			return ret;
		total = vgpu_mock_sum(total, &sum, sizeof(sum));
	}
	structs->out_sum = total;
	return 0;
}

long vgpu_mock_counted_array(struct vgpu_mock_call *call)
{
	struct vgpu_mock_counted *counted = call->data;
	struct vgpu_mock_counted_head head;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	ret = vgpu_mock_user_read(counted->head, &head, sizeof(head));
	if (ret)
		return ret;
	if (head.reserved)
		return -EINVAL;
	if (head.count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	ret = vgpu_mock_user_words(counted->data, head.count, VGPU_MOCK_INOUT, &sum);
	if (ret)
		return ret;
	counted->out_sum = sum;
	return 0;
}

long vgpu_mock_stride(struct vgpu_mock_call *call)
{
	struct vgpu_mock_stride *stride = call->data;
	u8 elem[VGPU_MOCK_MAX_STRIDE] __aligned(4);
	u64 sum = VGPU_MOCK_SUM_INIT;
	u64 ptr = stride->ptr;
	u32 i;
	int ret;

	if (stride->stride < 4 || stride->stride > VGPU_MOCK_MAX_STRIDE || stride->stride % 4)
		return -EINVAL;
	if (stride->count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	for (i = 0; i < stride->count; i++, ptr += stride->stride) {
		ret = vgpu_mock_user_read(ptr, elem, stride->stride);
		if (ret)
			return ret;
		sum = vgpu_mock_sum(sum, elem, stride->stride);
		*(u32 *)elem = vgpu_mock_mix32(*(u32 *)elem);
		ret = vgpu_mock_user_write(ptr, elem, sizeof(u32));
		if (ret)
			return ret;
	}
	stride->out_sum = sum;
	return 0;
}

/* Hashes an element and its list's bytes, but no pointer: pointers differ between programs. */
static int vgpu_mock_lists_elem(u64 ptr, u32 stride, u64 *sum)
{
	u8 bytes[VGPU_MOCK_MAX_STRIDE] __aligned(8);
	const struct vgpu_mock_lists_elem *elem = (void *)bytes;
	int ret;

	ret = vgpu_mock_user_read(ptr, bytes, stride);
	if (ret)
		return ret;
	*sum = vgpu_mock_sum(*sum, &elem->value, sizeof(elem->value));
	*sum = vgpu_mock_sum(*sum, elem + 1, stride - sizeof(*elem));
	return vgpu_mock_user_list(&elem->list, sum);
}

long vgpu_mock_lists(struct vgpu_mock_call *call)
{
	struct vgpu_mock_lists *arg = call->data;
	const struct vgpu_mock_list *lists = &arg->lists;
	u64 sum = VGPU_MOCK_SUM_INIT;
	u32 i;
	int ret;

	if (lists->stride < sizeof(struct vgpu_mock_lists_elem) ||
	    lists->stride > VGPU_MOCK_MAX_STRIDE)
		return -EINVAL;
	if (lists->count > VGPU_MOCK_MAX_STRUCTS)
		return -E2BIG;
	for (i = 0; i < lists->count; i++) {
		ret = vgpu_mock_lists_elem(lists->ptr + i * lists->stride, lists->stride, &sum);
		if (ret)
			return ret;
	}
	arg->out_sum = sum;
	return 0;
}

long vgpu_mock_large(struct vgpu_mock_call *call)
{
	struct vgpu_mock_large *large = call->data;
	int dir = vgpu_mock_call_dir(call);
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	if (large->length > VGPU_MOCK_MAX_BYTES)
		return -E2BIG;
	if (dir == VGPU_MOCK_OUT) {
		sum = 0;
		ret = vgpu_mock_user_pattern(large->ptr, large->length, large->seed);
	} else {
		ret = vgpu_mock_user_bytes(large->ptr, large->length, dir, &sum);
	}
	if (ret)
		return ret;
	large->out_sum = sum;
	return 0;
}

long vgpu_mock_either(struct vgpu_mock_call *call)
{
	struct vgpu_mock_either *either = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	if (either->length > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	switch (either->op) {
	case 0:
		ret = vgpu_mock_user_bytes(either->ptr, either->length, VGPU_MOCK_IN, &sum);
		break;
	case 1:
		sum = 0;
		ret = vgpu_mock_user_pattern(either->ptr, either->length, either->length);
		break;
	default:
		return -EINVAL;
	}
	if (!ret)
		either->out_sum = sum;
	return ret;
}

long vgpu_mock_moved(struct vgpu_mock_call *call)
{
	struct vgpu_mock_moved *moved = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	if (moved->reserved || moved->mode > VGPU_MOCK_MOVED_REPLACE ||
	    moved->step > moved->length)
		return -EINVAL;
	if (moved->length > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	ret = vgpu_mock_user_bytes(moved->ptr, moved->length, VGPU_MOCK_IN, &sum);
	if (ret)
		return ret;
	moved->out_sum = sum;
	if (moved->mode == VGPU_MOCK_MOVED_ADVANCE)
		moved->ptr += moved->step;
	else if (moved->mode == VGPU_MOCK_MOVED_REPLACE)
		moved->ptr = VGPU_MOCK_MOVED_VALUE;
	return 0;
}

long vgpu_mock_string(struct vgpu_mock_call *call)
{
	struct vgpu_mock_string *string = call->data;
	long length;
	char text[256];

	length = strncpy_from_user(text, u64_to_user_ptr(string->ptr), sizeof(text));
	if (length < 0)
		return length;
	if (length == sizeof(text))
		return -ENAMETOOLONG;
	string->out_length = length;
	string->out_sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, text, length);
	return 0;
}
