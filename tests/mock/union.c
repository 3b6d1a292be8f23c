// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls in which one place has several meanings.
 */
#include <linux/kernel.h>

#include "mock.h"

static int vgpu_mock_op_run(const struct vgpu_mock_op *op, u64 *sum)
{
	switch (op->op) {
	case 0:
		*sum = vgpu_mock_sum(*sum, &op->ptr, sizeof(op->ptr));
		return 0;
	case 1:
		if (op->length > VGPU_MOCK_MAX_STRUCT_BYTES)
			return -E2BIG;
		return vgpu_mock_user_bytes(op->ptr, op->length, VGPU_MOCK_INOUT, sum);
	default:
		return -EINVAL;
	}
}

long vgpu_mock_ops(struct vgpu_mock_call *call)
{
	struct vgpu_mock_ops *ops = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	struct vgpu_mock_op op = ops->op;
	int ret = 0;
	u32 i;

	if (ops->count > VGPU_MOCK_MAX_STRUCTS)
		return -E2BIG;
	for (i = 0; !ret && i < ops->count; i++) {
		if (ops->count > 1)
			ret = vgpu_mock_user_read(ops->ptr + i * sizeof(op), &op, sizeof(op));
		if (!ret)
			ret = vgpu_mock_op_run(&op, &sum);
	}
	if (!ret)
		ops->out_sum = sum;
	return ret;
}

static int vgpu_mock_control_run(struct vgpu_mock_control *control, u64 *sum)
{
	if (control->reserved)
		return -EINVAL;
	if (control->size > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	if (control->size)
		return vgpu_mock_user_bytes(control->ptr, control->size, VGPU_MOCK_INOUT, sum);
	*sum = vgpu_mock_sum(*sum, &control->value, sizeof(control->value));
	control->value = vgpu_mock_mix64(control->value);
	return 0;
}

long vgpu_mock_controls(struct vgpu_mock_call *call)
{
	struct vgpu_mock_controls *controls = call->data;
	struct vgpu_mock_control control;
	u64 sum = VGPU_MOCK_SUM_INIT;
	u64 ptr = controls->ptr;
	int ret;
	u32 i;

	if (controls->count > VGPU_MOCK_MAX_STRUCTS)
		return -E2BIG;
	for (i = 0; i < controls->count; i++, ptr += sizeof(control)) {
		ret = vgpu_mock_user_read(ptr, &control, sizeof(control));
		if (ret)
			return ret;
		ret = vgpu_mock_control_run(&control, &sum);
		if (ret)
			return ret;
		ret = vgpu_mock_user_write(ptr, &control, sizeof(control));
		if (ret)
			return ret;
	}
	controls->out_sum = sum;
	return 0;
}

long vgpu_mock_table(struct vgpu_mock_call *call)
{
	struct vgpu_mock_table *table = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	if (table->height == 1) {
		table->out_sum = vgpu_mock_sum(sum, &table->ptr, sizeof(table->ptr));
		return 0;
	}
	if (table->width * (u64)table->height > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	ret = vgpu_mock_user_words(table->ptr, table->width * table->height, VGPU_MOCK_INOUT, &sum);
	if (!ret)
		table->out_sum = sum;
	return ret;
}

long vgpu_mock_caps(struct vgpu_mock_call *call)
{
	struct vgpu_mock_caps *caps = call->data;

	if (caps->kind > 1)
		return -EINVAL;
	caps->out_caps = caps->kind ? 5 : 0xff;
	return 0;
}
