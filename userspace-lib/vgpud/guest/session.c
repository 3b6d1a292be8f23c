// SPDX-License-Identifier: MIT
/*
 * Sessions: vgpud makes a shadow for each guest process, gives the shadow lanes, and reaps it
 * when no driver knows its process ID.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"
#include "config/config.h"
#include "config/guests.h"
#include "engine/base/packet.h"
#include "engines/shadow.h"
#include "guest/buffer.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "host/hostdev.h"
#include "shadow/layout.h"
#include "shared/log.h"
#include "shared/proto.h"
#include "wire.h"

static struct session *session_find(const struct peer *peer, uint64_t number)
{
	struct session *session;

	LIST_FOREACH(session, &peer->sessions, node)
		if (session->number == number)
			return session;
	return NULL;
}

static bool session_ended(const struct peer *peer, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < SESSION_ENDED_MAX; i++)
		if (peer->ended[i] == number)
			return true;
	return false;
}

bool session_is_new(const struct peer *peer, uint64_t number)
{
	return number && !session_find(peer, number) && !session_ended(peer, number);
}

static void session_number_over(struct peer *peer, uint64_t number)
{
	peer->ended[peer->ended_next++ % SESSION_ENDED_MAX] = number;
}

static void session_note(const struct session *session)
{
	struct session_note note = {
		.version = SESSION_NOTE_VERSION,
		.pid = session->pid,
		.tgid = session->tgid,
	};

	memcpy(note.comm, session->comm, sizeof(note.comm));
	hostdev_note(session->peer->noted, session->number, &note, sizeof(note),
		     session->lanes_fd);
}

/* Mark a session as over: it takes no lane. Return: false if it was over already. */
static bool session_over(struct session *session)
{
	struct peer *peer = session->peer;

	if (session->lanes_fd < 0)
		return false;
	close(session->lanes_fd);
	session->lanes_fd = -1;
	/* The shadow still has the guest's user, which the next vgpud must give no other guest. */
	session_note(session);
	peer->nr_sessions--;
	session_number_over(peer, session->number);
	return true;
}

static void session_end(struct session *session)
{
	/* The process has not been reaped, so the pid is still its own. */
	if (session_over(session))
		sandbox_kill(&session->peer->sandbox, session->pid, session->end.fd);
}

static void session_name(struct session *session, const struct vgpu_lane_hello *hello)
{
	unsigned int i;

	for (i = 0; i < VGPU_COMM_LEN - 1 && hello->comm[i]; i++)
		session->comm[i] = hello->comm[i] > ' ' && hello->comm[i] < 127 ?
			hello->comm[i] : '_';
	session->tgid = le32_to_cpu(hello->tgid);
}

unsigned int sessions_count(const struct peer *peer, bool dead)
{
	const struct session *session;
	unsigned int nr = 0;

	LIST_FOREACH(session, &peer->sessions, node)
		nr += session->dead == dead;
	return nr;
}

static int session_new(struct peer *peer, const struct vgpu_lane_hello *hello,
		       struct session **made)
{
	const struct limits limits = guest_limits(peer->cid, peer->port);
	const unsigned int zombies = room_zombies(&limits);
	struct session *session;
	int shadow_fd, ret;

	if (sessions_count(peer, true) >= zombies) {
		log_guest(peer->cid, peer->port,
			  "cannot start a shadow: %u ended ones still have open files (raise 'sessions' or 'session-rate' in [limits], or for this guest)",
			  zombies);
		return -EMFILE;
	}
	session = calloc(1, sizeof(*session));
	if (!session)
		return -ENOMEM;
	session->peer = peer;
	session->number = le64_to_cpu(hello->session);
	session->end.fd = -1;
	session_name(session, hello);

	shadow_fd = hostdev_shadow(peer->number, session->number, sessions_count(peer, false));
	if (shadow_fd < 0) {
		ret = shadow_fd;
		goto err_free;
	}
	ret = hostdev_spawn_shadow(peer->number, session->number, &peer->sandbox, session->comm,
				   shadow_fd, &session->pid, &session->lanes_fd);
	close(shadow_fd);
	if (ret) {
		log_guest(peer->cid, peer->port, "cannot start a shadow: %s", strerror(-ret));
		/*
		 * The module or the engine knows the number and will report its end: do not
		 * reuse it.
		 */
		session_number_over(peer, session->number);
		goto err_free;
	}
	LIST_INSERT_HEAD(&peer->sessions, session, node);
	peer->nr_sessions++;
	session_note(session);
	log_debug("guest %u:%u: session %llu is %s (%u), shadow %d", peer->cid, peer->port,
		  (unsigned long long)session->number, session->comm, session->tgid,
		  session->pid);
	*made = session;
	return 0;

err_free:
	free(session);
	return ret;
}

static int send_lane(int lanes_fd, int sock_fd)
{
	char byte = 'L';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	int ret = packet_send(lanes_fd, &iov, 1, sock_fd);

	switch (ret) {
	case 0:
		return 0;
	case -EAGAIN:
		/* The buffer is full: the shadow takes fewer lanes than its guest asks for. */
		return -EMFILE;
	case -EPIPE:
	case -ECONNRESET:
	case -ENOTCONN:
		return -ENODEV;
	default:
		/*
		 * The host lacks a resource. ENODEV would tell the guest that the session is
		 * dead.
		 */
		return -ENOMEM;
	}
}

/* Return: the guest has ended the lane. */
static bool lane_is_over(int sock_fd)
{
	struct pollfd pfd = { .fd = sock_fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

int session_take_lane(struct peer *peer, const struct vgpu_lane_hello *hello, int sock_fd)
{
	uint64_t number = le64_to_cpu(hello->session);
	struct session *session = session_find(peer, number);
	bool fresh = !session;
	int ret;

	if (!number || session_ended(peer, number) || (session && session->lanes_fd < 0))
		return -ENODEV;
	ret = peer_count_socket(peer, sock_fd);
	if (!ret && !session)
		ret = session_new(peer, hello, &session);
	if (ret)
		return ret == -EMFILE ? -EMFILE : -ENOMEM;
	buffer_take(sock_fd, &peer->sockets);
	/*
	 * A guest that has ended the first lane no longer waits for the session, and may have
	 * sent SESSION_CLOSE before the session was there: it will not close the session again.
	 * A shadow could keep vgpud from asking: it can hold the lock of a socket that it has.
	 */
	ret = fresh && lane_is_over(sock_fd) ? -ENODEV : send_lane(session->lanes_fd, sock_fd);
	if (fresh && ret)
		session_end(session);
	return ret;
}

void session_gone(struct peer *peer, uint64_t number)
{
	struct session *session = session_find(peer, number);

	if (session)
		session_end(session);
}

void session_may_be_reaped(struct peer *peer, uint64_t number)
{
	struct session *session = session_find(peer, number);

	/* All shadows of a guest that is ending are reaped together. */
	if (!session || peer->state != PEER_UP)
		return;
	session->may_be_reaped = true;
	sessions_reap(peer);
}

void sessions_end(struct peer *peer)
{
	struct session *session;

	LIST_FOREACH(session, &peer->sessions, node)
		session_end(session);
}

/* Log the end of a shadow that should not have ended. */
static void log_end(const struct session *session, int status)
{
	static const struct {
		int status;
		const char *what;
	} words[] = {
		{ SHADOW_EXIT_MAP, "its address space could not be set up (does the kernel seal its own mappings?)" },
		{ SHADOW_EXIT_DEMAND, "the host module gave it no memory" },
		{ SHADOW_EXIT_SIGNAL, "signals could not be set up" },
		{ SHADOW_EXIT_THREAD, "its first thread could not be started" },
		{ SHADOW_EXIT_SECCOMP, "the kernel refused its last system call filter" },
		{ SHADOW_EXIT_SERVICE, "the host module refused this shadow" },
		{ SHADOW_EXIT_KEYS, "its memory could not be protected" },
		{ ESHADOW_EXIT_FAULTS, "it could not serve page faults of the kernel (userfaultfd)" },
		{ ESHADOW_EXIT_SECRET, "secret memory could not be allocated (memfd_secret)" },
		{ ESHADOW_EXIT_MEMLOCK, "it may not lock enough memory (lower 'pages' in [limits])" },
		{ ESHADOW_EXIT_ROOM, "it has reached the kernel's limit of mappings (raise vm.max_map_count, or lower 'mappings' and 'pages' in [limits])" },
		{ ESHADOW_EXIT_PAGES, "accesses to more pages of its program fail than it can record (raise 'pages' in [limits])" },
		{ ESHADOW_EXIT_SHARED, "memory could not be shared with its engine" },
		{ SHADOW_EXIT_CONFINE, "it could not be confined" },
		{ SHADOW_EXIT_EXEC, "the program could not be started" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (WIFEXITED(status) && WEXITSTATUS(status) == words[i].status) {
			log_guest(session->peer->cid, session->peer->port, "shadow of %s: %s",
				  session->comm, words[i].what);
			return;
		}
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		log_guest(session->peer->cid, session->peer->port,
			  "shadow of %s: ended by signal %d%s", session->comm, WTERMSIG(status),
			  WTERMSIG(status) == SIGSYS ? " (a forbidden system call)" : "");
}

bool session_died(struct session *session)
{
	siginfo_t info = {};

	if (session->dead || session->end.fd >= 0 ||
	    waitid(P_PID, session->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ||
	    !info.si_pid)
		return false;
	session->dead = true;
	engine_shadow_ended(session->pid);
	log_end(session, info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) :
		W_EXITCODE(0, info.si_status));
	session_over(session);
	return true;
}

static void session_reap(struct session *session)
{
	/* The init process has reaped a shadow that is no child. */
	if (session->end.fd < 0)
		waitpid(session->pid, NULL, __WALL);
	source_close(&session->end);
	hostdev_note(session->peer->noted, session->number, NULL, 0, -1);
	LIST_REMOVE(session, node);
	free(session);
}

void sessions_reap(struct peer *peer)
{
	struct session *session, *next;
	bool all = peer->state == PEER_GONE;

	/* A driver does not release a file while a living shadow has it mapped. */
	LIST_FOREACH(session, &peer->sessions, node)
		all &= session->dead;
	for (session = LIST_FIRST(&peer->sessions); session; session = next) {
		next = LIST_NEXT(session, node);
		if (session->dead && (session->may_be_reaped || all))
			session_reap(session);
	}
}

/* Handle the end of a shadow that an earlier vgpud has made. */
static void adopted_ended(struct source *source, uint32_t events)
{
	struct session *session = container_of(source, struct session, end);
	struct peer *peer = session->peer;

	(void)events;
	/* The file stays open: it tells that no process is to be reaped. */
	source_del(source);
	session->dead = true;
	engine_shadow_ended(session->pid);
	/* No driver knows the shadow's process ID (lasting_end_some() in the host module). */
	session->may_be_reaped = true;
	session_over(session);
	sessions_reap(peer);
	peer_reaped(peer);
}

int session_adopt(struct peer *peer, uint64_t number, const struct session_note *note,
		  int lanes_fd)
{
	struct session *session = calloc(1, sizeof(*session));
	int ret = -ENOMEM;

	if (!session)
		return ret;
	session->peer = peer;
	session->number = number;
	session->pid = note->pid;
	session->tgid = note->tgid;
	memcpy(session->comm, note->comm, sizeof(session->comm) - 1);
	session->lanes_fd = lanes_fd;
	session->end.ready = adopted_ended;
	session->end.fd = syscall(SYS_pidfd_open, note->pid, 0);
	if (session->end.fd < 0) {
		ret = -errno;
		goto err_free;
	}
	/* The shadow may have ended, and another process may have its number. */
	ret = -ESRCH;
	if (!process_is_of(session->end.fd, peer->sandbox.uid))
		goto err_close;
	ret = hostdev_adopt_shadow(peer->number, number, note->pid);
	if (!ret)
		ret = source_add(&session->end, EPOLLIN);
	if (ret)
		goto err_close;
	LIST_INSERT_HEAD(&peer->sessions, session, node);
	/* The session may be over, but the earlier vgpud ended before it could kill the shadow. */
	if (lanes_fd < 0)
		sandbox_kill(&peer->sandbox, session->pid, session->end.fd);
	else
		peer->nr_sessions++;
	return 0;

err_close:
	close(session->end.fd);
err_free:
	free(session);
	return ret;
}
