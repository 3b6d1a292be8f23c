// SPDX-License-Identifier: MIT
/* Messages to the guest about its window. */
#include "engine/guest/control.h"
#include "engine/guest/notice.h"
#include "shared/proto.h"

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
