// SPDX-License-Identifier: MIT
/*
 * Request for counters of guests, by export and program. They are those of all connections of a
 * guest, where "status" has those of the present one.
 */
#include <stddef.h>

#include "config/guests.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "request/json.h"
#include "request/metrics.h"

static struct json_object *metrics_buckets(const struct vgpu_host_tally *tally)
{
	struct json_object *array = json_make_array();
	unsigned int i;

	for (i = 0; i < VGPU_HOST_BUCKETS; i++)
		json_append(array, json_make_number(tally->buckets[i]));
	return array;
}

static struct json_object *metrics_exports(const struct vgpu_host_tally *tallies, size_t nr)
{
	struct json_object *array = json_make_array(), *object;
	size_t i;

	for (i = 0; i < nr; i++) {
		object = json_make_object();
		json_put_string(object, "name", tallies[i].name);
		json_put_number(object, "calls", tallies[i].calls);
		json_put_number(object, "errors", tallies[i].errors);
		json_put_number(object, "bytes_in", tallies[i].bytes_in);
		json_put_number(object, "bytes_out", tallies[i].bytes_out);
		json_put_number(object, "ns", tallies[i].ns);
		json_put(object, "buckets", metrics_buckets(&tallies[i]));
		json_append(array, object);
	}
	return array;
}

static struct json_object *metrics_programs(const struct peer *peer)
{
	struct json_object *array = json_make_array(), *object;
	struct vgpu_host_session_stat stat;
	const struct session *session;

	if (!peer)
		return array;
	LIST_FOREACH(session, &peer->sessions, node) {
		if (session->lanes_fd < 0 ||
		    hostdev_session_stat(peer->number, session->number, session->pid, &stat))
			continue;
		object = json_make_object();
		json_put_number(object, "number", session->number);
		json_put_string(object, "comm", session->comm);
		json_put_number(object, "guest_pid", session->tgid);
		json_put_number(object, "shadow_pid", session->pid);
		json_put_number(object, "calls", stat.out_calls);
		json_put_number(object, "errors", stat.out_errors);
		json_put_number(object, "bytes_in", stat.out_bytes_in);
		json_put_number(object, "bytes_out", stat.out_bytes_out);
		json_put_number(object, "ns", stat.out_ns);
		json_append(array, object);
	}
	return array;
}

static void put_totals(struct json_object *object, const struct vgpu_host_guest_stat *stat)
{
	json_put_number(object, "connections", stat->out_connections);
	json_put_number(object, "calls", stat->out_calls);
	json_put_number(object, "round_trips", stat->out_round_trips);
	json_put_number(object, "bytes_in", stat->out_bytes_in);
	json_put_number(object, "bytes_out", stat->out_bytes_out);
	json_put_number(object, "fetched_pages", stat->out_fetched_pages);
	json_put_number(object, "written_pages", stat->out_written_pages);
	json_put_number(object, "fetch_timeouts", stat->out_fetch_timeouts);
	json_put_number(object, "refused", stat->out_refused);
	json_put_number(object, "malformed", stat->out_malformed);
	json_put_number(object, "stray_fds", stat->out_stray_fds);
	json_put_number(object, "cancels", stat->out_cancels);
	json_put_number(object, "delayed", stat->out_delayed);
	json_put_number(object, "queued", stat->out_queued);
	json_put_number(object, "device_ns", stat->out_device_ns);
}

/* Add what the guest has now; a guest that is not connected has nothing. */
static void put_now(struct json_object *object, const struct peer *peer)
{
	struct vgpu_host_peer_stat stat = { 0 };
	struct vgpu_host_peer_use use = { 0 };
	bool connected = peer && !hostdev_peer_stat(peer->number, &stat) &&
		!hostdev_peer_use(peer->number, &use);

	json_put_bool(object, "connected", connected);
	json_put_number(object, "sessions", stat.out_sessions);
	json_put_number(object, "lanes", stat.out_lanes);
	json_put_number(object, "objects", stat.out_objects);
	json_put_number(object, "mappings", stat.out_mappings);
	json_put_number(object, "mapped_bytes", use.out_now.mapped_bytes);
	json_put_number(object, "kept_bytes", stat.out_kept_bytes);
	json_put_number(object, "owned_bytes", connected ? hostdev_owned_bytes(peer->number) : 0);
	json_put_number(object, "patience_ms", stat.out_patience_ms);
}

static struct json_object *metrics_guest(const struct vgpu_host_guest_stat *stat,
					 const struct vgpu_host_tally *tallies, bool programs)
{
	const struct peer *peer = peer_find(stat->out_cid, stat->out_port);
	struct json_object *object = json_make_object();

	if (peer && peer->state != PEER_UP)
		peer = NULL;
	json_put_number(object, "cid", stat->out_cid);
	json_put_number(object, "port", stat->out_port);
	json_put_string(object, "name", guest_name(stat->out_cid, stat->out_port));
	put_now(object, peer);
	put_totals(object, stat);
	json_put(object, "exports", metrics_exports(tallies, stat->out_nr));
	json_put(object, "programs", programs ? metrics_programs(peer) : NULL);
	return object;
}

struct json_object *request_metrics(bool programs)
{
	static struct vgpu_host_tally tallies[VGPU_HOST_TALLIES_MAX];
	struct json_object *answer = answer_ok(), *guests = json_make_array();
	struct vgpu_host_guest_stat stat = { 0 };

	while (!hostdev_guest_next(stat.out_cid, stat.out_port, &stat, tallies))
		json_append(guests, metrics_guest(&stat, tallies, programs));
	json_put_string(answer, "version", VGPU_VERSION);
	json_put_string(answer, "engine", hostdev_is_engine() ? "user" : "kernel");
	json_put_number(answer, "bucket_ns", VGPU_HOST_BUCKET_NS);
	json_put(answer, "guests", guests);
	return answer;
}
