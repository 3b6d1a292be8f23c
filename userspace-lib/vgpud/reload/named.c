// SPDX-License-Identifier: MIT
/* Reloads of the files of guests.d: names and limits of guests follow the files. */
#include "base/answer.h"
#include "config/guests.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "reload/named.h"
#include "reload/reload.h"

/* Describe the changes of limits of a guest. */
static void sync_limits(struct sync *sync, const char *name, uint32_t cid, uint32_t port)
{
	const struct limits old = guest_limits(cid, port), new = guest_limits_planned(cid, port);
	unsigned int i;

	for (i = 0; limits_name(i); i++)
		if (limits_get(&old, i) != limits_get(&new, i))
			text_add(&sync->changes, "guest %s: %s is %llu, not %llu any more", name,
				 limits_name(i), (unsigned long long)limits_get(&new, i),
				 (unsigned long long)limits_get(&old, i));
}

/* Describe what changes for a name, which a file had (@was) or has now. */
static void sync_name(struct sync *sync, const char *name, bool was)
{
	uint32_t old_cid, old_port, cid, port;
	bool old = guest_by_name_in(false, name, &old_cid, &old_port);
	bool new = guest_by_name_in(true, name, &cid, &port);

	/* A name that a file had and has now is described once. */
	if (was && guest_section_find(&guests_planned, name))
		return;
	if (new && !old)
		text_add(&sync->changes, "guest %s: is new: %u:%u", name, cid, port);
	else if (old && !new)
		text_add(&sync->changes, "guest %s: no file names it any more", name);
	else if (old && new && (cid != old_cid || port != old_port))
		text_add(&sync->changes, "guest %s: is %u:%u now, not %u:%u", name, cid, port,
			 old_cid, old_port);
	if (old && (!new || cid != old_cid || port != old_port))
		sync_limits(sync, name, old_cid, old_port);
	if (new)
		sync_limits(sync, name, cid, port);
}

void named_sync(struct sync *sync)
{
	const struct guest_section *section;
	struct limits old, new;
	struct peer *peer;

	TAILQ_FOREACH(section, &guests_planned, node)
		sync_name(sync, section->name, false);
	TAILQ_FOREACH(section, &guests_by_files, node)
		sync_name(sync, section->name, true);
	if (sync->dry)
		return;
	LIST_FOREACH(peer, &peers, node) {
		old = guest_limits(peer->cid, peer->port);
		new = guest_limits_planned(peer->cid, peer->port);
		peer->limits_changed = !limits_equal(&old, &new);
	}
	guests_take();
	LIST_FOREACH(peer, &peers, node)
		if (peer->limits_changed)
			peer_limit(peer);
}
