// SPDX-License-Identifier: MIT
/* Messages of the guest by the control connection, which control.c has checked. */
#include "engine/base/agent.h"
#include "engine/memory/window.h"
#include "engine/message.h"
#include "engine/session/kept.h"
#include "engine/session/reference.h"
#include "engine/session/session.h"

void message_handle(const struct vgpu_hdr *msg)
{
	const struct vgpu_close *close = (const void *)msg;
	const struct vgpu_unmap *unmap = (const void *)msg;
	uint64_t seq = le64_to_cpu(msg->seq);

	switch (le16_to_cpu(msg->type)) {
	case VGPU_MSG_CLOSE:
		/* Unknown numbers are no error: see the protocol. */
		if (object_release(le32_to_cpu(close->object), le32_to_cpu(close->reference), seq,
				   NULL, 0))
			count(&shared->counters.refused);
		break;
	case VGPU_MSG_UNMAP:
		session_unmap(le64_to_cpu(unmap->session), le64_to_cpu(unmap->addr),
			      le64_to_cpu(unmap->len));
		break;
	case VGPU_MSG_SESSION_CLOSE:
		session_close(le64_to_cpu(((const struct vgpu_session_close *)msg)->session));
		break;
	case VGPU_MSG_UNBIND:
		window_unbind((const void *)msg);
		break;
	case VGPU_MSG_RELEASE:
		kept_release(le64_to_cpu(((const struct vgpu_release *)msg)->number), seq);
		break;
	}
}
