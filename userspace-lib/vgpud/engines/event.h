/* SPDX-License-Identifier: MIT */
/* Events that the host module or the engines report of guests. */
#ifndef VGPUD_HOST_EVENT_H
#define VGPUD_HOST_EVENT_H

#include <stdint.h>

/**
 * struct host_events - functions that handle the events
 * @session_gone: called when a session has ended or is to end
 * @session_may_be_reaped: called when no driver knows the process ID of a session's shadow any more
 * @peer_gone: called at the end of a peer
 * @keeper_came: called when a hypervisor has connected to the socket by which it reports the memory
 *	of a guest of the host module
 */
struct host_events {
	void (*session_gone)(uint32_t peer, uint64_t session);
	void (*session_may_be_reaped)(uint32_t peer, uint64_t session);
	void (*peer_gone)(uint32_t peer);
	void (*keeper_came)(uint32_t cid, uint32_t port);
};

#endif /* VGPUD_HOST_EVENT_H */
