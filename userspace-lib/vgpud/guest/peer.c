// SPDX-License-Identifier: MIT
/* Peers: the list of guests that are connected or still have processes, with their user IDs. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "config/guests.h"
#include "device/exporter.h"
#include "engines/master.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "process/cgroup.h"
#include "process/leftover.h"
#include "shared/log.h"

struct peer_list peers = LIST_HEAD_INITIALIZER(peers);

/* Make a peer that has no user and no sockets yet, and is in no list. */
static struct peer *peer_alloc(uint32_t cid, uint32_t port, bool trusted_port,
			       void (*freed)(uint32_t cid, uint32_t port))
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->cid = cid;
	peer->port = port;
	peer->trusted_port = trusted_port;
	peer->state = PEER_NEW;
	peer->freed = freed;
	peer->since = time(NULL);
	peer->rest.fd = -1;
	LIST_INIT(&peer->sessions);
	sandbox_init(&peer->sandbox, cid, port, false);
	return peer;
}

int peer_new(uint32_t cid, uint32_t port, bool trusted_port,
	     void (*freed)(uint32_t cid, uint32_t port), struct peer **made)
{
	struct peer *peer = peer_alloc(cid, port, trusted_port, freed);
	int ret;

	if (!peer)
		return -ENOMEM;
	ret = sockets_open(&peer->sockets);
	if (ret)
		goto err_free;
	ret = -EMFILE;
	if (!sandbox_take_user(&peer->sandbox))
		goto err_close;
	ret = -EIO;
	if (getrandom(peer->secret, sizeof(peer->secret), 0) != sizeof(peer->secret))
		goto err_return_user;
	LIST_INSERT_HEAD(&peers, peer, node);
	*made = peer;
	return 0;

err_return_user:
	sandbox_return_user(&peer->sandbox);
err_close:
	sockets_close(&peer->sockets);
err_free:
	free(peer);
	return ret;
}

int peer_count_socket(struct peer *peer, int sock_fd)
{
	const struct limits limits = guest_limits(peer->cid, peer->port);
	/* Each lane has a thread, so an honest guest has no more sockets than threads. */
	const unsigned int most = group_limits_of(&limits).tasks;
	int ret = sockets_add(&peer->sockets, sock_fd, most, settings.all_groups.tasks);

	if (ret == -EMFILE)
		log_guest(peer->cid, peer->port,
			  "a connection was refused: its programs have %u open, and may have %u ('tasks'), or all guests together have too many",
			  peer->sockets.nr, most);
	return ret;
}

static void peer_note(struct peer *peer)
{
	struct peer_note note = {
		.version = PEER_NOTE_VERSION,
		.cid = peer->cid,
		.port = peer->port,
		.trusted_port = peer->trusted_port,
		.uid = peer->sandbox.uid,
		.since = peer->since,
	};

	memcpy(note.secret, peer->secret, sizeof(note.secret));
	peer->noted = peer->number;
	hostdev_note(peer->noted, 0, &note, sizeof(note), peer->sockets.epoll_fd);
	explicit_bzero(&note, sizeof(note));
}

int peer_start(struct peer *peer, int sock_fd, uint64_t features)
{
	struct vgpu_host_peer_add arg = {
		.sock_fd = sock_fd,
		.cid = peer->cid,
		.port = peer->port,
		.limits = guest_limits(peer->cid, peer->port).host,
		.features = features,
	};
	int ret = peer_count_socket(peer, sock_fd);

	if (!ret)
		ret = hostdev_peer_add(&arg, &peer->sandbox);
	if (ret)
		return ret;
	peer->number = arg.out_peer;
	peer->state = PEER_UP;
	peer_note(peer);
	/* VGPU_HOST_PEER_ADD takes some of the limits only, and no session can begin before. */
	peer_limit(peer);
	log_limited(peer->cid, peer->port, "connected");
	return 0;
}

struct peer *peer_adopt(uint32_t number, const struct peer_note *note, int epoll_fd,
			void (*freed)(uint32_t cid, uint32_t port))
{
	struct peer *peer = peer_alloc(note->cid, note->port, note->trusted_port, freed);

	if (!peer)
		return NULL;
	if (!sandbox_keep_user(&peer->sandbox, note->uid)) {
		free(peer);
		return NULL;
	}
	if (hostdev_adopt_peer(number, &peer->sandbox)) {
		sandbox_return_user(&peer->sandbox);
		free(peer);
		return NULL;
	}
	sockets_adopt(&peer->sockets, epoll_fd);
	memcpy(peer->secret, note->secret, sizeof(peer->secret));
	peer->since = note->since;
	peer->number = number;
	peer->noted = number;
	peer->state = PEER_UP;
	LIST_INSERT_HEAD(&peers, peer, node);
	/* The group has to be removed with the peer. A failure is logged. */
	cgroup_open(&peer->sandbox);
	log_limited(peer->cid, peer->port, "taken over from an earlier vgpud");
	return peer;
}

bool peer_of_rest(const struct sandbox *left, int group_fd,
		  void (*freed)(uint32_t cid, uint32_t port))
{
	struct peer *peer = peer_alloc(left->cid, left->port, false, freed);
	int fd = fcntl(group_fd, F_DUPFD_CLOEXEC, 0);

	if (!peer || fd < 0 || sockets_open(&peer->sockets)) {
		if (fd >= 0)
			close(fd);
		free(peer);
		return false;
	}
	peer->sandbox.cgroup_fd = fd;
	sandbox_keep_user(&peer->sandbox, left->uid);
	peer->state = PEER_GONE;
	LIST_INSERT_HEAD(&peers, peer, node);
	log_limited(peer->cid, peer->port, "processes that an earlier vgpud has left are ended");
	peer_reaped(peer);
	return true;
}

void peer_drop(struct peer *peer)
{
	if (peer->state != PEER_UP)
		return;
	peer->state = PEER_GOING;
	hostdev_peer_del(peer->number);
}

void peer_gone(struct peer *peer)
{
	log_limited(peer->cid, peer->port, "gone");
	peer->state = PEER_GONE;
	peer->number = 0;
	sessions_end(peer);
	sessions_reap(peer);
	peer_reaped(peer);
	exporters_review();
}

static void rest_changed(struct source *source, uint32_t events)
{
	(void)events;
	peer_reaped(container_of(source, struct peer, rest));
}

/*
 * Check whether the group of a peer that is gone has processes, such as a shadow of an earlier
 * vgpud that was just being started. If so, kill them, and call peer_reaped() when they have ended.
 */
static bool peer_has_rest(struct peer *peer)
{
	int fd = peer->sandbox.cgroup_fd;

	if (fd < 0 || !group_has_processes(fd))
		return false;
	group_kill(fd);
	if (peer->rest.fd < 0) {
		peer->rest.ready = rest_changed;
		peer->rest.fd = group_events(fd);
		if (peer->rest.fd < 0 || source_add(&peer->rest, EPOLLPRI))
			log_guest(peer->cid, peer->port, "vgpud cannot wait for the end of its processes: %s",
				  strerror(errno));
	}
	/* They may have ended by now. */
	return peer->rest.fd < 0 || group_is_populated(peer->rest.fd);
}

void peer_reaped(struct peer *peer)
{
	void (*const freed)(uint32_t cid, uint32_t port) = peer->freed;
	uint32_t cid = peer->cid, port = peer->port;

	/* A process that is left keeps the guest's control group from being removed. */
	if (peer->state != PEER_GONE || !LIST_EMPTY(&peer->sessions) ||
	    master_has_uid(peer->sandbox.uid) || peer_has_rest(peer))
		return;
	peer_free(peer);
	freed(cid, port);
}

void peer_free(struct peer *peer)
{
	LIST_REMOVE(peer, node);
	hostdev_note(peer->noted, 0, NULL, 0, -1);
	source_close(&peer->rest);
	sandbox_close(&peer->sandbox);
	sockets_close(&peer->sockets);
	explicit_bzero(peer->secret, sizeof(peer->secret));
	free(peer);
}

struct peer *peer_find(uint32_t cid, uint32_t port)
{
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node)
		if (peer->cid == cid && peer->port == port)
			return peer;
	return NULL;
}

struct peer *peer_by_number(uint32_t number)
{
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node)
		if ((peer->state == PEER_UP || peer->state == PEER_GOING) &&
		    peer->number == number)
			return peer;
	return NULL;
}

struct peer *peer_by_secret(uint32_t cid, uint32_t port, const uint8_t *secret)
{
	struct peer *peer = peer_find(cid, port);
	unsigned char differ = 0;
	unsigned int i;

	if (!peer || peer->state != PEER_UP)
		return NULL;
	for (i = 0; i < VGPU_SECRET_LEN; i++)
		differ |= peer->secret[i] ^ secret[i];
	return differ ? NULL : peer;
}
