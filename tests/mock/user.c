// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to the memory of the calling process, in pieces, as in drivers.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock.h"

/* Size of a piece: a multiple of 8, as vgpu_mock_sum() requires. */
#define VGPU_MOCK_PIECE		16384

int vgpu_mock_user_read(u64 ptr, void *data, size_t length)
{
	return copy_from_user(data, u64_to_user_ptr(ptr), length) ? -EFAULT : 0;
}

int vgpu_mock_user_write(u64 ptr, const void *data, size_t length)
{
	return copy_to_user(u64_to_user_ptr(ptr), data, length) ? -EFAULT : 0;
}

static void vgpu_mock_mix_words(void *data, u64 length)
{
	u32 *p = data;

	for (; length; length -= sizeof(*p), p++)
		*p = vgpu_mock_mix32(*p);
}

static int vgpu_mock_user_walk(u64 ptr, u64 length, int dir, u64 *sum,
			       void (*change)(void *data, u64 length))
{
	size_t piece;
	void *data;
	int ret = 0;

	if (!length)
		return 0;
	data = kmalloc(min_t(u64, length, VGPU_MOCK_PIECE), GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	for (; length && !ret; ptr += piece, length -= piece) {
		piece = min_t(u64, length, VGPU_MOCK_PIECE);
		ret = vgpu_mock_user_read(ptr, data, piece);
		if (ret)
			break;
		*sum = vgpu_mock_sum(*sum, data, piece);
		if (dir & VGPU_MOCK_OUT) {
			change(data, piece);
			ret = vgpu_mock_user_write(ptr, data, piece);
		}
	}
	kfree(data);
	return ret;
}

/**
 * vgpu_mock_user_bytes() - read bytes and perhaps invert them
 * @ptr: address of the bytes
 * @length: number of bytes
 * @dir: VGPU_MOCK_IN: leave the bytes, VGPU_MOCK_INOUT: invert them
 * @sum: hash; the bytes read are added
 *
 * Return: 0 or -errno.
 */
int vgpu_mock_user_bytes(u64 ptr, u64 length, int dir, u64 *sum)
{
	return vgpu_mock_user_walk(ptr, length, dir, sum, vgpu_mock_invert);
}

/**
 * vgpu_mock_user_words() - read words and perhaps replace them by their hashes
 * @ptr: address of the words
 * @count: number of words
 * @dir: VGPU_MOCK_IN: leave the words, VGPU_MOCK_INOUT: replace them
 * @sum: hash; the words read are added
 *
 * Return: 0 or -errno.
 */
int vgpu_mock_user_words(u64 ptr, u64 count, int dir, u64 *sum)
{
	return vgpu_mock_user_walk(ptr, count * sizeof(u32), dir, sum, vgpu_mock_mix_words);
}

/**
 * vgpu_mock_user_pattern() - write a pattern
 * @ptr: address of the first byte
 * @length: number of bytes
 * @seed: seed of the pattern
 *
 * Return: 0 or -errno.
 */
int vgpu_mock_user_pattern(u64 ptr, u64 length, u64 seed)
{
	u64 offset = 0;
	size_t piece;
	void *data;
	int ret = 0;

	if (!length)
		return 0;
	data = kmalloc(min_t(u64, length, VGPU_MOCK_PIECE), GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	for (; offset < length && !ret; offset += piece) {
		piece = min_t(u64, length - offset, VGPU_MOCK_PIECE);
		vgpu_mock_pattern(data, piece, seed, offset);
		ret = vgpu_mock_user_write(ptr + offset, data, piece);
	}
	kfree(data);
	return ret;
}

/**
 * vgpu_mock_user_list() - read a list of plain data, element by element
 * @list: address and size of the list
 * @sum: hash; the elements read are added
 *
 * Return: 0 or -errno.
 */
int vgpu_mock_user_list(const struct vgpu_mock_list *list, u64 *sum)
{
	u8 elem[VGPU_MOCK_MAX_STRIDE];
	u64 ptr = list->ptr;
	u32 i;
	int ret;

	if (!list->stride || list->stride > sizeof(elem))
		return -EINVAL;
	if (list->count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	for (i = 0; i < list->count; i++, ptr += list->stride) {
		ret = vgpu_mock_user_read(ptr, elem, list->stride);
		if (ret)
			return ret;
		*sum = vgpu_mock_sum(*sum, elem, list->stride);
	}
	return 0;
}
