// SPDX-License-Identifier: GPL-2.0-only
/*
 * 32-bit programs: their pointers are narrower, and one structure differs.
 */
#include <linux/compat.h>

#include "mock.h"

static int vgpu_mock_compat_run(u64 ptr, u64 length, u64 *value)
{
	u64 sum = 0;

	if (length > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	*value = vgpu_mock_mix64(*value);
	return vgpu_mock_user_bytes(ptr, length, VGPU_MOCK_INOUT, &sum);
}

static long vgpu_mock_compat_run32(struct vgpu_mock_compat32 *args)
{
	u64 value = args->value_lo | (u64)args->value_hi << 32;
	int ret;

	ret = vgpu_mock_compat_run(args->ptr, args->length, &value);
	args->value_lo = lower_32_bits(value);
	args->value_hi = upper_32_bits(value);
	return ret;
}

/**
 * vgpu_mock_compat() - run VGPU_MOCK_IOC_COMPAT
 * @call: the call
 *
 * Return: 0 or -errno.
 */
long vgpu_mock_compat(struct vgpu_mock_call *call)
{
	struct vgpu_mock_compat *args = call->data;

	if (_IOC_SIZE(call->cmd) == sizeof(struct vgpu_mock_compat32))
		return vgpu_mock_compat_run32(call->data);
	if (args->reserved)
		return -EINVAL;
	return vgpu_mock_compat_run(args->ptr, args->length, &args->value);
}

#ifdef CONFIG_COMPAT
long vgpu_mock_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	switch (cmd & ~VGPU_MOCK_UNDESCRIBED_BIT) {
	case VGPU_MOCK_IOC_INTEGER:
	case VGPU_MOCK_IOC_EXCLUSIVE:
	case VGPU_MOCK_IOC_FLUSH:
		break;
	default:
		arg = (unsigned long)compat_ptr(arg);
	}
	return vgpu_mock_call_run(filp, cmd, arg, true);
}
#endif
