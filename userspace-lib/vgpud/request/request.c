// SPDX-License-Identifier: MIT
/*
 * Requests on the control socket: the functions here read the JSON objects of requests, run
 * them, and make the answers.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/users.h"
#include "config/config.h"
#include "export/cards.h"
#include "export/hand.h"
#include "export/list.h"
#include "export/spec.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "host/window.h"
#include "keeper/keeper.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "reload/reload.h"
#include "reload/wanted.h"
#include "request/request.h"
#include "shared/log.h"

/* --- small helpers -------------------------------------------------------- */

static void put(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static void put_string(struct json_object *object, const char *key, const char *value)
{
	put(object, key, value ? json_object_new_string(value) : NULL);
}

static void put_number(struct json_object *object, const char *key, uint64_t value)
{
	put(object, key, json_object_new_int64(value));
}

static void put_bool(struct json_object *object, const char *key, bool value)
{
	put(object, key, json_object_new_boolean(value));
}

static const char *get_string(struct json_object *request, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(request, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static bool get_bool(struct json_object *request, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(request, key, &value) && json_object_get_boolean(value);
}

/* Return a CID or port, 1 to 2^32-2; 0 if it is missing or out of range. */
static uint32_t get_number(struct json_object *request, const char *key)
{
	struct json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(request, key, &value))
		return 0;
	number = json_object_get_int64(value);
	return number < 1 || number >= UINT32_MAX ? 0 : number;
}

/* Most guests of one request. */
#define GUESTS_MAX	512

/* Check that a CID or port is missing, 0, or valid. Other values must not count as missing. */
static bool number_ok(struct json_object *request, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(request, key, &value) || get_number(request, key))
		return true;
	return json_object_is_type(value, json_type_int) && !json_object_get_int64(value);
}

static bool guest_ok(struct json_object *guest)
{
	return get_number(guest, "cid") && number_ok(guest, "port");
}

/*
 * Read "guests", an array of objects with a CID and an optional port. If there is none,
 * *@guests is NULL and *@nr is 0. Return: 0, -EINVAL or -E2BIG.
 */
static int get_guests(struct json_object *request, struct json_object **guests, size_t *nr)
{
	size_t i;

	*nr = 0;
	*guests = NULL;
	if (!json_object_object_get_ex(request, "guests", guests))
		return 0;
	if (!json_object_is_type(*guests, json_type_array))
		return -EINVAL;
	*nr = json_object_array_length(*guests);
	if (*nr > GUESTS_MAX)
		return -E2BIG;
	for (i = 0; i < *nr; i++)
		if (!guest_ok(json_object_array_get_idx(*guests, i)))
			return -EINVAL;
	return 0;
}

static struct json_object *answer_error(int error, const char *message)
{
	struct json_object *answer = json_object_new_object();

	put_bool(answer, "ok", false);
	put_number(answer, "errno", -error);
	put_string(answer, "message", message);
	return answer;
}

static struct json_object *answer_ok(void)
{
	struct json_object *answer = json_object_new_object();

	put_bool(answer, "ok", true);
	return answer;
}

/* --- export, unexport ----------------------------------------------------- */

/* Add the guests of "guests" beside the guest of "cid". Return: 0 or a negative errno. */
static int add_guests(struct json_object *request, struct export_spec *spec)
{
	struct json_object *guests, *guest;
	size_t nr, i;
	int ret;

	ret = get_guests(request, &guests, &nr);
	for (i = 0; !ret && i < nr; i++) {
		guest = json_object_array_get_idx(guests, i);
		ret = export_spec_add_guest(spec, get_number(guest, "cid"),
					    get_number(guest, "port"));
	}
	return ret;
}

/* Read the card of "nvidia": a number, or true for all cards. Return: true if a card is given. */
static bool get_nvidia(struct json_object *request, int *card)
{
	struct json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(request, "nvidia", &value))
		return false;
	*card = CARDS_ALL;
	if (json_object_is_type(value, json_type_int)) {
		number = json_object_get_int64(value);
		*card = number < 0 || number >= NVIDIA_CARDS ? NVIDIA_CARDS : number;
	}
	return true;
}

/* Return the words for a request's cards. */
static const char *cards_words(int card, char words[32])
{
	if (card == CARDS_ALL)
		snprintf(words, 32, "all of NVIDIA's");
	else
		snprintf(words, 32, "nvidia%d", card);
	return words;
}

static void log_export(const struct export_spec *spec, const char *name, const char *who)
{
	size_t i;

	for (i = 0; i < spec->nr_guests; i++)
		log_info("export %s: guest %u:%u may use it%s, by vgpuctl (%s)", name,
			 spec->guests[i].cid, spec->guests[i].port,
			 spec->read_only ? " for reading" : "", who);
}

static struct json_object *do_export(struct json_object *request, const char *who)
{
	const char *path = get_string(request, "path"), *name = get_string(request, "name");
	uint32_t cid = get_number(request, "cid");
	struct answer words = { "" };
	struct json_object *answer;
	struct export_spec spec;
	char cards[32];
	bool nvidia;
	int card, ret;

	memset(&spec, 0, sizeof(spec));
	nvidia = get_nvidia(request, &card);
	if (nvidia ? path || name : !path)
		return answer_error(-EINVAL, "an export needs a path, or a card of NVIDIA's without a name");
	if (!guest_ok(request))
		return answer_error(-EINVAL, "an export needs a guest");
	if (path && strlen(path) >= sizeof(spec.path))
		return answer_error(-ENAMETOOLONG, "the path is too long: up to 63 bytes");
	if (path)
		strcpy(spec.path, path);
	if (name && (strlen(name) >= sizeof(spec.name) || !name[0]))
		return answer_error(-EINVAL, "the name has to have 1 to 31 of A-Z a-z 0-9 . _ -");
	if (name)
		strcpy(spec.name, name);
	spec.master = get_bool(request, "master");
	spec.no_demand = get_bool(request, "no_demand");
	spec.any_port = get_bool(request, "any_port");
	spec.read_only = get_bool(request, "read_only");
	ret = export_spec_add_guest(&spec, cid, get_number(request, "port"));
	if (!ret)
		ret = add_guests(request, &spec);
	if (ret) {
		export_spec_free(&spec);
		return answer_error(ret, ret == -ENOMEM ? "out of memory" :
				    "the guests were not understood, or are too many");
	}

	ret = nvidia ? cards_export(&spec, card, &words) : export_add(&spec, &words);
	if (ret) {
		answer = answer_error(ret, words.text);
	} else {
		answer = answer_ok();
		put_string(answer, "name", spec.name);
		log_export(&spec, nvidia ? cards_words(card, cards) : spec.name, who);
	}
	export_spec_free(&spec);
	return answer;
}

/* Take an export back from one guest, or from all guests (@cid is 0). */
static int unexport_from(struct json_object *request, uint32_t cid, uint32_t port, bool force,
			 const char *who, struct answer *words)
{
	const char *name = get_string(request, "name");
	char cards[32];
	int card, ret;

	if (get_nvidia(request, &card)) {
		ret = cards_unexport(card, cid, port, force, words);
		name = cards_words(card, cards);
	} else {
		ret = export_remove(name, cid, port, force, words);
	}
	if (!ret && cid)
		log_info("export %s: guest %u:%u may not use it any more, by vgpuctl (%s)", name,
			 cid, port ? port : settings.port, who);
	else if (!ret)
		log_info("export %s: is taken back, by vgpuctl (%s)", name, who);
	return ret;
}

/* Check whether the guest is also named earlier in the list, and so has lost the export already. */
static bool named_before(struct json_object *guests, size_t guest)
{
	struct json_object *one = json_object_array_get_idx(guests, guest), *other;
	uint32_t port = get_number(one, "port"), other_port;
	size_t i;

	for (i = 0; i < guest; i++) {
		other = json_object_array_get_idx(guests, i);
		other_port = get_number(other, "port");
		if (get_number(other, "cid") == get_number(one, "cid") &&
		    (other_port ? other_port : settings.port) == (port ? port : settings.port))
			return true;
	}
	return false;
}

/* Check that all guests have the export and may lose it, so that either all or none lose it. */
static int unexport_check(struct json_object *request, struct json_object *guests, size_t nr,
			  bool force, struct answer *words)
{
	const char *name = get_string(request, "name");
	struct json_object *guest;
	uint32_t cid, port;
	int card, ret = 0;
	size_t i;

	for (i = 0; !ret && i < nr; i++) {
		guest = json_object_array_get_idx(guests, i);
		cid = get_number(guest, "cid");
		port = get_number(guest, "port");
		if (get_nvidia(request, &card))
			ret = cards_check_unexport(card, cid, port, force, words);
		else
			ret = export_check_remove(name, cid, port, force, words);
	}
	return ret;
}

static struct json_object *do_unexport(struct json_object *request, const char *who)
{
	bool force = get_bool(request, "force");
	struct json_object *guests, *guest;
	struct answer words = { "" };
	int card, ret;
	size_t nr, i;

	if (!get_nvidia(request, &card) && !get_string(request, "name"))
		return answer_error(-EINVAL, "an unexport needs a name, or a card of NVIDIA's");
	ret = get_guests(request, &guests, &nr);
	if (ret || !number_ok(request, "cid") || !number_ok(request, "port"))
		return answer_error(ret ? ret : -EINVAL,
				    "the guests were not understood, or are too many");
	ret = unexport_check(request, guests, nr, force, &words);
	if (!ret && !nr)
		ret = unexport_from(request, get_number(request, "cid"),
				    get_number(request, "port"), force, who, &words);
	for (i = 0; !ret && i < nr; i++) {
		if (named_before(guests, i))
			continue;
		guest = json_object_array_get_idx(guests, i);
		ret = unexport_from(request, get_number(guest, "cid"), get_number(guest, "port"),
				    force, who, &words);
	}
	return ret ? answer_error(ret, words.text) : answer_ok();
}

/* --- windows --------------------------------------------------------------- */

/* Return "size" in bytes; 0 if it is missing or invalid. */
static uint64_t get_size(struct json_object *request)
{
	struct json_object *value;
	int64_t size;

	if (!json_object_object_get_ex(request, "size", &value))
		return 0;
	size = json_object_get_int64(value);
	return size < 0 ? 0 : size;
}

static struct json_object *do_window_create(struct json_object *request, const char *who)
{
	struct window_spec spec = {
		.cid = get_number(request, "cid"),
		.port = get_number(request, "port"),
		.size = get_size(request),
		.owner = get_string(request, "owner"),
	};
	struct answer words = { "" };
	struct json_object *answer;
	char path[48];
	int ret;

	if (!spec.cid || !spec.size)
		return answer_error(-EINVAL, "a window needs a guest and a size");
	ret = window_create(&spec, path, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window %s: is made, by vgpuctl (%s)", path, who);
	answer = answer_ok();
	put_string(answer, "path", path);
	return answer;
}

static struct json_object *do_window_destroy(struct json_object *request, const char *who)
{
	uint32_t cid = get_number(request, "cid"), port = get_number(request, "port");
	bool force = get_bool(request, "force");
	const char *origin = wanted_by(cid, port);
	struct answer words = { "" };
	int ret;

	if (origin && !force) {
		snprintf(words.text, sizeof(words.text),
			 "%.150s asks for the window: change that and reload vgpud (--force makes it anew)",
			 origin);
		return answer_error(-EBUSY, words.text);
	}
	ret = window_destroy(cid, port, force, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window of guest %u:%u: is taken away, by vgpuctl (%s)", cid,
		 port ? port : settings.port, who);
	wanted_again();
	return answer_ok();
}

static struct json_object *do_window_drain(struct json_object *request, const char *who)
{
	uint32_t cid = get_number(request, "cid"), port = get_number(request, "port");
	bool drain = get_bool(request, "drain");
	struct answer words = { "" };
	int ret;

	ret = window_drain(cid, port, drain, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window of guest %u:%u: is to be %s, by vgpuctl (%s)", cid,
		 port ? port : settings.port, drain ? "empty" : "used", who);
	return answer_ok();
}

static struct json_object *status_windows(void)
{
	struct json_object *array = json_object_new_array(), *object;
	struct vgpu_host_window_stat stat = { 0 };
	char path[48], owner[40];

	while (!hostdev_window_next(stat.out_cid, stat.out_port, &stat)) {
		object = json_object_new_object();
		window_path(stat.out_name, path);
		put_string(object, "path", path);
		put_string(object, "memory_path",
			   keeper_memory_path(stat.out_cid, stat.out_port));
		put_number(object, "cid", stat.out_cid);
		put_number(object, "port", stat.out_port);
		user_name(stat.out_uid, owner);
		put_string(object, "owner", owner);
		put_bool(object, "automatic", stat.out_flags & VGPU_HOST_WINDOW_AUTOMATIC);
		put_number(object, "size", stat.out_bytes);
		put_number(object, "bound_bytes", stat.out_bound_bytes);
		put_number(object, "bindings", stat.out_bindings);
		put_number(object, "opens", stat.out_opens);
		put_bool(object, "drain", stat.out_drain);
		put_number(object, "faults", stat.out_faults);
		put_number(object, "resolved", stat.out_resolved);
		put_number(object, "dummies", stat.out_dummies);
		put_number(object, "failures", stat.out_failures);
		put_number(object, "timeouts", stat.out_timeouts);
		put_number(object, "zaps", stat.out_zaps);
		put_number(object, "huge", stat.out_huge);
		put_bool(object, "memory_huge",
			 keeper_memory_is_huge(stat.out_cid, stat.out_port));
		put_number(object, "hypervisor",
			   keeper_hypervisor(stat.out_cid, stat.out_port));
		json_object_array_add(array, object);
	}
	return array;
}

/* --- list ----------------------------------------------------------------- */

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

static struct json_object *list_grants(struct export *export)
{
	struct json_object *array = json_object_new_array(), *object;
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(grant, &export->grants, node) {
		peer = peer_find(grant->cid, grant->port);
		object = json_object_new_object();
		put_number(object, "cid", grant->cid);
		put_number(object, "port", grant->port);
		put_bool(object, "any_port", grant->any_port);
		put_bool(object, "read_only", grant->read_only);
		put_bool(object, "connected", peer && peer->state == PEER_UP);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *list_exports(void)
{
	struct json_object *array = json_object_new_array(), *object;
	struct export *export;
	char bus[96];

	TAILQ_FOREACH(export, &exports, node) {
		identity_words(&export->device.identity, bus);
		object = json_object_new_object();
		put_string(object, "name", export->spec.name);
		put_string(object, "path", export->spec.path);
		put_string(object, "state", export->number ? "ready" : "absent");
		put_string(object, "driver", export->number ? export->device.driver : NULL);
		put_string(object, "kind", export->number ? kind_name(export->device.kind) : NULL);
		put_string(object, "bus", export->number && bus[0] ? bus : NULL);
		put_bool(object, "master", export->spec.master);
		put_bool(object, "no_demand", export->spec.no_demand);
		put_string(object, "origin", export->origin);
		put(object, "to", list_grants(export));
		json_object_array_add(array, object);
	}
	return array;
}

/* --- status --------------------------------------------------------------- */

static struct json_object *status_sessions(struct peer *peer)
{
	struct json_object *array = json_object_new_array(), *object;
	struct session *session;

	LIST_FOREACH(session, &peer->sessions, node) {
		if (session->lanes_fd < 0)
			continue;
		object = json_object_new_object();
		put_number(object, "number", session->number);
		put_number(object, "shadow_pid", session->pid);
		put_number(object, "guest_pid", session->tgid);
		put_string(object, "comm", session->comm);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *status_counters(const struct peer *peer,
					   const struct vgpu_host_peer_stat *stat)
{
	struct json_object *object = json_object_new_object();

	put_number(object, "sessions", stat->out_sessions);
	put_number(object, "lanes", stat->out_lanes);
	put_number(object, "objects", stat->out_objects);
	put_number(object, "mappings", stat->out_mappings);
	put_number(object, "kept_bytes", stat->out_kept_bytes);
	put_number(object, "owned_bytes", hostdev_owned_bytes(peer->number));
	put_number(object, "calls", stat->out_calls);
	put_number(object, "round_trips", stat->out_round_trips);
	put_number(object, "bytes_in", stat->out_bytes_in);
	put_number(object, "bytes_out", stat->out_bytes_out);
	put_number(object, "fetched_pages", stat->out_fetched_pages);
	put_number(object, "written_pages", stat->out_written_pages);
	put_number(object, "fetch_timeouts", stat->out_fetch_timeouts);
	put_number(object, "patience_ms", stat->out_patience_ms);
	put_number(object, "spent", stat->out_spent);
	put_bool(object, "cut_off", stat->out_cut_off);
	put_number(object, "refused", stat->out_refused);
	put_number(object, "malformed", stat->out_malformed);
	put_number(object, "stray_fds", stat->out_stray_fds);
	put_number(object, "cancels", stat->out_cancels);
	return object;
}

/* Describe the guests. The names of their programs are for root only. */
static struct json_object *status_guests(bool programs)
{
	struct json_object *array = json_object_new_array(), *object;
	struct vgpu_host_peer_stat stat;
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node) {
		object = json_object_new_object();
		put_number(object, "cid", peer->cid);
		put_number(object, "port", peer->port);
		put_string(object, "state", peer->state == PEER_UP ? "connected" : "ending");
		put_number(object, "uid", peer->sandbox.uid);
		put_number(object, "since", peer->since);
		put(object, "programs", programs ? status_sessions(peer) : NULL);
		if (peer->state == PEER_UP && !hostdev_peer_stat(peer->number, &stat))
			put(object, "counters", status_counters(peer, &stat));
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *do_list(void)
{
	struct json_object *answer = answer_ok();

	put(answer, "exports", list_exports());
	return answer;
}

static struct json_object *do_status(bool may_change)
{
	struct json_object *answer = do_list();

	put_string(answer, "version", VGPU_VERSION);
	put_number(answer, "pid", getpid());
	put_number(answer, "port", settings.port);
	put_string(answer, "engine", hostdev_is_engine() ? "user" : "kernel");
	put_string(answer, "scratch", confine_has_keys() ? "keys" : "random");
	put_bool(answer, "cgroups", cgroup_used());
	put(answer, "guests", status_guests(may_change));
	put(answer, "windows", status_windows());
	return answer;
}

/* --- files of exports ----------------------------------------------------- */

/* Read the files of exports again; without @who, only describe what would change. */
static struct json_object *do_reload(const char *who)
{
	struct text words = { 0 }, message = { 0 };
	struct json_object *answer;
	char by[64];
	int ret;

	if (who)
		snprintf(by, sizeof(by), "vgpuctl (%s)", who);
	ret = who ? reload_run(by, &words) : reload_diff(&words);
	if (ret) {
		text_add(&message, "%s\n%s", ret == -EIO ? "not all of it was done:" :
			 "nothing was changed, as there are mistakes:",
			 words.lines ? words.lines : strerror(-ret));
		/* Cut off the newlines at the end of the message. */
		while (message.len && message.lines[message.len - 1] == '\n')
			message.lines[--message.len] = '\0';
		answer = answer_error(ret, message.lines ? message.lines : "out of memory");
	} else {
		answer = answer_ok();
		put_string(answer, "changes", words.lines ? words.lines : "");
	}
	text_free(&message);
	text_free(&words);
	return answer;
}

struct json_object *request_run(struct json_object *request, bool may_change, const char *who)
{
	const char *op = get_string(request, "op");

	if (!op)
		return answer_error(-EINVAL, "a request needs an op");
	if (!strcmp(op, "list"))
		return do_list();
	if (!strcmp(op, "status"))
		return do_status(may_change);
	if (!may_change)
		return answer_error(-EPERM, "only root may change exports, or see what files say of them");
	if (!strcmp(op, "diff"))
		return do_reload(NULL);
	if (!strcmp(op, "export"))
		return do_export(request, who);
	if (!strcmp(op, "unexport"))
		return do_unexport(request, who);
	if (!strcmp(op, "window-create"))
		return do_window_create(request, who);
	if (!strcmp(op, "window-drain"))
		return do_window_drain(request, who);
	if (!strcmp(op, "window-destroy"))
		return do_window_destroy(request, who);
	if (!strcmp(op, "reload"))
		return do_reload(who);
	return answer_error(-EOPNOTSUPP, "this vgpud does not know the request: is it older?");
}
