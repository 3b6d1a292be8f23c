// SPDX-License-Identifier: MIT
/*
 * Guests of an earlier vgpud, which are taken over. The host module, or the holder, has kept them,
 * and the notes that vgpud left of each: one of the guest, under its number and 0, then one of each
 * session.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "guest/adopt.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "host/hostdev.h"
#include "process/leftover.h"
#include "shared/log.h"

union note {
	uint32_t version;
	struct peer_note peer;
	struct session_note session;
	uint8_t bytes[VGPU_HOST_NOTE_MAX];
};

/* Take over a guest. Return: the peer, or NULL. */
static struct peer *adopt_peer(uint32_t number, const union note *note, size_t len, int fd,
			       void (*freed)(uint32_t cid, uint32_t port))
{
	const struct peer_note *peer = &note->peer;

	if (fd < 0 || len != sizeof(*peer) || note->version != PEER_NOTE_VERSION) {
		log_warning("an earlier vgpud was of another version, so its guests are disconnected");
		return NULL;
	}
	return peer_adopt(number, peer, fd, freed);
}

static int adopt_session(struct peer *peer, uint64_t number, const union note *note, size_t len,
			 int fd)
{
	if (!peer || len != sizeof(note->session) ||
	    note->version != SESSION_NOTE_VERSION)
		return -EINVAL;
	return session_adopt(peer, number, &note->session, fd);
}

/* End the guests whose end the module has reported to the earlier vgpud alone. */
static void peers_check(void)
{
	struct vgpu_host_peer_stat stat;
	struct peer *peer, *next;

	LIST_FOREACH_SAFE(peer, &peers, node, next) {
		if (hostdev_peer_stat(peer->number, &stat) == -ENOENT)
			peer_gone(peer);
		else
			peer_limit(peer);
	}
}

static void notes_adopt(void (*freed)(uint32_t cid, uint32_t port))
{
	struct peer *peer = NULL;
	uint32_t number = 0;
	union note note;
	uint64_t key = 0;
	bool taken;
	size_t len;
	int fd;

	while (memset(&note, 0, sizeof(note)), len = sizeof(note),
	       !hostdev_note_find(&number, &key, &note, &len, &fd)) {
		if (!key) {
			peer = adopt_peer(number, &note, len, fd, freed);
			taken = peer;
		} else {
			if (peer && peer->number != number)
				peer = NULL;
			taken = !adopt_session(peer, key, &note, len, fd);
		}
		if (!taken) {
			/* Without its note a guest ends, and without that socket a shadow does. */
			hostdev_note(number, key, NULL, 0, -1);
			if (fd >= 0)
				close(fd);
		}
		if (!++key && !++number)
			break;
	}
	explicit_bzero(&note, sizeof(note));
}

static bool is_shadow_of(pid_t pid, const void *data)
{
	const struct peer *peer = data;
	const struct session *session;

	LIST_FOREACH(session, &peer->sessions, node)
		if (session->pid == pid)
			return true;
	return false;
}

/* Handle a group that has processes. @data: function for struct peer's @freed. */
static void group_found(const struct sandbox *left, int fd, void *data)
{
	void (**freed)(uint32_t cid, uint32_t port) = data;
	struct peer *peer = left->keeper ? NULL : peer_find(left->cid, left->port);

	/*
	 * A shadow that has no session lost its connection to the earlier vgpud and ends. A group
	 * of engines also has processes that trace shadows.
	 */
	if (peer && hostdev_is_engine())
		return;
	if (peer) {
		/*
		 * These are a child that was just being started, or a shadow that the guest has
		 * taken over, and that the module does not know.
		 */
		group_kill_some(fd, peer->sandbox.uid, is_shadow_of, peer);
		return;
	}
	if (!left->keeper && peer_of_rest(left, fd, *freed))
		return;
	/* A keeper serves the vgpud that made it. Its user is kept if it may have that longer. */
	group_kill(fd);
	if (group_has_processes(fd))
		sandbox_keep_user(&(struct sandbox){ 0 }, left->uid);
}

void peers_adopt(void (*freed)(uint32_t cid, uint32_t port))
{
	hostdev_adopt();
	if (hostdev_is_adopting()) {
		notes_adopt(freed);
		peers_check();
	}
	leftover_each(group_found, &freed);
}
