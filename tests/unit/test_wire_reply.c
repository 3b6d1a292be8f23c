// SPDX-License-Identifier: GPL-2.0-only
/* Tests of every rule of REPLY, broken one at a time. */
#include <stdlib.h>

#include "tap.h"
#include "wire_case.h"

static const struct wire_case any[] = {
	BAD(vgpu_reply, hdr.seq, 6),
	BAD(vgpu_reply, reserved, 1),
	BAD(vgpu_reply, clock_in, 5000001001),		/* later than clock_out */
	GOOD(vgpu_reply, clock_in, 5000001000),
	GOOD(vgpu_reply, clock_in, 0),
	BAD(vgpu_reply, clock_out, 4999999999),
	GOOD(vgpu_reply, clock_out, 1ULL << 62),
	BAD(vgpu_reply, clock_out, (1ULL << 62) + 1),
	BAD(vgpu_reply, flags, VGPU_REPLY_LAST << 1),
	BAD(vgpu_reply, nr_objects, VGPU_FDS_MAX + 1),
	BAD(vgpu_reply, nr_objects, U16_MAX),
	GOOD(vgpu_reply, pos, ~0ULL),
};

static const struct wire_case no_out[] = {
	BAD(vgpu_reply, out.raw[0], 1),
	BAD(vgpu_reply, out.raw[3], 1),
};

/* Cases for operations that return 0 or an errno. */
static const struct wire_case zero_or_errno[] = {
	BAD(vgpu_reply, result, 1),
	GOOD(vgpu_reply, result, -512LL),
	GOOD(vgpu_reply, result, -4095LL),
	BAD(vgpu_reply, result, -4096LL),
	BAD(vgpu_reply, flags, VGPU_REPLY_REFUSED),	/* the result is 0 */
	BAD(vgpu_reply, flags, VGPU_REPLY_STRAY_FD),
	BAD(vgpu_reply, flags, VGPU_REPLY_LAST),
};

static const struct wire_case reply_open[] = {
	BAD(vgpu_reply, result, 1),
	BAD(vgpu_reply, result, -EBUSY),
	BAD(vgpu_reply, nr_objects, 0),
	BAD(vgpu_reply, nr_objects, 2),
	BAD(vgpu_reply, flags, VGPU_REPLY_REFUSED),
	OBJECT_CASE(0, object, 0, false),
	OBJECT_CASE(0, object, ~0U, true),
	OBJECT_CASE(0, kind, 0, false),
	OBJECT_CASE(0, kind, VGPU_OBJECT_DMABUF, false),
	OBJECT_CASE(0, fops, 0xfff, true),
	OBJECT_CASE(0, fops, 0x1000, false),
	OBJECT_CASE(0, flags, 0xf, true),
	OBJECT_CASE(0, flags, VGPU_OBJECT_WATCHED, false),	/* the object is no fence */
	OBJECT_CASE(0, flags, VGPU_OBJECT_SIGNALED << 1, false),
	OBJECT_CASE(0, space, ~0ULL, true),
	OBJECT_CASE(0, size, ~0ULL, true),
	OBJECT_CASE(0, fixup, 1, false),
	OBJECT_CASE(0, f_flags, ~0U, true),
};

static const struct wire_case reply_open_error[] = {
	BAD(vgpu_reply, result, 0),			/* the object is missing */
	GOOD(vgpu_reply, result, -ENODEV),
	BAD(vgpu_reply, result, -4096LL),
	GOOD(vgpu_reply, flags, VGPU_REPLY_REFUSED),
	GOOD(vgpu_reply, flags, VGPU_REPLY_STRAY_FD),
};

static const struct wire_case reply_refused[] = {
	BAD(vgpu_reply, flags, 0),			/* the bytes are missing then */
	BAD(vgpu_reply, result, 0),
	BAD(vgpu_reply, result, 5),
	BAD(vgpu_reply, result, -4096LL),
	GOOD(vgpu_reply, result, -EMFILE),
	BAD(vgpu_reply, nr_objects, 1),
	BAD(vgpu_reply, out.raw[0], 1),
};

static const struct wire_case reply_ioctl_value[] = {
	GOOD(vgpu_reply, result, 0x7fffffffffffffff),
	GOOD(vgpu_reply, result, 1ULL << 63),
	BAD(vgpu_reply, nr_objects, 1),
	BAD(vgpu_reply, flags, VGPU_REPLY_REFUSED),
	BAD(vgpu_reply, out.ioctl.revents, 0x4000),
	GOOD(vgpu_reply, out.ioctl.revents, 0),
	BAD(vgpu_reply, out.ioctl.flags, 0),		/* revents is not 0 */
	BAD(vgpu_reply, out.ioctl.flags, VGPU_POLL_ANSWER << 1),
	BAD(vgpu_reply, out.ioctl.realtime, 1),		/* the call did not ask for it */
	BAD(vgpu_reply, out.ioctl.raw, 1),
	BAD(vgpu_reply, out.ioctl.tsc, 1),
};

static const struct wire_case reply_ioctl_seg[] = {
	GOOD(vgpu_reply, result, 0),
	BAD(vgpu_reply, flags, VGPU_REPLY_REFUSED),	/* the reply has bytes */
	GOOD(vgpu_reply, flags, VGPU_REPLY_STRAY_FD),
	GOOD(vgpu_reply, flags, VGPU_REPLY_LAST),
	BYTE_CASE("padding", sizeof(struct vgpu_reply) + 12, 1, false),
};

static const struct wire_case reply_ioctl_nested[] = {
	BAD(vgpu_reply, result, -EINVAL),		/* FD_RET is answered */
	GOOD(vgpu_reply, out.ioctl.realtime, -1LL),
	GOOD(vgpu_reply, out.ioctl.raw, 0),
	GOOD(vgpu_reply, out.ioctl.tsc, -1LL),
	GOOD(vgpu_reply, out.ioctl.tsc, 0),
	GOOD(vgpu_reply, result, 5),
	BAD(vgpu_reply, nr_objects, 1),
	BAD(vgpu_reply, nr_objects, 3),
	BAD(vgpu_reply, nr_objects, 0),
	OBJECT_CASE(0, object, 0, false),
	OBJECT_CASE(0, object, 22, true),		/* one file for two fixups */
	OBJECT_CASE(0, kind, 0, false),
	OBJECT_CASE(0, kind, VGPU_OBJECT_OTHER, true),
	OBJECT_CASE(0, kind, VGPU_OBJECT_OTHER + 1, false),
	OBJECT_CASE(0, fixup, 2, false),		/* answered twice */
	OBJECT_CASE(0, fixup, 6, true),
	OBJECT_CASE(0, fixup, 0, false),		/* a pointer */
	OBJECT_CASE(0, fixup, 3, false),		/* an fd that went in */
	OBJECT_CASE(0, fixup, 8, false),
	OBJECT_CASE(0, fixup, 9, true),
	OBJECT_CASE(0, fixup, 10, false),
	OBJECT_CASE(0, fixup, ~0U, false),
	OBJECT_CASE(0, reference, ~0U, true),
	OBJECT_CASE(0, reserved, 1, false),
	OBJECT_CASE(0, flags, VGPU_OBJECT_SIGNALED, false),	/* the object is no fence */
	OBJECT_CASE(1, flags, VGPU_OBJECT_WATCHED, true),
	OBJECT_CASE(1, flags, VGPU_OBJECT_SIGNALED, true),
	OBJECT_CASE(1, flags, VGPU_OBJECT_WATCHED | VGPU_OBJECT_SIGNALED, false),
	OBJECT_CASE(1, flags, VGPU_OBJECT_SIGNALED << 1, false),
	OBJECT_CASE(1, fixup, 7, false),
	BYTE_CASE("padding", sizeof(struct vgpu_reply) + 2 * sizeof(struct vgpu_object_desc) +
		  40 + 30, 1, false),
};

static const struct wire_case reply_stray[] = {
	BAD(vgpu_reply, result, 0),
	GOOD(vgpu_reply, result, -EFAULT),
	BAD(vgpu_reply, flags, VGPU_REPLY_STRAY_FD | VGPU_REPLY_REFUSED),	/* with bytes */
	GOOD(vgpu_reply, flags, 0),
};

static const struct wire_case reply_read[] = {
	GOOD(vgpu_reply, result, 16),
	BAD(vgpu_reply, result, 12),			/* byte 13 is padding then */
	BAD(vgpu_reply, result, 17),
	BAD(vgpu_reply, result, 0),
	BAD(vgpu_reply, result, 101),			/* 100 were asked for */
	BAD(vgpu_reply, result, -EIO),			/* the reply has bytes */
	BAD(vgpu_reply, result, 1ULL << 32 | 13),
	BYTE_CASE("padding", sizeof(struct vgpu_reply) + 13, 1, false),
};

static const struct wire_case reply_read_error[] = {
	GOOD(vgpu_reply, result, 0),
	BAD(vgpu_reply, result, 1),
	BAD(vgpu_reply, result, -4096LL),
	GOOD(vgpu_reply, flags, VGPU_REPLY_REFUSED),
};

static const struct wire_case reply_write[] = {
	GOOD(vgpu_reply, result, 0),
	GOOD(vgpu_reply, result, -EFAULT),
	BAD(vgpu_reply, result, 101),
	BAD(vgpu_reply, result, 1ULL << 32),
};

static const struct wire_case reply_llseek[] = {
	GOOD(vgpu_reply, result, 1ULL << 63),
	BAD(vgpu_reply, nr_objects, 1),
};

static const struct wire_case reply_poll[] = {
	GOOD(vgpu_reply, out.poll.revents, ~0U),
	BAD(vgpu_reply, out.poll.reserved, 1),
	BAD(vgpu_reply, out.poll.reserved2[0], 1),
	BAD(vgpu_reply, out.poll.reserved2[2], 1),
};

static const struct wire_case reply_mmap[] = {
	GOOD(vgpu_reply, out.mmap.space, ~0ULL),
	BAD(vgpu_reply, out.mmap.offset, 8),
	GOOD(vgpu_reply, out.mmap.flags, VGPU_MAP_ACCESS | 0x3ff),
	GOOD(vgpu_reply, out.mmap.flags, VGPU_MAP_ASK | 0x3ff),
	BAD(vgpu_reply, out.mmap.flags, VGPU_MAP_WINDOW),
	BAD(vgpu_reply, out.mmap.flags, VGPU_MAP_ASK << 1),
	GOOD(vgpu_reply, out.mmap.cache, VGPU_CACHE_UC),
	BAD(vgpu_reply, out.mmap.cache, VGPU_CACHE_UC + 1),
	BAD(vgpu_reply, out.mmap.reserved, 1),
};

static const struct wire_case reply_bind[] = {
	GOOD(vgpu_reply, out.bind.cache, VGPU_CACHE_UC),
	BAD(vgpu_reply, out.bind.cache, VGPU_CACHE_UC + 1),
	BAD(vgpu_reply, out.bind.reserved, 1),
	BAD(vgpu_reply, out.bind.reserved2[0], 1),
	BAD(vgpu_reply, out.bind.reserved2[2], 1),
	BAD(vgpu_reply, result, 1),
	BAD(vgpu_reply, result, -EBUSY),		/* cache is not 0 */
};

static const struct wire_case reply_clock[] = {
	BAD(vgpu_reply, out.raw[0], 1),
	BAD(vgpu_reply, out.raw[3], 1),
	BAD(vgpu_reply, result, 1),
	GOOD(vgpu_reply, result, -ENOMEM),
};

static const struct wire_case reply_read_pages[] = {
	BAD(vgpu_reply, result, 0),
	BAD(vgpu_reply, result, VGPU_PAGE_SIZE - 8),
	BAD(vgpu_reply, result, 2 * VGPU_PAGE_SIZE),	/* the reply has bytes of one page */
	BAD(vgpu_reply, result, 3 * VGPU_PAGE_SIZE),	/* two were asked for */
	BAD(vgpu_reply, result, -EFAULT),
};

static const struct wire_case reply_write_pages[] = {
	GOOD(vgpu_reply, result, 13),
	BAD(vgpu_reply, result, 14),
	GOOD(vgpu_reply, result, -EFAULT),
};

/* A reply is refused if it does not fit its call. */
static void test_other_call(void)
{
	static struct wire_buf buf;

	wire_sample_find("reply_ioctl_seg")->fill(&buf);
	tap_expect(!wire_case_check(buf.words, buf.len, "call_ioctl_seg", NULL), "its call");
	tap_expect(wire_case_check(buf.words, buf.len, "call_ioctl_value", NULL) == -EPROTO,
		   "a call with no bytes");
	tap_expect(wire_case_check(buf.words, buf.len, "call_ioctl_nested", NULL) == -EPROTO,
		   "a call with more bytes");
	tap_expect(wire_case_check(buf.words, buf.len, "call_open", NULL) == -EPROTO, "an open");
	wire_sample_find("reply_open")->fill(&buf);
	tap_expect(wire_case_check(buf.words, buf.len, "call_close", NULL) == -EPROTO,
		   "an object that a close gives");
	tap_subject("other calls");
}

/* A reply to READ_PAGES whose bytes are elsewhere is checked without them. */
static void test_pages_elsewhere(void)
{
	static struct wire_buf buf, call;
	struct vgpu_reply *reply = malloc(sizeof(*reply));
	struct vgpu_reply_view view;
	struct vgpu_call_view sent;

	if (!reply)
		abort();
	wire_sample_find("call_read_pages")->fill(&call);
	tap_expect(!vgpu_wire_call_check(call.words, call.len, &wire_sample_limits, &sent),
		   "its call");
	wire_sample_find("reply_read_pages")->fill(&buf);
	memcpy(reply, buf.words, sizeof(*reply));
	tap_expect(!vgpu_wire_reply_check(reply, buf.len, &sent, &view), "no byte is looked at");
	reply->nr_objects = cpu_to_le16(1);
	tap_expect(vgpu_wire_reply_check(reply, buf.len, &sent, &view) == -EPROTO, "an object");
	free(reply);
	tap_subject("pages elsewhere");
}

/* Every reply may be the last one of its lane. */
static void test_last(void)
{
	static struct wire_buf buf;
	struct vgpu_reply *reply = (struct vgpu_reply *)buf.words;

	wire_sample_find("reply_ioctl_seg")->fill(&buf);
	reply->flags = cpu_to_le32(VGPU_REPLY_LAST);
	tap_expect(!wire_case_check(buf.words, buf.len, "call_ioctl_seg", NULL), "the last one");
	tap_subject("last reply");
}

int main(void)
{
	u32 i;

	for (i = 0; i < wire_nr_samples; i++) {
		const char *name = wire_samples[i].name;

		if (!wire_samples[i].answers)
			continue;
		WIRE_CASES(name, any);
		if (strncmp(name, "reply_mmap", 10) && strcmp(name, "reply_poll") &&
		    strncmp(name, "reply_ioctl", 11) && strcmp(name, "reply_refused") &&
		    strcmp(name, "reply_bind"))
			WIRE_CASES(name, no_out);
	}
	WIRE_CASES("reply_close", zero_or_errno);
	WIRE_CASES("reply_poll", zero_or_errno);
	WIRE_CASES("reply_mmap", zero_or_errno);
	WIRE_CASES("reply_open", reply_open);
	WIRE_CASES("reply_open_error", reply_open_error);
	WIRE_CASES("reply_refused", reply_refused);
	WIRE_CASES("reply_ioctl_value", reply_ioctl_value);
	WIRE_CASES("reply_ioctl_seg", reply_ioctl_seg);
	WIRE_CASES("reply_ioctl_nested", reply_ioctl_nested);
	WIRE_CASES("reply_stray", reply_stray);
	WIRE_CASES("reply_read", reply_read);
	WIRE_CASES("reply_read_error", reply_read_error);
	WIRE_CASES("reply_write", reply_write);
	WIRE_CASES("reply_llseek", reply_llseek);
	WIRE_CASES("reply_poll", reply_poll);
	WIRE_CASES("reply_mmap", reply_mmap);
	WIRE_CASES("reply_bind", reply_bind);
	WIRE_CASES("reply_clock", reply_clock);
	WIRE_CASES("reply_read_pages", reply_read_pages);
	WIRE_CASES("reply_write_pages", reply_write_pages);
	test_other_call();
	test_pages_elsewhere();
	test_last();
	return tap_done();
}
