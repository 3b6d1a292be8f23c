// SPDX-License-Identifier: MIT
/* Requests about limits of guests. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/answer.h"
#include "config/config.h"
#include "config/guests.h"
#include "config/save.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "process/own.h"
#include "request/json.h"
#include "request/limit.h"
#include "shared/log.h"

/* Limits whose use is counted, and the place of the use in struct vgpu_host_use. */
static const struct {
	const char *name;
	bool wide;
	size_t offset;
} uses[] = {
	{ "sessions", false, offsetof(struct vgpu_host_use, sessions) },
	{ "lanes", false, offsetof(struct vgpu_host_use, lanes) },
	{ "objects", false, offsetof(struct vgpu_host_use, objects) },
	{ "pages", false, offsetof(struct vgpu_host_use, pages) },
	{ "mappings", false, offsetof(struct vgpu_host_use, mappings) },
	{ "all-pages", false, offsetof(struct vgpu_host_use, all_pages) },
	{ "all-mappings", false, offsetof(struct vgpu_host_use, all_mappings) },
	{ "mapped-bytes", true, offsetof(struct vgpu_host_use, mapped_bytes) },
	{ "kept-bytes", true, offsetof(struct vgpu_host_use, kept_bytes) },
};

#define NR_USES	(sizeof(uses) / sizeof(uses[0]))

/* Limits that the guest is told when it connects, and keeps until it connects again. */
static const char *const told[] = { "call-bytes", "lanes" };
/* Limits that a user-space engine knows for cards of NVIDIA's driver alone. */
static const char *const cards_only[] = { "device-weight", "device-cap" };
/* Limits that a user-space engine does not know. */
static const char *const module_only[] = { "device-priority" };
/* Limits by which a program of a user-space engine makes its tables when it starts. */
static const char *const tables[] = { "objects", "pages", "mappings" };

#define IS_ONE_OF(name, names)	is_one_of(name, names, sizeof(names) / sizeof(names[0]))

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/**
 * struct asked - a guest that a request names
 * @name: name of the guest; NULL: it has none
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 */
struct asked {
	const char *name;
	uint32_t cid;
	uint32_t port;
};

/*
 * Find the guest of a request, by its name or its CID. Return: 0 or a negative errno, with words in
 * @words.
 */
static int find_guest(struct json_object *request, struct asked *asked, struct answer *words)
{
	const char *name = json_get_string(request, "name");

	if (name && !guest_by_name(name, &asked->cid, &asked->port))
		return answer_say(words, -ENOENT, "there is no guest '%s': a section [guest NAME] in a file of guests.d, or in vgpud.conf, gives a guest its name",
				  name);
	if (!name) {
		asked->cid = json_get_number(request, "cid");
		asked->port = json_get_number(request, "port");
		asked->port = asked->port ? asked->port : settings.port;
	}
	if (!asked->cid)
		return answer_say(words, -EINVAL, "a request about limits needs a guest");
	asked->name = guest_name(asked->cid, asked->port);
	return 0;
}

static void put_use(struct json_object *object, const char *key, const char *name,
		    const struct vgpu_host_use *use)
{
	const char *at;
	size_t i;

	for (i = 0; i < NR_USES; i++) {
		if (strcmp(uses[i].name, name))
			continue;
		at = (const char *)use + uses[i].offset;
		json_put_number(object, key, uses[i].wide ? *(const __u64 *)at :
				*(const __u32 *)at);
		return;
	}
	json_put(object, key, NULL);
}

static struct json_object *list_limits(const struct asked *asked,
				       const struct vgpu_host_peer_use *use)
{
	static const char *const origins[] = { "default", "file", "vgpuctl" };
	const struct limits limits = guest_limits(asked->cid, asked->port);
	struct json_object *array = json_make_array(), *object;
	const char *name;
	unsigned int i;

	for (i = 0; (name = limits_name(i)); i++) {
		object = json_make_object();
		json_put_string(object, "name", name);
		json_put_number(object, "limit", limits_get(&limits, i));
		put_use(object, "use", name, &use->out_now);
		put_use(object, "most", name, &use->out_most);
		json_put_bool(object, "bytes", limits_in_bytes(i));
		json_put_string(object, "origin",
				origins[guest_limit_origin(asked->cid, asked->port, i)]);
		json_append(array, object);
	}
	return array;
}

struct json_object *request_limits(struct json_object *request)
{
	struct vgpu_host_peer_use use = { 0 };
	struct json_object *answer;
	struct answer words;
	struct asked asked;
	struct peer *peer;
	int ret;

	ret = find_guest(request, &asked, &words);
	if (ret)
		return answer_error(ret, words.text);
	peer = peer_find(asked.cid, asked.port);
	if (peer && peer->state == PEER_UP)
		hostdev_peer_use(peer->number, &use);
	answer = answer_ok();
	json_put_string(answer, "name", asked.name);
	json_put_number(answer, "cid", asked.cid);
	json_put_number(answer, "port", asked.port);
	json_put_bool(answer, "connected", peer && peer->state == PEER_UP);
	json_put_number(answer, "delayed", use.out_delayed);
	json_put_number(answer, "queued", use.out_queued);
	json_put_number(answer, "device-ns", use.out_device_ns);
	json_put(answer, "limits", list_limits(&asked, &use));
	return answer;
}

/* --- changes ------------------------------------------------------------------ */

/* Read "set", an object of limits and their values: "" lets the limit follow the files again. */
static int read_set(struct json_object *request, struct limits_given *given, uint32_t *follow,
		    struct answer *words)
{
	struct json_object *set;
	int limit, ret = 0;

	if (!json_object_object_get_ex(request, "set", &set) ||
	    !json_object_is_type(set, json_type_object))
		return answer_say(words, -EINVAL, "a change of limits needs the limits");
	json_object_object_foreach(set, name, value) {
		limit = limits_find(name);
		if (limit < 0)
			return limits_say_unknown(name, "there is no such limit", words);
		if (!json_is_text(value))
			return answer_say(words, -EINVAL, "%s: the value is no string without zero bytes", name);
		if (!json_object_get_string_len(value)) {
			*follow |= 1U << limit;
			continue;
		}
		ret = limits_parse(&given->values, limit, json_object_get_string(value), words);
		if (!ret && !strcmp(name, "objects"))
			ret = room_check(given->values.host.objects, words);
		if (ret)
			return answer_say(words, ret, "%s: %s", name, strdupa(words->text));
		given->given |= 1U << limit;
	}
	return given->given || *follow ? 0 :
	       answer_say(words, -EINVAL, "a change of limits needs the limits");
}

static void log_changes(const struct asked *asked, const struct limits *old,
			const struct limits *new, bool saved, const char *who)
{
	unsigned int i;

	for (i = 0; limits_name(i); i++)
		if (limits_get(old, i) != limits_get(new, i))
			log_info("guest %s%s%u:%u: %s is %llu, not %llu any more%s, by vgpuctl (%s)",
				 asked->name ? asked->name : "", asked->name ? ", " : "",
				 asked->cid, asked->port, limits_name(i),
				 (unsigned long long)limits_get(new, i),
				 (unsigned long long)limits_get(old, i),
				 saved ? ", and saved" : "", who);
}

static void add_note(struct json_object *notes, const char *name, const char *when)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s", name, when);
	json_append(notes, json_make_string(text));
}

/* Tell which changes do not apply at once to a guest that is connected. */
static struct json_object *list_notes(const struct peer *peer, const struct limits *old,
				      const struct limits *new)
{
	struct json_object *notes = json_make_array();
	bool more, less;
	unsigned int i;

	for (i = 0; limits_name(i); i++) {
		more = limits_get(new, i) > limits_get(old, i);
		less = limits_get(new, i) < limits_get(old, i);
		if ((more || less) && limits_of_group(i) && !cgroup_used())
			add_note(notes, limits_name(i), "has no effect: guests have no control groups ('cgroups' in [shadow])");
		else if (!peer || peer->state != PEER_UP)
			continue;
		else if ((more && IS_ONE_OF(limits_name(i), told)) ||
		    (less && !strcmp(limits_name(i), "call-bytes")))
			add_note(notes, limits_name(i), "applies when the guest connects anew");
		else if (more && hostdev_is_engine() && IS_ONE_OF(limits_name(i), tables))
			add_note(notes, limits_name(i), "applies to programs that start from now on");
		else if ((more || less) && hostdev_is_engine() &&
			 IS_ONE_OF(limits_name(i), cards_only))
			add_note(notes, limits_name(i), "has an effect only on cards of NVIDIA's driver with a user-space engine");
		else if ((more || less) && hostdev_is_engine() &&
			 IS_ONE_OF(limits_name(i), module_only))
			add_note(notes, limits_name(i), "has no effect with a user-space engine");
	}
	return notes;
}

struct json_object *request_limit(struct json_object *request, const char *who)
{
	struct limits_given given = { 0 }, none = { 0 };
	const bool save = json_get_bool(request, "save");
	struct json_object *answer;
	struct limits old, new;
	uint32_t follow = 0;
	struct answer words;
	struct asked asked;
	struct peer *peer;
	int ret;

	ret = find_guest(request, &asked, &words);
	if (ret)
		return answer_error(ret, words.text);
	ret = read_set(request, &given, &follow, &words);
	if (!ret && save && !asked.name)
		ret = answer_say(&words, -EINVAL, "only limits of a guest with a name can be saved: give it a section [guest NAME]");
	old = guest_limits(asked.cid, asked.port);
	new = old;
	limits_change(&new, &given);
	if (!ret)
		ret = confine_check(asked.name, &new, &words);
	if (ret)
		return answer_error(ret, words.text);
	if (save)
		ret = guest_save(asked.name, &given, follow, &words);
	/* Limits that are saved follow the file from now on. */
	if (!ret && guest_limits_by_hand(asked.cid, asked.port, save ? &none : &given,
					 follow | (save ? given.given : 0)))
		ret = answer_say(&words, -ENOMEM, "out of memory");
	if (ret)
		return answer_error(ret, words.text);
	own_files_check();
	new = guest_limits(asked.cid, asked.port);
	peer = peer_find(asked.cid, asked.port);
	if (peer)
		peer_limit(peer);
	log_changes(&asked, &old, &new, save, who);
	answer = answer_ok();
	json_put(answer, "notes", list_notes(peer, &old, &new));
	return answer;
}
