// SPDX-License-Identifier: MIT
/*
 * vgpu-engine: serves one guest without a kernel module, in place of the host module. vgpud
 * starts it with the guest's control connection, gives it the guest's exports and connections to
 * the shadows of the guest's processes, and reads its counters in memory that all of them share.
 *
 * One thread does nearly all in an event loop (the loop, in comments). More threads may sleep
 * in drivers: the closer closes files, the poller polls them, and a third one switches channels of
 * NVIDIA's driver while guests share a card.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/guest/control.h"
#include "engine/guest/grant.h"
#include "engine/memory/channel_switch.h"
#include "engine/memory/lend.h"
#include "engine/memory/window.h"
#include "engine/object/poller.h"
#include "engine/object/wakeup.h"
#include "engine/session/kept.h"
#include "engine/session/master.h"
#include "engine/session/reference.h"
#include "engine/session/session.h"
#include "engine/session/submission.h"
#include "engine/session/sync.h"
#include "shadow/sys.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

static void agent_ready(struct source *source, uint32_t events)
{
	static union {
		__u32 type;
		struct engine_number number;
		struct engine_grant grant;
		struct engine_change change;
		struct engine_file file;
		struct engine_limits limits;
		struct engine_slot slot;
	} msg;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return;
	if (len < (ssize_t)sizeof(msg.type))
		engine_end("vgpud has closed the connection to this engine");
	if (msg.type != ENGINE_SESSION && msg.type != ENGINE_KEEPER && msg.type != ENGINE_MASTER &&
	    fd >= 0)
		close(fd);
	switch (msg.type) {
	case ENGINE_GRANT:
		lend_learn(grant_add(&msg.grant, len));
		break;
	case ENGINE_REVOKE:
		grant_revoke(msg.number.number);
		master_leave(msg.number.number);
		if (msg.number.flags & ENGINE_REVOKE_NOW)
			objects_cut(msg.number.number);
		break;
	case ENGINE_CHANGE:
		grant_change(&msg.change);
		break;
	case ENGINE_FILE:
		grant_file(&msg.file, len);
		break;
	case ENGINE_LIMITS:
		if (len != sizeof(msg.limits))
			break;
		limits_take(&msg.limits.limits);
		all_mappings_max = msg.limits.all_mappings;
		break;
	case ENGINE_SLOT:
		if (len == sizeof(msg.slot))
			channel_slot(msg.slot.card, &msg.slot.slot);
		break;
	case ENGINE_ADMIT:
		submission_admitted(msg.number.number);
		break;
	case ENGINE_SESSION:
		session_add(msg.number.number, fd);
		break;
	case ENGINE_KEEPER:
		window_keeper(fd);
		break;
	case ENGINE_ADOPT:
		masters_leave();
		agent_say(ENGINE_ADOPTED, 0);
		submissions_ask_again();
		break;
	case ENGINE_CHECK:
		session_check(msg.number.number);
		break;
	case ENGINE_MASTER:
		master_come(msg.number.number, fd);
		break;
	}
}

static struct source agent = { .fd = ENGINE_FD_AGENT, .ready = agent_ready };

/* Read the first message, which vgpud has sent before it started the engine. */
static int start_read(void)
{
	ssize_t len;
	int fd;

	len = packet_recv(agent.fd, &start, sizeof(start), &fd);
	if (len < 0)
		return len;
	if (len != sizeof(start) || start.type != ENGINE_START)
		return -EPROTO;
	limits_take(&start.limits);
	return 0;
}

/* Handle a message that the guest has sent on the control connection, and control.c has checked. */
static void message_handle(const struct vgpu_hdr *msg)
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

/*
 * Answer lanes and RELEASE messages that wait for nothing any more, and send messages for which
 * there is room now: progress_notify().
 */
static void look(void)
{
	sync_look();
	kept_look();
	wakeups_send();
}

static void check(int ret, const char *what)
{
	if (!ret)
		return;
	log_error("engine: %s: %s", what, strerror(-ret));
	exit(EXIT_FAILURE);
}

int main(void)
{
	log_init(false);
	/* Threads inherit the filter, so none may exist yet. */
	check(exec_forbid(), "seccomp");
	/* exec made the process dumpable again. */
	prctl(PR_SET_DUMPABLE, 0UL);
	signal(SIGPIPE, SIG_IGN);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, ENGINE_FD_SHARED,
		      0);
	if (shared == MAP_FAILED)
		check(-errno, errno == EBADF ?
		      "only vgpud starts this program (systemctl start vgpud): shared memory" :
		      "shared memory");
	close(ENGINE_FD_SHARED);
	check(start_read(), "limits");
	wire_limits = (struct vgpu_wire_limits) {
		.call_bytes = start.limits.call_bytes,
		.segs = VGPU_SEGS_MAX,
		.fixups = VGPU_FIXUPS_MAX,
		.features = start.features,
	};
	progress_notify = look;
	check(loop_init(), "epoll");
	/* Block signals that are read as a file before threads exist, which inherit the mask. */
	check(poller_init(), "the thread that polls files");
	check(closer_init(), "the thread that closes files");
	check(source_add(&agent, EPOLLIN), "vgpud");
	check(control_init(message_handle), "the control connection");
	check(loop_run(), "epoll");
	return EXIT_SUCCESS;
}
