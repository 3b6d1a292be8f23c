// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the sizes of arguments: those of older and newer programs, of structs
 * that hold their size, of bare numbers, strings, and undescribed ioctls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "marshal_test.h"

/* --- sizes ---------------------------------------------------------------- */

struct size_seen {
	u32 len;
	u8 first;
};

static long size_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct size_seen *seen = data;
	u8 *p;

	seen->len = 0;
	while (seen->len < 8192 && driver_mem(h, arg, seen->len + 1, USER_READ) && !h->fetches)
		seen->len++;
	p = driver_mem(h, arg, 1, USER_READ);
	seen->first = p ? *p : 0;
	return 0;
}

static void test_sizes(void)
{
	struct drm_syncobj_wait *w;
	struct size_seen seen;
	struct vgpu_marshal m;
	u32 *sized, i;

	start();
	for (i = 8; i <= 64; i += 8) {
		call(mock, VGPU_MOCK_IOC_EXTENSIBLE_SIZED(i), user_alloc(64), size_driver, &seen);
		tap_expect(seen.len == i, "%u bytes by the command: %u", i, seen.len);
	}
	call(mock, VGPU_MOCK_IOC_OVERREAD, user_alloc(64), size_driver, &seen);
	tap_expect(seen.len == 64, "more than the command says");
	call(mock, VGPU_MOCK_BARE, user_alloc(24), size_driver, &seen);
	tap_expect(seen.len == 24, "a bare number");

	sized = user_alloc(4096);
	for (i = 0; i < 5; i++) {
		static const u32 sizes[] = { 8, 16, 17, 48, 4096 };

		sized[0] = sizes[i];
		call(mock, VGPU_MOCK_IOC_SIZED, sized, size_driver, &seen);
		tap_expect(seen.len == max(sizes[i], 16u), "a struct of %u by itself: %u",
			   sizes[i], seen.len);
	}
	sized[0] = VGPU_SCHEMA_SIZED_MAX + 1;
	call(mock, VGPU_MOCK_IOC_SIZED, sized, size_driver, &seen);
	tap_expect(!seen.len && host.fetches, "too long: left to the driver");
	sized = (u32 *)((u8 *)user_alloc_pages(USER_PAGE) + USER_PAGE - 32);
	sized[0] = 64;
	call(mock, VGPU_MOCK_IOC_SIZED, sized, size_driver, &seen);
	tap_expect(!seen.len && host.fetches, "its end is missing: left to the driver");

	/* An older program's struct ends before the count, so no pointer is followed. */
	w = user_alloc(sizeof(*w) + 64);
	w->handles = (uintptr_t)user_alloc(16);
	w->count_handles = 4;
	host_ioctl_keep(&host, &m, &vgpu_schema_drm,
			_IOC(_IOC_READ | _IOC_WRITE, 'd', 0xC3, 16), (uintptr_t)w, false,
			size_driver, &seen);
	tap_expect(m.nr_segs == 1 && seen.len == 16, "an older program: the count is not there");
	vgpu_marshal_fini(&m);
	host_ioctl_keep(&host, &m, &vgpu_schema_drm,
			_IOC(_IOC_READ | _IOC_WRITE, 'd', 0xC3, sizeof(*w) + 16), (uintptr_t)w,
			false, size_driver, &seen);
	tap_expect(m.nr_segs == 2 && seen.len == sizeof(*w) + 16, "a newer program");
	vgpu_marshal_fini(&m);
	/* DRM reads nothing for a command with _IOC_READ alone. */
	host_ioctl_keep(&host, &m, &vgpu_schema_drm, _IOC(_IOC_READ, 'd', 0xC3, sizeof(*w)),
			(uintptr_t)w, false, size_driver, &seen);
	tap_expect(m.nr_segs == 1, "nothing is read");
	vgpu_marshal_fini(&m);
	tap_subject("sizes of the argument");
}

/* Reads the length in the head, and writes the beginning of the data behind the head. */
static long tlv_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct snd_ctl_tlv *tlv = driver_mem(h, arg, sizeof(*tlv), USER_READ);
	u32 *p = tlv ? driver_mem(h, arg + sizeof(*tlv), tlv->length, USER_WRITE) : NULL;

	if (!p)
		return -EFAULT;
	*(u32 *)data = p[1];
	p[0] = 77;
	return 0;
}

static long tlv_call(u32 cmd, struct snd_ctl_tlv *tlv, u32 length)
{
	u32 seen = 0;
	long result;

	tlv->length = length;
	tlv->tlv[0] = 0;
	tlv->tlv[1] = length ^ 5;
	result = call(&vgpu_schema_sound_control, cmd, tlv, tlv_driver, &seen);
	return result ? result : seen == (length ^ 5) && tlv->tlv[0] == 77;
}

static void test_tail(void)
{
	struct snd_ctl_tlv *tlv;

	start();
	tlv = user_alloc(4 * USER_PAGE);
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_READ, tlv, 16) == 1 && !host.fetches,
		   "a short one is read");
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_WRITE, tlv, 4096) == 1 && !host.fetches,
		   "a page is written");
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_COMMAND, tlv, VGPU_SCHEMA_SIZED_MAX - 8) == 1 &&
		   !host.fetches, "the longest");
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_WRITE, tlv, VGPU_SCHEMA_SIZED_MAX - 4) == 1 &&
		   host.fetches, "longer: left to the driver");
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_WRITE, tlv, ~0U) == -EFAULT, "longer than memory");
	tlv = (struct snd_ctl_tlv *)((u8 *)user_alloc_pages(USER_PAGE) + USER_PAGE - 32);
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_READ, tlv, 24) == 1 && !host.fetches,
		   "at the end of memory");
	tap_expect(tlv_call(SNDRV_CTL_IOCTL_TLV_READ, tlv, 32) == -EFAULT && host.fetches,
		   "beyond it");
	tap_subject("what is behind a struct");
}

/* A driver that writes to the argument, although the command says that it only reads. */
static long liar(struct host *h, u32 cmd, u64 arg, void *data)
{
	u64 *p = driver_mem(h, arg, sizeof(*p), USER_WRITE);

	if (!p)
		return -EFAULT;
	*p = 77;
	return 0;
}

static void test_undescribed(void)
{
	struct vgpu_mock_array *a;
	struct size_seen seen;
	struct vgpu_marshal m;
	u64 value = 0;
	u64 *pair;
	u8 *p;

	start();
	a = user_alloc(sizeof(*a));
	call(NULL, VGPU_MOCK_IOC_ARRAY_IN, a, size_driver, &seen);
	tap_expect(seen.len == sizeof(*a), "the command gives the size");
	tap_expect(call(NULL, VGPU_MOCK_IOC_ARRAY_IN, (void *)24, wants_driver, &value) == 7 &&
		   value == 24, "of a bad address");

	pair = user_alloc(2 * sizeof(*pair));
	pair[1] = 5;
	tap_expect(!call(NULL, _IOC(_IOC_WRITE, 'x', 1, 16), pair, liar, NULL) &&
		   pair[0] == 77 && pair[1] == 5, "what the command did not say is written");

	p = user_alloc_pages(2 * USER_PAGE);
	p[100] = 9;
	host_ioctl_keep(&host, &m, NULL, 0x1234, (uintptr_t)p + 100, false, wants_driver, &value);
	tap_expect(value == (uintptr_t)p + 100 && m.nr_segs == 1 &&
		   le32_to_cpu(m.segs[0].flags) == (VGPU_SEG_IN | VGPU_SEG_PAGE) &&
		   le64_to_cpu(m.segs[0].addr) == (uintptr_t)p && m.data[100] == 9,
		   "without a size: the page goes along");
	vgpu_marshal_fini(&m);
	host_ioctl_keep(&host, &m, NULL, 0x1234, 12345, false, wants_driver, &value);
	tap_expect(value == 12345 && !m.nr_segs, "without a size: a number");
	vgpu_marshal_fini(&m);
	host_ioctl_keep(&host, &m, NULL, 0x1234, ~0UL, false, wants_driver, &value);
	tap_expect(value == ~0ULL && !m.nr_segs, "without a size: a negative number");
	vgpu_marshal_fini(&m);
	tap_subject("ioctls without a schema");
}

static long string_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	const char *p;
	u32 len = 0;

	for (; len < DMA_BUF_NAME_LEN; len++) {
		p = driver_mem(h, arg + len, 1, USER_READ);
		if (!p)
			return -EFAULT;
		if (!*p)
			return len;
	}
	return -EINVAL;
}

static void test_string(void)
{
	const struct vgpu_schema *s = &vgpu_schema_dma_buf;
	char *p;

	start();
	p = user_alloc(64);
	memcpy(p, "buffer", 7);
	tap_expect(call(s, DMA_BUF_SET_NAME_A, p, string_driver, NULL) == 6 && !host.fetches,
		   "short, by its first number");
	tap_expect(call(s, DMA_BUF_SET_NAME_B, p, string_driver, NULL) == 6 && !host.fetches,
		   "short, by its second number");
	memset(p, 'x', 40);
	tap_expect(call(s, DMA_BUF_SET_NAME_B, p, string_driver, NULL) == -EINVAL, "too long");
	tap_expect(call(s, DMA_BUF_SET_NAME_B, NULL, string_driver, NULL) == -EFAULT, "null");
	p = (char *)user_alloc_pages(USER_PAGE) + USER_PAGE - 4;
	memcpy(p, "end", 4);
	tap_expect(call(s, DMA_BUF_SET_NAME_B, p, string_driver, NULL) == 3 && !host.fetches,
		   "at the end of memory");
	memcpy(p, "ends", 4);
	tap_expect(call(s, DMA_BUF_SET_NAME_B, p, string_driver, NULL) == -EFAULT,
		   "beyond the end of memory");
	p = (char *)user_alloc_pages(2 * USER_PAGE) + USER_PAGE - 4;
	memcpy(p, "two pages", 10);
	tap_expect(call(s, DMA_BUF_SET_NAME_B, p, string_driver, NULL) == 9 && !host.fetches,
		   "over the end of a page");
	tap_subject("strings");
}

/* --- 32-bit programs ------------------------------------------------------ */

static long compat_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	u32 *p = driver_mem(h, arg, 20, USER_READ);

	*(u32 *)data = p[0];
	return 0;
}

static void test_compat(void)
{
	struct vgpu_mock_compat32 *c;
	struct vgpu_marshal m;
	u64 value = 0;
	u32 seen = 0;

	start();
	c = user_alloc(sizeof(*c));
	c->ptr = (uintptr_t)user_alloc(40);
	c->length = 40;
	host_ioctl_keep(&host, &m, mock, VGPU_MOCK_IOC_COMPAT32, (uintptr_t)c, true, compat_driver,
			&seen);
	tap_expect(m.nr_segs == 2 && m.nr_fixups == 1 &&
		   le16_to_cpu(m.fixups[0].type) == VGPU_FIXUP_PTR32 && seen == 0xf0001000,
		   "a pointer of 32 bits");
	tap_expect(!user.bytes_written, "and what it was afterwards");
	vgpu_marshal_fini(&m);
	host_ioctl_keep(&host, &m, mock, VGPU_MOCK_IOC_COMPAT32, (uintptr_t)c, false, wants_driver,
			&value);
	tap_expect(m.nr_segs == 1, "not of a 64-bit program");
	vgpu_marshal_fini(&m);
	host_ioctl_keep(&host, &m, &vgpu_schema_drm, DRM_IOCTL_GET_STATS, (uintptr_t)c, true,
			wants_driver, &value);
	tap_expect(m.nr_segs == 1 && !m.entry.name, "another layout: by its size alone");
	vgpu_marshal_fini(&m);
	tap_subject("32-bit programs");
}

int main(void)
{
	test_sizes();
	test_tail();
	test_undescribed();
	test_string();
	test_compat();
	return tap_done();
}
