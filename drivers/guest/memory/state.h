/* SPDX-License-Identifier: GPL-2.0-only */
/* State of device memory: one struct for each host, and one for each session. */
#ifndef VGPU_MEMORY_STATE_H
#define VGPU_MEMORY_STATE_H

#include "memory/flush.h"
#include "memory/keep.h"
#include "memory/keep_claim.h"
#include "memory/move.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/window_announce.h"

struct vgpu_host;
struct vgpu_session;

/**
 * struct vgpu_memory_host - state of a host's memory; lives as long as the host
 * @host: host of the state
 * @spaces: device memory that this host's mappings show
 * @keeps: pins of program memory that the host's devices may keep
 * @window: window of the host
 * @moves: mappings that may move, and the worker that moves them
 */
struct vgpu_memory_host {
	struct vgpu_host *host;
	struct vgpu_space_set spaces;
	struct vgpu_keep_set keeps;
	struct vgpu_window_state window;
	struct vgpu_moves moves;
};

/**
 * struct vgpu_session_memory - state of a session's memory; lives as long as the session
 * @session: session of the state
 * @flush: bytes that programs wrote through the session's mappings, to be sent to the shadow
 * @move_pause: back-off after the shadow did not answer a BIND
 * @claims: addresses of the mm that calls are handing over to devices
 * @keep: group of the files that may have the memory which calls hand over, or a group that was
 *	merged into it, with a reference; written under the lock of the host's set of pins, read
 *	without it
 */
struct vgpu_session_memory {
	struct vgpu_session *session;
	struct vgpu_flush flush;
	struct vgpu_move_pause move_pause;
	struct vgpu_keep_claims claims;
	struct vgpu_keep_group *keep;
};

int vgpu_host_memory_init(struct vgpu_host *host);
void vgpu_host_memory_fini(struct vgpu_host *host);
int vgpu_session_memory_init(struct vgpu_session *session);
void vgpu_session_memory_fini(struct vgpu_session *session);
void vgpu_space_set_abort(struct vgpu_space_set *set);

#endif /* VGPU_MEMORY_STATE_H */
