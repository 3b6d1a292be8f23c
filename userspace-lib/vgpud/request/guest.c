// SPDX-License-Identifier: MIT
/* Requests about guests by name. */
#include <errno.h>
#include <stdint.h>

#include "base/answer.h"
#include "config/config.h"
#include "config/guests.h"
#include "guest/peer.h"
#include "request/guest.h"
#include "request/json.h"
#include "shared/log.h"

static int say_unknown(const char *name, struct answer *words)
{
	return answer_say(words, -ENOENT, "there is no guest '%s': a section [guest NAME] in a file of guests.d, or in vgpud.conf, gives a guest its name",
			  name);
}

struct json_object *request_evict(struct json_object *request, const char *who)
{
	const char *name = json_get_string(request, "name");
	uint32_t cid = json_get_number(request, "cid"), port = json_get_number(request, "port");
	struct answer words;
	struct peer *peer;

	if (name && !guest_by_name(name, &cid, &port))
		return answer_error(say_unknown(name, &words), words.text);
	port = port ? port : settings.port;
	peer = peer_find(cid, port);
	if (!peer || peer->state != PEER_UP)
		return answer_error(answer_say(&words, -ENOENT, "guest %u:%u is not connected: 'vgpuctl status' shows the guests that are",
					       cid, port), words.text);
	if (peer->nr_sessions && !json_get_bool(request, "force"))
		return answer_error(answer_say(&words, -EBUSY, "guest %u:%u runs %u programs on this host's devices: stop them, or use --force (they lose their devices)",
					       cid, port, peer->nr_sessions), words.text);
	log_info("guest %u:%u: is evicted, by vgpuctl (%s)", cid, port, who);
	peer_drop(peer);
	return answer_ok();
}

struct json_object *request_guest(struct json_object *request)
{
	const char *name = json_get_string(request, "name");
	struct json_object *object;
	struct answer words;
	uint32_t cid, port;

	if (!name || !guest_by_name(name, &cid, &port))
		return answer_error(say_unknown(name ? name : "", &words), words.text);
	object = answer_ok();
	json_put_number(object, "cid", cid);
	json_put_number(object, "port", port);
	return object;
}
