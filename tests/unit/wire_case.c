// SPDX-License-Identifier: GPL-2.0-only
/* Table-driven tests of the codec. */
#include <stdlib.h>

#include "tap.h"
#include "wire_case.h"

static int check_reply(const void *msg, u32 len, const char *answers)
{
	static struct wire_buf call;
	struct vgpu_reply_view view;
	struct vgpu_call_view sent;

	wire_sample_find(answers)->fill(&call);
	if (vgpu_wire_call_check(call.words, call.len, &wire_sample_limits, &sent))
		return -EINVAL;
	return vgpu_wire_reply_check(msg, len, &sent, &view);
}

int wire_case_check(const void *msg, u32 len, const char *answers,
		    const struct vgpu_wire_limits *limits)
{
	const struct vgpu_hdr *hdr = msg;
	struct vgpu_call_view view;
	void *copy = malloc(len);
	u16 type = VGPU_MSG_PING;
	int rc;

	if (!copy)
		abort();
	memcpy(copy, msg, len);
	if (len >= sizeof(*hdr))
		type = le16_to_cpu(hdr->type);
	if (answers)
		rc = check_reply(copy, len, answers);
	else if (type == VGPU_MSG_CALL)
		rc = vgpu_wire_call_check(copy, len, limits, &view);
	else
		rc = vgpu_wire_msg_check(copy, len, limits);
	free(copy);
	return rc;
}

void wire_case_run(const char *name, const struct wire_case *cases, u32 nr)
{
	const struct wire_sample *sample = wire_sample_find(name);
	static struct wire_buf buf;
	int rc, want;
	u32 i;

	sample->fill(&buf);
	rc = wire_case_check(buf.words, buf.len, sample->answers, &wire_sample_limits);
	tap_expect(!rc, "%s: accepted", name);

	for (i = 0; i < nr; i++) {
		u8 *place = (u8 *)buf.words + cases[i].offset;
		__le64 value = cpu_to_le64(cases[i].value);

		sample->fill(&buf);
		tap_expect(cases[i].offset + cases[i].size <= buf.len &&
			   memcmp(place, &value, cases[i].size),
			   "%s: %s: changes the sample", name, cases[i].what);
		memcpy(place, &value, cases[i].size);
		rc = wire_case_check(buf.words, buf.len, sample->answers, &wire_sample_limits);
		want = -EPROTO;
		if (cases[i].ok)
			want = 0;
		tap_expect(rc == want, "%s: %s: gives %d, not %d", name, cases[i].what, want, rc);
	}
	tap_subject(name);
}
