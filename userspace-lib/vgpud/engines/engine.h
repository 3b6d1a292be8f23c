/* SPDX-License-Identifier: MIT */
/*
 * User-space engines: a process for each guest does the work of the host module. Also struct
 * host_events, which hostdev.h uses for the host module as well.
 *
 * If engines serve the guests, hostdev_NAME() in host/hostdev.c calls engine_NAME() of this folder,
 * or for windows a function of the folder keeper.
 */
#ifndef VGPUD_ENGINE_H
#define VGPUD_ENGINE_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "engines/denial.h"
#include "engines/lasting.h"
#include "engines/share.h"
#include "engines/submission.h"
#include "shared/loop.h"
#include "shared/proto.h"

struct sandbox;

/**
 * struct host_events - handlers of events of guests that the host module or engines report
 * @session_gone: called when a session has ended or is to end
 * @session_may_be_reaped: called when no driver knows the process ID of a session's shadow any more
 * @peer_ends: called when a peer's engine was told to end; see engine_end()
 * @peer_gone: called at the end of a peer
 * @keeper_came: called when a hypervisor has connected to the socket by which it reports the memory
 *	of a guest of the host module
 */
struct host_events {
	void (*session_gone)(uint32_t peer, uint64_t session);
	void (*session_may_be_reaped)(uint32_t peer, uint64_t session);
	void (*peer_ends)(uint32_t peer);
	void (*peer_gone)(uint32_t peer);
	void (*keeper_came)(uint32_t cid, uint32_t port);
};

/**
 * struct engine - the engine of a guest
 * @node: entry of all_engines
 * @number: number of the peer
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @sandbox: sandbox of the guest's programs, which the peer owns
 * @source: pipe by which the engine reports sessions that have ended or may be reaped, and asks for
 *	turns at devices
 * @reports: number of reports that the sessions given to the engine still entitle it to
 * @agent_fd: vgpud's end of the socket to the engine; -1: the engine is to end
 * @shared: memory shared with the engine and its shadows, see struct engine_shared
 * @shared_fd: file of @shared
 * @shared_read_fd: file of @shared that is open for reading only
 * @guest: state that outlives the engine; NULL: not set yet
 * @shadows: list of the counters of the shadows that run
 * @ended: sums of the counters of shadows that have ended
 * @denied: counts of denied ioctls of shadows that have ended
 * @all_denied: those of all shadows, found by the call @all_denied_call
 * @all_denied_call: number of a call of the loop (loop_call()); 0: none
 * @most: largest use of these shadows
 * @delayed: number of calls of these shadows that had to wait for a rate
 * @share: the guest's share of cards
 * @submitter: the guest's turns at other devices
 * @lasting: what the next vgpud, or this one, has to do to take it over
 * @nodes_fd: directory of the nodes of the guest's exports
 * @pid: process ID of the engine
 */
struct engine {
	LIST_ENTRY(engine) node;
	uint32_t number;
	uint32_t cid;
	uint32_t port;
	struct sandbox *sandbox;
	struct source source;
	uint64_t reports;
	int agent_fd;
	struct engine_shared *shared;
	int shared_fd;
	int shared_read_fd;
	struct remembered *guest;
	LIST_HEAD(, shadow_counters) shadows;
	struct engine_counters ended;
	struct denials denied;
	struct denials all_denied;
	uint64_t all_denied_call;
	struct vgpu_host_use most;
	__u64 delayed;
	struct share share;
	struct submitter submitter;
	struct lasting lasting;
	int nodes_fd;
	pid_t pid;
};

/* Most reports that one session causes: ENGINE_CLOSED twice, and ENGINE_REAP. */
#define ENGINE_REPORTS	3

LIST_HEAD(engine_list, engine);
extern struct engine_list all_engines;

/* Set the handlers of events. @handlers stays the caller's. */
void engines_init(const struct host_events *handlers);
struct engine *engine_find(uint32_t number);
/*
 * Send a message to an engine. An engine that does not read its messages is ended. Return: 0, or
 * -ENODEV if the engine is to end.
 */
int engine_tell(struct engine *engine, const void *msg, size_t len, int fd);

/* Make an engine that has no process and no files, and is in no list. Return: NULL: no memory. */
struct engine *engine_alloc(uint32_t cid, uint32_t port, struct sandbox *sandbox);
/* Open @shared_fd once more for reading only. Return: 0 or a negative errno. */
int engine_share(struct engine *engine);
/* Wait for messages by the pipe @fd, which is taken over. Return: 0 or a negative errno. */
int engine_listen(struct engine *engine, int fd);
/* Add an engine to the list. @number: its number; 0: a new one. */
void engine_begin(struct engine *engine, uint32_t number);
/* Free an engine that was not added to the list. */
void engine_free(struct engine *engine);
/* Handle the end of an engine's process. */
void engine_gone(struct engine *engine);

int engine_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox);
int engine_peer_del(uint32_t peer);
int engine_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat);
int engine_peer_use(struct vgpu_host_peer_use *use);
int engine_guest_stat(struct vgpu_host_guest_stat *stat);
int engine_session_stat(uint32_t peer, pid_t pid, struct vgpu_host_session_stat *stat);
/* Return the bytes of device memory that the guest's engine owns at the moment. */
uint64_t engine_owned_bytes(uint32_t peer);
/* Notify the guest's engine that a hypervisor has connected to the guest's window. */
void engine_keeper_came(uint32_t cid, uint32_t port);
/* Fill in the fields of @stat that say what the guest has in its window. */
void engine_window_stat(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);
/* Handle the end of a child of vgpud, which may be an engine. */
void engine_reaped(pid_t pid, int status);

#endif /* VGPUD_ENGINE_H */
