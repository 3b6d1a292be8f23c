// SPDX-License-Identifier: MIT
/* Messages about the window: those to the guest, and a record of the last UNBINDs of the guest. */
#include "engine/guest/control.h"
#include "engine/memory/notice.h"
#include "shared/proto.h"

/* Number of UNBIND messages that are remembered. */
#define UNBINDS		1024

/* Ring of UNBIND messages; next_unbind is the number of messages so far. */
static struct unbind unbinds[UNBINDS];
static unsigned int next_unbind;
/* Number of the last UNBIND message that was overwritten; 0: none was. */
static uint64_t unbinds_gone;

void unbind_note(const struct unbind *unbind)
{
	struct unbind *oldest = &unbinds[next_unbind++ % UNBINDS];

	unbinds_gone = oldest->seq;
	*oldest = *unbind;
}

bool unbind_since(const struct eshadow_bind *bind)
{
	size_t i;

	if (bind->seq < unbinds_gone)
		return true;
	for (i = 0; i < UNBINDS; i++)
		if (unbinds[i].seq > bind->seq && unbinds[i].window == bind->window &&
		    unbinds[i].offset < bind->offset + bind->len &&
		    bind->offset < unbinds[i].offset + unbinds[i].len)
			return true;
	return false;
}

void notice_window(uint64_t id, uint64_t size)
{
	const struct vgpu_window_info msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WINDOW),
		.window = cpu_to_le64(id),
		.size = cpu_to_le64(size),
	};

	control_send(&msg, sizeof(msg));
}

void notice_part(uint16_t type, uint64_t window, uint64_t offset, uint64_t len)
{
	const struct vgpu_window_part msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(type),
		.window = cpu_to_le64(window),
		.offset = cpu_to_le64(offset),
		.len = cpu_to_le64(len),
	};

	control_send(&msg, sizeof(msg));
}
