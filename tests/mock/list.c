// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls whose argument is a list of elements with a type each: chains of
 * extensions, and tagged chunks.
 */
#include <linux/kernel.h>

#include "mock.h"

/* Reads the words of a struct vgpu_mock_ext_more. */
static int vgpu_mock_ext_words(u64 ptr, u64 *sum)
{
	struct vgpu_mock_ext_more more;
	int ret = vgpu_mock_user_read(ptr, &more, sizeof(more));

	if (ret)
		return ret;
	if (more.reserved[0] || more.reserved[1] || more.reserved[2])
		return -EINVAL;
	return vgpu_mock_user_words(ptr + sizeof(more), more.count, VGPU_MOCK_IN, sum);
}

/* Reads a chain that consists of struct vgpu_mock_ext_more alone. */
static int vgpu_mock_param_chain(const struct vgpu_mock_param *param, u64 *sum)
{
	struct vgpu_mock_ext_base base;
	u32 i;
	u64 ptr;
	int ret;

	if (param->size < sizeof(ptr))
		return -EINVAL;
	ret = vgpu_mock_user_read(param->value, &ptr, sizeof(ptr));
	for (i = 0; !ret && ptr; i++) {
		if (i == VGPU_MOCK_MAX_CHAIN)
			return -E2BIG;
		ret = vgpu_mock_user_read(ptr, &base, sizeof(base));
		if (!ret && (base.reserved || base.name != VGPU_MOCK_EXT_MORE))
			return -EINVAL;
		if (!ret)
			ret = vgpu_mock_ext_words(ptr, sum);
		ptr = base.next_extension;
	}
	if (ret)
		return ret;
	return vgpu_mock_user_bytes(param->value + sizeof(ptr), param->size - sizeof(ptr),
				    VGPU_MOCK_IN, sum);
}

static int vgpu_mock_param_set(struct vgpu_mock_chain *chain, const struct vgpu_mock_param *param,
			       u64 *sum)
{
	if (param->size > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	switch (param->param) {
	case VGPU_MOCK_PARAM_NUMBER:
		chain->value = param->value;
		return param->size ? -EINVAL : 0;
	case VGPU_MOCK_PARAM_BYTES:
		return vgpu_mock_user_bytes(param->value, param->size, VGPU_MOCK_IN, sum);
	case VGPU_MOCK_PARAM_CHAIN:
		return vgpu_mock_param_chain(param, sum);
	default:
		return -EINVAL;
	}
}

static int vgpu_mock_ext_apply(struct vgpu_mock_chain *chain, u64 ptr, u32 name, u64 *sum)
{
	struct vgpu_mock_ext_array array;
	struct vgpu_mock_ext_param param;
	struct vgpu_mock_ext_set set;
	int ret;

	switch (name) {
	case VGPU_MOCK_EXT_SET:
		ret = vgpu_mock_user_read(ptr, &set, sizeof(set));
		if (ret)
			return ret;
		chain->value = set.value;
		*sum = vgpu_mock_sum(*sum, &set.value, sizeof(set.value));
		return 0;
	case VGPU_MOCK_EXT_GET:
		return vgpu_mock_user_write(ptr + offsetof(struct vgpu_mock_ext_get, out_value),
					    &chain->value, sizeof(chain->value));
	case VGPU_MOCK_EXT_ARRAY:
		ret = vgpu_mock_user_read(ptr, &array, sizeof(array));
		if (ret)
			return ret;
		if (array.reserved)
			return -EINVAL;
		if (array.count > VGPU_MOCK_MAX_ELEMS)
			return -E2BIG;
		return vgpu_mock_user_words(array.ptr, array.count, VGPU_MOCK_INOUT, sum);
	case VGPU_MOCK_EXT_MORE:
		return vgpu_mock_ext_words(ptr, sum);
	case VGPU_MOCK_EXT_PARAM:
		ret = vgpu_mock_user_read(ptr, &param, sizeof(param));
		return ret ? ret : vgpu_mock_param_set(chain, &param.param, sum);
	default:
		return -EINVAL;
	}
}

/**
 * vgpu_mock_chain_run() - apply a chain of extensions
 * @chain: beginning of the chain, and the value that the extensions change
 * @sum: hash; the data of the extensions is added
 *
 * Return: 0 or -errno.
 */
int vgpu_mock_chain_run(struct vgpu_mock_chain *chain, u64 *sum)
{
	struct vgpu_mock_ext_base base;
	u64 ptr = chain->extensions;
	int ret;

	for (chain->out_count = 0; ptr; chain->out_count++) {
		if (chain->out_count == VGPU_MOCK_MAX_CHAIN)
			return -E2BIG;
		ret = vgpu_mock_user_read(ptr, &base, sizeof(base));
		if (ret)
			return ret;
		if (base.reserved)
			return -EINVAL;
		ret = vgpu_mock_ext_apply(chain, ptr, base.name, sum);
		if (ret)
			return ret;
		ptr = base.next_extension;
	}
	return 0;
}

long vgpu_mock_chain(struct vgpu_mock_call *call)
{
	struct vgpu_mock_chain *chain = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	int ret = vgpu_mock_chain_run(chain, &sum);

	if (!ret)
		chain->out_sum = sum;
	return ret;
}

static int vgpu_mock_chunk_buffers(u64 ptr, u64 length, u64 *sum)
{
	struct vgpu_mock_chunk_buffer buffer;
	int ret;

	if (length % sizeof(buffer))
		return -EINVAL;
	for (; length; ptr += sizeof(buffer), length -= sizeof(buffer)) {
		ret = vgpu_mock_user_read(ptr, &buffer, sizeof(buffer));
		if (ret)
			return ret;
		if (buffer.flags)
			return -EINVAL;
		if (buffer.length > VGPU_MOCK_MAX_STRUCT_BYTES)
			return -E2BIG;
		ret = vgpu_mock_user_bytes(buffer.ptr, buffer.length, VGPU_MOCK_INOUT, sum);
		if (ret)
			return ret;
	}
	return 0;
}

static int vgpu_mock_chunk_list(u64 ptr, u64 length, u64 *sum)
{
	struct vgpu_mock_list list;
	int ret;

	if (length != sizeof(list))
		return -EINVAL;
	ret = vgpu_mock_user_read(ptr, &list, sizeof(list));
	return ret ? ret : vgpu_mock_user_list(&list, sum);
}

long vgpu_mock_chunks(struct vgpu_mock_call *call)
{
	struct vgpu_mock_chunks *chunks = call->data;
	u64 sum = VGPU_MOCK_SUM_INIT;
	struct vgpu_mock_chunk chunk;
	u64 length;
	u64 ptr;
	int ret;

	if (chunks->num_chunks > VGPU_MOCK_MAX_CHUNKS)
		return -E2BIG;
	for (chunks->out_count = 0; chunks->out_count < chunks->num_chunks; chunks->out_count++) {
		ret = vgpu_mock_user_read(chunks->chunks + chunks->out_count * sizeof(ptr), &ptr,
					  sizeof(ptr));
		if (ret)
			return ret;
		ret = vgpu_mock_user_read(ptr, &chunk, sizeof(chunk));
		if (ret)
			return ret;
		length = chunk.length_dw * (u64)sizeof(u32);
		if (length > VGPU_MOCK_MAX_STRUCT_BYTES)
			return -E2BIG;
		switch (chunk.chunk_id) {
		case VGPU_MOCK_CHUNK_RAW:
			ret = vgpu_mock_user_words(chunk.chunk_data, chunk.length_dw, VGPU_MOCK_IN,
						   &sum);
			break;
		case VGPU_MOCK_CHUNK_RESULT:
			ret = vgpu_mock_user_pattern(chunk.chunk_data, length, sum);
			break;
		case VGPU_MOCK_CHUNK_BUFFERS:
			ret = vgpu_mock_chunk_buffers(chunk.chunk_data, length, &sum);
			break;
		case VGPU_MOCK_CHUNK_LIST:
			ret = vgpu_mock_chunk_list(chunk.chunk_data, length, &sum);
			break;
		default:
			ret = -EINVAL;
		}
		if (ret)
			return ret;
	}
	chunks->out_sum = sum;
	return 0;
}
