// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls whose argument itself, without pointers to other memory, is hard to forward.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "../../drivers/common/tsc.h"
#include "mock.h"

long vgpu_mock_noop(struct vgpu_mock_call *call)
{
	return 0;
}

long vgpu_mock_in(struct vgpu_mock_call *call)
{
	struct vgpu_mock_in *in = call->data;

	call->file->seed = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, in, sizeof(*in));
	return call->file->seed & INT_MAX;
}

long vgpu_mock_out(struct vgpu_mock_call *call)
{
	struct vgpu_mock_out *out = call->data;

	out->out_seed = call->file->seed;
	vgpu_mock_pattern(out->out_bytes, sizeof(out->out_bytes), out->out_seed, 0);
	return 0;
}

long vgpu_mock_inout(struct vgpu_mock_call *call)
{
	struct vgpu_mock_inout *io = call->data;

	io->out_value = io->value;
	io->value = vgpu_mock_mix64(io->value);
	return 0;
}

long vgpu_mock_integer(struct vgpu_mock_call *call)
{
	return (call->arg ^ 0x5a5a5a5a) & INT_MAX;
}

long vgpu_mock_error(struct vgpu_mock_call *call)
{
	struct vgpu_mock_error *error = call->data;
	u64 sum = 0;
	int ret;

	if (error->reserved || error->reserved2 || error->error < 0 || error->error > MAX_ERRNO)
		return -EINVAL;
	if (error->count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	error->out_value = vgpu_mock_mix64(error->value);
	ret = vgpu_mock_user_words(error->ptr, error->count, VGPU_MOCK_INOUT, &sum);
	return ret ? ret : -error->error;
}

long vgpu_mock_return(struct vgpu_mock_call *call)
{
	struct vgpu_mock_return *ret = call->data;

	return ret->value;
}

long vgpu_mock_big(struct vgpu_mock_call *call)
{
	struct vgpu_mock_big *big = call->data;
	int i;

	for (i = 0; i < ARRAY_SIZE(big->value); i++)
		big->value[i] = vgpu_mock_mix32(big->value[i]);
	return 0;
}

/* Reads 64 bytes, although the command's size is 8. */
long vgpu_mock_overread(struct vgpu_mock_call *call)
{
	struct vgpu_mock_overread all;

	if (copy_from_user(&all, call->user, sizeof(all)))
		return -EFAULT;
	all.head = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, all.tail, sizeof(all.tail));
	return copy_to_user(call->user, &all.head, sizeof(all.head)) ? -EFAULT : 0;
}

long vgpu_mock_self(struct vgpu_mock_call *call)
{
	struct vgpu_mock_self __user *user = call->user;
	struct vgpu_mock_self self;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret;

	if (copy_from_user(&self, user, sizeof(self)))
		return -EFAULT;
	if (self.length > sizeof(self.data))
		return -E2BIG;
	ret = vgpu_mock_user_bytes(self.ptr, self.length, VGPU_MOCK_INOUT, &sum);
	if (ret)
		return ret;
	/* The rest of the structure must not be copied out: user_bytes may have changed it. */
	return put_user((u32)sum, &user->out_sum);
}

static int vgpu_mock_bare_add(const struct vgpu_mock_bare *bare)
{
	u64 value;
	u32 i;

	if (bare->count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	for (i = 0; i < bare->count; i++) {
		u64 __user *p = u64_to_user_ptr(bare->ptr) + i * sizeof(value);

		if (get_user(value, p) || put_user(value + bare->base, p))
			return -EFAULT;
	}
	return 0;
}

long vgpu_mock_bare(struct vgpu_mock_call *call)
{
	struct vgpu_mock_bare bare;

	if (copy_from_user(&bare, call->user, sizeof(bare)))
		return -EFAULT;
	bare.out_status = vgpu_mock_bare_add(&bare);
	return copy_to_user(call->user, &bare, sizeof(bare)) ? -EFAULT : 0;
}

long vgpu_mock_extensible(struct vgpu_mock_call *call)
{
	size_t size = min_t(size_t, _IOC_SIZE(call->cmd), sizeof(struct vgpu_mock_extensible));
	struct vgpu_mock_extensible ext = { };
	int i;

	if (size < sizeof(ext.value))
		return -EINVAL;
	if (copy_from_user(&ext, call->user, size))
		return -EFAULT;
	ext.value = vgpu_mock_mix64(ext.value);
	for (i = 0; i < ARRAY_SIZE(ext.more); i++)
		ext.more[i] = vgpu_mock_mix64(ext.more[i]);
	return copy_to_user(call->user, &ext, size) ? -EFAULT : 0;
}

long vgpu_mock_sized(struct vgpu_mock_call *call)
{
	struct vgpu_mock_sized sized;
	u32 size;
	int ret;
	int i;

	if (get_user(size, (u32 __user *)call->user))
		return -EFAULT;
	if (size < offsetof(struct vgpu_mock_sized, more))
		return -EINVAL;
	if (size > 4096)
		return -E2BIG;
	ret = copy_struct_from_user(&sized, sizeof(sized), call->user, size);
	if (ret)
		return ret;
	if (sized.reserved)
		return -EINVAL;
	/* Another thread may have changed the size between the two reads. */
	sized.size = size;
	sized.value = vgpu_mock_mix64(sized.value);
	for (i = 0; i < ARRAY_SIZE(sized.more); i++)
		sized.more[i] = vgpu_mock_mix64(sized.more[i]);
	return copy_to_user(call->user, &sized, min_t(size_t, size, sizeof(sized))) ?
		-EFAULT : 0;
}

long vgpu_mock_times(struct vgpu_mock_call *call)
{
	struct vgpu_mock_times *times = call->data;
	u64 now = ktime_get_ns();

	if (times->reserved || (times->flags & ~VGPU_MOCK_TIMES_VALID))
		return -EINVAL;
	times->out_host_ns = now;
	times->ns = now;
	times->seconds = VGPU_MOCK_TIMES_SECONDS;
	if (times->flags & VGPU_MOCK_TIMES_VALID) {
		times->seconds = now / NSEC_PER_SEC;
		times->micro = now % NSEC_PER_SEC / NSEC_PER_USEC;
	}
	times->realtime_ns = ktime_get_real_ns();
	times->raw_ns = ktime_get_raw_ns();
	times->realtime_us = ktime_to_us(ktime_get_real());
	times->tsc = vgpu_tsc_read();
	return 0;
}
