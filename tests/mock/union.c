// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls with fields that have several meanings.
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

static int vgpu_mock_exec_pairs(u64 ptr, u32 count, u64 *sum)
{
	if (count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	return vgpu_mock_user_bytes(ptr, (u64)count * sizeof(struct vgpu_mock_pair), VGPU_MOCK_IN,
				    sum);
}

static int vgpu_mock_exec_chain(struct vgpu_mock_exec *exec, u64 ptr, u64 *sum)
{
	struct vgpu_mock_chain chain = { .extensions = ptr, .value = exec->value };
	int ret = vgpu_mock_chain_run(&chain, sum);

	exec->value = chain.value;
	return ret;
}

static int vgpu_mock_exec_add(u64 ptr, u64 *sum)
{
	struct vgpu_mock_exec_config config;
	int ret = vgpu_mock_user_read(ptr, &config, sizeof(config));

	if (ret)
		return ret;
	return config.reserved ? -EINVAL : vgpu_mock_exec_pairs(config.ptr, config.count, sum);
}

static int vgpu_mock_exec_ptr(struct vgpu_mock_exec *exec, u64 *sum)
{
	switch (exec->flags) {
	case 0:
		*sum = vgpu_mock_sum(*sum, &exec->ptr, sizeof(exec->ptr));
		return 0;
	case VGPU_MOCK_EXEC_CHAIN:
		return vgpu_mock_exec_chain(exec, exec->ptr, sum);
	case VGPU_MOCK_EXEC_ARRAY:
		return vgpu_mock_exec_pairs(exec->ptr, exec->count, sum);
	default:
		return -EINVAL;
	}
}

static int vgpu_mock_exec_param(struct vgpu_mock_exec *exec, u64 *sum)
{
	switch (exec->op) {
	case VGPU_MOCK_EXEC_OP_NUMBER:
		*sum = vgpu_mock_sum(*sum, &exec->param, sizeof(exec->param));
		return 0;
	case VGPU_MOCK_EXEC_OP_OPEN:
		return vgpu_mock_exec_chain(exec, exec->param, sum);
	case VGPU_MOCK_EXEC_OP_ADD:
		return vgpu_mock_exec_add(exec->param, sum);
	case VGPU_MOCK_EXEC_OP_REMOVE:
		return vgpu_mock_user_bytes(exec->param, sizeof(u64), VGPU_MOCK_IN, sum);
	default:
		return -EINVAL;
	}
}

long vgpu_mock_exec(struct vgpu_mock_call *call)
{
	struct vgpu_mock_exec *exec = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret = vgpu_mock_exec_ptr(exec, &sum);

	if (!ret)
		ret = vgpu_mock_exec_param(exec, &sum);
	if (!ret)
		exec->out_sum = sum;
	return ret;
}
