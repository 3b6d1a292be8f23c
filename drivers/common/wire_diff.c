// SPDX-License-Identifier: GPL-2.0-only
/* Codec of the wire protocol: the changed bytes of a page in WRITE_PAGES and WRITEBACK. */
#include "wire_check.h"

/* Number of mask bits that stand for one word of the page. */
#define WORD	sizeof(u64)

static u64 word_at(const u8 *p, u32 pos)
{
	u64 word;

	memcpy(&word, p + pos, sizeof(word));
	return word;
}

u32 vgpu_wire_diff_next(const u8 *old, const u8 *new, u32 len, u32 *pos)
{
	u32 start = *pos, end;

	/* Equal words are the most frequent case: skip them eight bytes at a time. */
	while (start < len) {
		if (!(start & 7) && word_at(old, start) == word_at(new, start))
			start += 8;
		else if (old[start] == new[start])
			start++;
		else
			break;
	}
	end = start;
	while (end < len && old[end] != new[end])
		end++;
	*pos = start;
	return end - start;
}

static void diff_add(struct vgpu_wire_diff *diff, u64 addr, const u8 *bytes, u32 len, u32 flags)
{
	struct vgpu_range *range = &diff->ranges[diff->nr++];

	range->addr = cpu_to_le64(addr);
	range->len = cpu_to_le32(len);
	range->flags = cpu_to_le32(flags);
	memcpy(diff->bytes + diff->len, bytes, len);
	diff->len += len;
}

/*
 * Add one range with a mask and its bytes. Each word is read once, as other threads write to
 * it.
 */
static void diff_mask(struct vgpu_wire_diff *diff, u64 addr, const u8 *old, const u8 *new)
{
	struct vgpu_range *range = &diff->ranges[diff->nr];
	u8 *mask = diff->bytes + diff->len, *bytes = mask + VGPU_MASK_BYTES;
	u8 word[WORD];
	u32 pos, i;

	for (pos = 0; pos < VGPU_PAGE_SIZE; pos += WORD) {
		u8 bits = 0;

		memcpy(word, new + pos, sizeof(word));
		for (i = 0; i < WORD; i++) {
			if (word[i] == old[pos + i])
				continue;
			bits |= 1U << i;
			*bytes++ = word[i];
		}
		mask[pos / WORD] = bits;
	}
	/* Every change may have been undone by another thread meanwhile. */
	if (bytes == mask + VGPU_MASK_BYTES)
		return;
	range->addr = cpu_to_le64(addr);
	range->len = cpu_to_le32(bytes - mask);
	range->flags = cpu_to_le32(VGPU_RANGE_MASK);
	diff->nr++;
	diff->len += bytes - mask;
}

void vgpu_wire_diff_page(struct vgpu_wire_diff *diff, u64 addr, const u8 *old, const u8 *new)
{
	u32 nr = diff->nr, len = diff->len;
	u32 pos = 0, run;

	while ((run = vgpu_wire_diff_next(old, new, VGPU_PAGE_SIZE, &pos))) {
		if (diff->nr - nr == VGPU_DIFF_RANGES) {
			diff->nr = nr;
			diff->len = len;
			diff_mask(diff, addr, old, new);
			return;
		}
		diff_add(diff, addr + pos, new + pos, run, 0);
		pos += run;
	}
}

void vgpu_wire_diff_whole(struct vgpu_wire_diff *diff, u64 addr, const u8 *new)
{
	diff_add(diff, addr, new, VGPU_PAGE_SIZE, 0);
}

/*
 * Find the next run of bytes in a mask from *@pos on. Return: its length, 0 if there is none.
 */
static u32 mask_next(const u8 *mask, u32 *pos)
{
	u32 start = *pos, end;

	while (start < VGPU_PAGE_SIZE && !(mask[start / 8] & 1U << start % 8))
		start += mask[start / 8] >> start % 8 ? 1 : 8 - start % 8;
	end = start;
	while (end < VGPU_PAGE_SIZE && (mask[end / 8] & 1U << end % 8))
		end++;
	*pos = start;
	return end - start;
}

int vgpu_wire_range_apply(const struct vgpu_range *range, const u8 *data,
			  int (*put)(void *arg, u64 addr, const u8 *data, u32 len), void *arg)
{
	u64 addr = le64_to_cpu(range->addr);
	const u8 *mask = data;
	u32 pos = 0, run;
	int ret;

	if (!(le32_to_cpu(range->flags) & VGPU_RANGE_MASK))
		return put(arg, addr, data, le32_to_cpu(range->len));
	data += VGPU_MASK_BYTES;
	while ((run = mask_next(mask, &pos))) {
		ret = put(arg, addr + pos, data, run);
		if (ret)
			return ret;
		data += run;
		pos += run;
	}
	return 0;
}

static u32 mask_count(const u8 *mask)
{
	u32 pos, count = 0;

	for (pos = 0; pos < VGPU_MASK_BYTES; pos += WORD)
		count += hweight64(word_at(mask, pos));
	return count;
}

static bool range_is_good(const struct vgpu_range *range, const u8 *data, u64 left)
{
	u64 addr = le64_to_cpu(range->addr);
	u32 len = le32_to_cpu(range->len), flags = le32_to_cpu(range->flags);

	if (len > left)
		return false;
	if (!flags)
		return range_ok(addr, len);
	return flags == VGPU_RANGE_MASK && page_range_ok(addr, VGPU_PAGE_SIZE) &&
		len > VGPU_MASK_BYTES && mask_count(data) == len - VGPU_MASK_BYTES;
}

bool vgpu_wire_ranges_ok(const struct vgpu_range *range, u32 nr, const u8 *data, u64 data_len,
			 u64 *bytes)
{
	u32 i;

	*bytes = 0;
	for (i = 0; i < nr; i++, range++) {
		if (!range_is_good(range, data + *bytes, data_len - *bytes))
			return false;
		*bytes += le32_to_cpu(range->len);
		cond_resched();
	}
	return true;
}
