// SPDX-License-Identifier: MIT
/* Requests for what there is: exports, guests and windows. */
#include <unistd.h>

#include "base/users.h"
#include "config/config.h"
#include "config/guests.h"
#include "device/identity.h"
#include "export/denial.h"
#include "export/export.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "host/window.h"
#include "ioctls/ioctls.h"
#include "keeper/keeper.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "request/json.h"
#include "request/status.h"

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case VGPU_EXPORT_DRM_PRIMARY:
		return "drm-card";
	case VGPU_EXPORT_DRM_RENDER:
		return "drm-render";
	case VGPU_EXPORT_VIDEO:
	case VGPU_EXPORT_VBI:
	case VGPU_EXPORT_RADIO:
	case VGPU_EXPORT_SDR:
	case VGPU_EXPORT_TOUCH:
		return "v4l2";
	case VGPU_EXPORT_SOUND:
		return "alsa";
	case VGPU_EXPORT_MEDIA:
		return "media";
	case VGPU_EXPORT_NVIDIA:
		return "nvidia";
	default:
		return "plain";
	}
}

static void add_denial(struct json_object *array, const char *words,
		       const struct vgpu_host_denial *denial)
{
	struct json_object *object = json_make_object();

	json_put_string(object, "ioctl", words);
	json_put_number(object, "denied", denial->denied);
	json_put_number(object, "audited", denial->audited);
	json_append(array, object);
}

static struct json_object *list_denials(const struct export *export, const struct peer *peer)
{
	struct json_object *array = json_make_array();
	static struct export_denials denials;
	char words[80];
	unsigned int i;

	export_denials(export, peer, &denials);
	for (i = 0; i < denials.nr; i++) {
		denial_words(export, &denials.list[i], words);
		add_denial(array, words, &denials.list[i]);
	}
	if (denials.others.denied || denials.others.audited)
		add_denial(array, "others", &denials.others);
	return array;
}

static struct json_object *list_grants(struct export *export)
{
	struct json_object *array = json_make_array(), *object;
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(grant, &export->grants, node) {
		peer = peer_find(grant->cid, grant->port);
		object = json_make_object();
		json_put_number(object, "cid", grant->cid);
		json_put_number(object, "port", grant->port);
		json_put_string(object, "guest_name", guest_name(grant->cid, grant->port));
		json_put_bool(object, "any_port", grant->any_port);
		json_put_bool(object, "read_only", grant->read_only);
		json_put_bool(object, "connected", peer && peer->state == PEER_UP);
		if (peer && peer->state == PEER_UP)
			json_put(object, "denials", list_denials(export, peer));
		json_append(array, object);
	}
	return array;
}

static struct json_object *list_exports(void)
{
	struct json_object *array = json_make_array(), *object;
	struct export *export;
	char bus[96], profile[32];

	TAILQ_FOREACH(export, &exports, node) {
		identity_words(&export->device.identity, bus);
		profile_words(export->spec.profiles, profile);
		object = json_make_object();
		json_put_string(object, "name", export->spec.name);
		json_put_string(object, "path", export->spec.path);
		json_put_string(object, "state", export->number ? "ready" : "absent");
		json_put_string(object, "driver", export->number ? export->device.driver : NULL);
		json_put_string(object, "kind",
				export->number ? kind_name(export->device.kind) : NULL);
		json_put_string(object, "bus", export->number && bus[0] ? bus : NULL);
		json_put_bool(object, "master", export->spec.master);
		json_put_bool(object, "no_demand", export->spec.no_demand);
		json_put_bool(object, "audit", export->spec.audit);
		json_put_string(object, "profile", profile[0] ? profile : NULL);
		json_put_string(object, "origin", export->origin);
		json_put(object, "to", list_grants(export));
		json_append(array, object);
	}
	return array;
}

static struct json_object *status_sessions(struct peer *peer)
{
	struct json_object *array = json_make_array(), *object;
	struct session *session;

	LIST_FOREACH(session, &peer->sessions, node) {
		if (session->lanes_fd < 0)
			continue;
		object = json_make_object();
		json_put_number(object, "number", session->number);
		json_put_number(object, "shadow_pid", session->pid);
		json_put_number(object, "guest_pid", session->tgid);
		json_put_string(object, "comm", session->comm);
		json_append(array, object);
	}
	return array;
}

static struct json_object *status_counters(const struct peer *peer,
					   const struct vgpu_host_peer_stat *stat)
{
	struct json_object *object = json_make_object();

	json_put_number(object, "sessions", stat->out_sessions);
	json_put_number(object, "lanes", stat->out_lanes);
	json_put_number(object, "objects", stat->out_objects);
	json_put_number(object, "mappings", stat->out_mappings);
	json_put_number(object, "kept_bytes", stat->out_kept_bytes);
	json_put_number(object, "owned_bytes", hostdev_owned_bytes(peer->number));
	json_put_number(object, "calls", stat->out_calls);
	json_put_number(object, "round_trips", stat->out_round_trips);
	json_put_number(object, "bytes_in", stat->out_bytes_in);
	json_put_number(object, "bytes_out", stat->out_bytes_out);
	json_put_number(object, "fetched_pages", stat->out_fetched_pages);
	json_put_number(object, "written_pages", stat->out_written_pages);
	json_put_number(object, "fetch_timeouts", stat->out_fetch_timeouts);
	json_put_number(object, "patience_ms", stat->out_patience_ms);
	json_put_number(object, "spent", stat->out_spent);
	json_put_bool(object, "cut_off", stat->out_cut_off);
	json_put_number(object, "refused", stat->out_refused);
	json_put_number(object, "malformed", stat->out_malformed);
	json_put_number(object, "stray_fds", stat->out_stray_fds);
	json_put_number(object, "cancels", stat->out_cancels);
	return object;
}

/* Describe the guests. Only those who may change things get the names of the programs. */
static struct json_object *status_guests(bool programs)
{
	struct json_object *array = json_make_array(), *object;
	struct vgpu_host_peer_stat stat;
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node) {
		object = json_make_object();
		json_put_number(object, "cid", peer->cid);
		json_put_number(object, "port", peer->port);
		json_put_string(object, "name", guest_name(peer->cid, peer->port));
		json_put_string(object, "state", peer->state == PEER_UP ? "connected" : "ending");
		json_put_number(object, "uid", peer->sandbox.uid);
		json_put_number(object, "since", peer->since);
		json_put(object, "programs", programs ? status_sessions(peer) : NULL);
		if (peer->state == PEER_UP && !hostdev_peer_stat(peer->number, &stat))
			json_put(object, "counters", status_counters(peer, &stat));
		json_append(array, object);
	}
	return array;
}

static struct json_object *status_windows(void)
{
	struct json_object *array = json_make_array(), *object;
	struct vgpu_host_window_stat stat = { 0 };
	char path[48], owner[40];

	while (!hostdev_window_next(stat.out_cid, stat.out_port, &stat)) {
		object = json_make_object();
		window_path(stat.out_name, path);
		json_put_string(object, "path", path);
		json_put_string(object, "memory_path",
				keeper_memory_path(stat.out_cid, stat.out_port));
		json_put_number(object, "cid", stat.out_cid);
		json_put_number(object, "port", stat.out_port);
		user_name(stat.out_uid, owner);
		json_put_string(object, "owner", owner);
		json_put_bool(object, "automatic", stat.out_flags & VGPU_HOST_WINDOW_AUTOMATIC);
		json_put_number(object, "size", stat.out_bytes);
		json_put_number(object, "bound_bytes", stat.out_bound_bytes);
		json_put_number(object, "bindings", stat.out_bindings);
		json_put_number(object, "opens", stat.out_opens);
		json_put_bool(object, "drain", stat.out_drain);
		json_put_number(object, "faults", stat.out_faults);
		json_put_number(object, "resolved", stat.out_resolved);
		json_put_number(object, "dummies", stat.out_dummies);
		json_put_number(object, "failures", stat.out_failures);
		json_put_number(object, "timeouts", stat.out_timeouts);
		json_put_number(object, "zaps", stat.out_zaps);
		json_put_number(object, "huge", stat.out_huge);
		json_put_bool(object, "memory_huge",
			      keeper_memory_has(stat.out_cid, stat.out_port, KEEPER_STATE_HUGE));
		json_put_number(object, "hypervisor",
				keeper_hypervisor(stat.out_cid, stat.out_port));
		json_append(array, object);
	}
	return array;
}

struct json_object *request_list(void)
{
	struct json_object *answer = answer_ok();

	json_put(answer, "exports", list_exports());
	return answer;
}

struct json_object *request_status(bool may_change)
{
	struct json_object *answer = request_list();

	json_put_string(answer, "version", VGPU_VERSION);
	json_put_number(answer, "pid", getpid());
	json_put_number(answer, "port", settings.port);
	json_put_string(answer, "engine", hostdev_is_engine() ? "user" : "kernel");
	json_put_string(answer, "scratch", confine_has_keys() ? "keys" : "random");
	json_put_bool(answer, "cgroups", cgroup_used());
	json_put(answer, "guests", status_guests(may_change));
	json_put(answer, "windows", status_windows());
	return answer;
}
