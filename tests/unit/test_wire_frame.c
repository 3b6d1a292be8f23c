// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the rules for every message: its header, its length, and the function for its check. */
#include "tap.h"
#include "wire_case.h"

static struct wire_buf buf;

static struct vgpu_hdr *fill(const struct wire_sample *sample)
{
	sample->fill(&buf);
	return (struct vgpu_hdr *)buf.words;
}

static int check(const struct wire_sample *sample, u32 len)
{
	return wire_case_check(buf.words, len, sample->answers, &wire_sample_limits);
}

static void test_frame(const struct wire_sample *sample)
{
	struct vgpu_hdr *hdr = fill(sample);
	u32 len, i;

	tap_expect(!vgpu_wire_hdr_check(hdr, &wire_sample_limits), "header accepted");
	tap_expect(!check(sample, buf.len), "accepted");

	for (len = 0; len < buf.len; len += len < 512 ? 1 : 509)
		tap_expect(check(sample, len) == -EPROTO, "cut to %u bytes", len);

	/* The header is true, but the message is too long, too short, or no multiple of 8. */
	hdr = fill(sample);
	memset((u8 *)hdr + buf.len, 0, 8);
	hdr->len = cpu_to_le32(buf.len + 8);
	tap_expect(check(sample, buf.len + 8) == -EPROTO, "8 bytes too long");
	hdr->len = cpu_to_le32(buf.len + 4);
	tap_expect(check(sample, buf.len + 4) == -EPROTO, "4 bytes too long");
	tap_expect(vgpu_wire_hdr_check(hdr, &wire_sample_limits) == -EPROTO, "uneven header");
	hdr->len = cpu_to_le32(buf.len - 8);
	tap_expect(check(sample, buf.len - 8) == -EPROTO, "8 bytes too short");

	hdr = fill(sample);
	hdr->len = cpu_to_le32(buf.len + 8);
	tap_expect(check(sample, buf.len) == -EPROTO, "header says more");
	hdr->len = cpu_to_le32(buf.len - 8);
	tap_expect(check(sample, buf.len) == -EPROTO, "header says less");

	hdr = fill(sample);
	for (i = 0; i < 16; i++) {
		hdr->flags = cpu_to_le16(1 << i);
		tap_expect(check(sample, buf.len) == -EPROTO, "flag %u", i);
		tap_expect(vgpu_wire_hdr_check(hdr, &wire_sample_limits) == -EPROTO,
			   "flag %u of a header", i);
	}
	tap_subject(sample->name);
}

/* Numbered messages have a number, others have none; PING and PONG may have one. */
static void test_seq(const struct wire_sample *sample)
{
	struct vgpu_hdr *hdr = fill(sample);
	u16 type = le16_to_cpu(hdr->type);
	bool any = type == VGPU_MSG_PING || type == VGPU_MSG_PONG;
	bool counted = type >= VGPU_MSG_CALL || type == VGPU_MSG_CLOSE ||
		type == VGPU_MSG_UNMAP || type == VGPU_MSG_SESSION_CLOSE ||
		type == VGPU_MSG_UNBIND || type == VGPU_MSG_RELEASE;

	hdr->seq = 0;
	tap_expect(vgpu_wire_hdr_check(hdr, &wire_sample_limits) ==
		   (any || !counted ? 0 : -EPROTO), "%s: number 0", sample->name);
	hdr->seq = cpu_to_le64(1ULL << 63);
	tap_expect(vgpu_wire_hdr_check(hdr, &wire_sample_limits) ==
		   (any || counted ? 0 : -EPROTO), "%s: a number", sample->name);
}

/* The codec knows exactly the types that samples have. */
static void test_types(void)
{
	struct vgpu_hdr hdr = { .len = cpu_to_le32(16) };
	u32 type, i;

	for (type = 0; type <= U16_MAX; type++) {
		bool known = false;

		for (i = 0; i < wire_nr_samples; i++)
			known |= le16_to_cpu(fill(&wire_samples[i])->type) == type;
		tap_expect(known == !!vgpu_wire_len_min(type), "type %#x: shortest", type);
		tap_expect(known == !!vgpu_wire_len_max(type, &wire_sample_limits),
			   "type %#x: longest", type);
		hdr.type = cpu_to_le16(type);
		hdr.len = cpu_to_le32(vgpu_wire_len_min(type));
		if (!known)
			tap_expect(vgpu_wire_hdr_check(&hdr, &wire_sample_limits) == -EPROTO,
				   "type %#x: unknown", type);
		/* Most types are unknown, and trying each of them would take long. */
		if (type > 0x100)
			type += 250;
	}
	tap_subject("types");
}

static void test_len(void)
{
	struct vgpu_wire_limits limits = { .call_bytes = 4096 };
	u32 i;

	for (i = 0; i < wire_nr_samples; i++) {
		const char *name = wire_samples[i].name;
		struct vgpu_hdr *hdr = fill(&wire_samples[i]);
		u16 type = le16_to_cpu(hdr->type);
		bool grows = type == VGPU_MSG_CALL || type == VGPU_MSG_REPLY ||
			type == VGPU_MSG_FETCHED || type == VGPU_MSG_WRITEBACK;
		u32 most = vgpu_wire_len_max(type, &limits);
		u32 file = type == VGPU_MSG_EXPORT_FILE ? VGPU_FILE_PART : 0;

		tap_expect(vgpu_wire_len_min(type) <= buf.len, "%s: shortest", name);
		tap_expect(most == (grows ? 4096 : vgpu_wire_len_min(type) + file), "%s: longest",
			   name);
		tap_expect(most <= VGPU_CONTROL_MSG_MAX, "%s: control message", name);
		hdr->len = cpu_to_le32(most);
		tap_expect(!vgpu_wire_hdr_check(hdr, &limits), "%s: as long as can be", name);
		hdr->len = cpu_to_le32(most + 8);
		tap_expect(vgpu_wire_hdr_check(hdr, &limits) == -EPROTO, "%s: too long", name);
		hdr->len = cpu_to_le32(vgpu_wire_len_min(type));
		tap_expect(!vgpu_wire_hdr_check(hdr, &limits), "%s: as short as can be", name);
		hdr->len = cpu_to_le32(vgpu_wire_len_min(type) - 8);
		tap_expect(vgpu_wire_hdr_check(hdr, &limits) == -EPROTO, "%s: too short", name);
	}
	limits.call_bytes = U32_MAX;
	tap_expect(vgpu_wire_len_max(VGPU_MSG_CALL, &limits) == VGPU_CALL_BYTES_MAX,
		   "no setting raises the protocol's own limit");
	tap_subject("lengths");
}

/* CALL and REPLY have check functions of their own, which refuse other messages. */
static void test_function(void)
{
	struct vgpu_reply_view reply;
	struct vgpu_call_view call;
	static struct wire_buf sent;
	u32 i;

	wire_sample_find("call_close")->fill(&sent);
	tap_expect(!vgpu_wire_call_check(sent.words, sent.len, &wire_sample_limits, &call),
		   "call accepted");
	for (i = 0; i < wire_nr_samples; i++) {
		u16 type = le16_to_cpu(fill(&wire_samples[i])->type);
		struct vgpu_call_view view;

		tap_expect((type == VGPU_MSG_CALL || type == VGPU_MSG_REPLY) ==
			   !!vgpu_wire_msg_check(buf.words, buf.len, &wire_sample_limits),
			   "%s: as any message", wire_samples[i].name);
		if (type != VGPU_MSG_CALL)
			tap_expect(vgpu_wire_call_check(buf.words, buf.len, &wire_sample_limits,
							&view) == -EPROTO,
				   "%s: as a call", wire_samples[i].name);
		if (type != VGPU_MSG_REPLY)
			tap_expect(vgpu_wire_reply_check(buf.words, buf.len, &call,
							 &reply) == -EPROTO,
				   "%s: as a reply", wire_samples[i].name);
	}
	tap_subject("functions");
}

int main(void)
{
	u32 i;

	for (i = 0; i < wire_nr_samples; i++)
		test_frame(&wire_samples[i]);
	for (i = 0; i < wire_nr_samples; i++)
		test_seq(&wire_samples[i]);
	tap_subject("sequence numbers");
	test_types();
	test_len();
	test_function();
	return tap_done();
}
