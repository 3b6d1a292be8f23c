// SPDX-License-Identifier: MIT
/* Requests that change exports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "export/cards.h"
#include "export/hand.h"
#include "request/export.h"
#include "request/json.h"
#include "shared/log.h"

/* Most guests of one request. */
#define GUESTS_MAX	512

/* Check that a CID or port is valid, 0 or missing: an invalid one must not count as missing. */
static bool number_ok(struct json_object *request, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(request, key, &value) || json_get_number(request, key))
		return true;
	return json_object_is_type(value, json_type_int) && !json_object_get_int64(value);
}

/* Check that an object has a valid CID, and a valid port or none. */
static bool guest_ok(struct json_object *guest)
{
	return json_get_number(guest, "cid") && number_ok(guest, "port");
}

static int add_guest(struct json_object *guest, struct export_spec *spec)
{
	uint32_t cid = json_get_number(guest, "cid"), port = json_get_number(guest, "port");

	if (export_spec_has_guest(spec, cid, port ? port : settings.port))
		return 0;
	return export_spec_add_guest(spec, cid, port);
}

/*
 * Add the guests of "guests", an array of objects with a CID and an optional port, if there is one.
 * Return: 0 or a negative errno.
 */
static int add_guests(struct json_object *request, struct export_spec *spec)
{
	struct json_object *guests, *guest;
	size_t nr, i;
	int ret = 0;

	if (!json_object_object_get_ex(request, "guests", &guests))
		return 0;
	nr = json_object_array_length(guests);
	if (nr > GUESTS_MAX)
		return -E2BIG;
	for (i = 0; !ret && i < nr; i++) {
		guest = json_object_array_get_idx(guests, i);
		ret = guest_ok(guest) ? add_guest(guest, spec) : -EINVAL;
	}
	return ret;
}

/* Free the guests of @spec, and make the answer for an error in the guests of a request. */
static struct json_object *guests_error(struct export_spec *spec, int error)
{
	export_spec_free(spec);
	return answer_error(error, error == -ENOMEM ? "out of memory" :
			    "the list of guests is malformed or too long");
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

struct json_object *request_export(struct json_object *request, const char *who)
{
	const char *path = json_get_string(request, "path");
	const char *name = json_get_string(request, "name");
	const char *profile = json_get_string(request, "profile");
	struct answer words = { "" };
	struct json_object *answer;
	struct export_spec spec;
	char cards[32];
	bool nvidia;
	int card, ret;

	memset(&spec, 0, sizeof(spec));
	nvidia = get_nvidia(request, &card);
	if (nvidia ? path || name : !path)
		return answer_error(-EINVAL, "an export needs either a path, or a card of NVIDIA's and no name");
	if (!guest_ok(request))
		return answer_error(-EINVAL, "an export needs a guest");
	if (path && strlen(path) >= sizeof(spec.path))
		return answer_error(-ENAMETOOLONG, "the path is too long: give one of up to 63 bytes, such as a symbolic link");
	if (path)
		strcpy(spec.path, path);
	if (name && (strlen(name) >= sizeof(spec.name) || !name[0]))
		return answer_error(-EINVAL, "a name has 1 to 31 characters of A-Z a-z 0-9 . _ -");
	if (name)
		strcpy(spec.name, name);
	spec.master = json_get_bool(request, "master");
	spec.no_demand = json_get_bool(request, "no_demand");
	spec.any_port = json_get_bool(request, "any_port");
	spec.read_only = json_get_bool(request, "read_only");
	spec.audit = json_get_bool(request, "audit");
	ret = profile ? export_spec_set_profiles(&spec, profile, &words) : 0;
	if (ret)
		return answer_error(ret, words.text);
	ret = add_guest(request, &spec);
	if (!ret)
		ret = add_guests(request, &spec);
	if (ret)
		return guests_error(&spec, ret);

	ret = nvidia ? cards_export(&spec, card, &words) : export_add(&spec, &words);
	if (ret) {
		answer = answer_error(ret, words.text);
	} else {
		answer = answer_ok();
		json_put_string(answer, "name", spec.name);
		log_export(&spec, nvidia ? cards_words(card, cards) : spec.name, who);
	}
	export_spec_free(&spec);
	return answer;
}

static void log_unexport(const char *name, uint32_t cid, uint32_t port, const char *who)
{
	if (cid)
		log_info("export %s: guest %u:%u may not use it any more, by vgpuctl (%s)", name,
			 cid, port, who);
	else
		log_info("export %s: is taken back, by vgpuctl (%s)", name, who);
}

static enum removal removal_of(struct json_object *request)
{
	if (json_get_bool(request, "now"))
		return REMOVE_NOW;
	return json_get_bool(request, "force") ? REMOVE_FORCE : REMOVE_UNUSED;
}

struct json_object *request_unexport(struct json_object *request, const char *who)
{
	const char *name = json_get_string(request, "name");
	enum removal how = removal_of(request);
	struct answer words = { "" };
	struct export_spec spec;
	uint32_t cid, port;
	char cards[32];
	bool nvidia;
	int card, ret;
	size_t i;

	memset(&spec, 0, sizeof(spec));
	nvidia = get_nvidia(request, &card);
	if (!nvidia && !name)
		return answer_error(-EINVAL, "an unexport needs a name, or a card of NVIDIA's");
	ret = add_guests(request, &spec);
	/*
	 * Without a list, "cid" is the only guest. If "cid" is 0 or missing, all guests lose the
	 * export.
	 */
	if (!ret && !spec.nr_guests)
		ret = add_guest(request, &spec);
	if (ret)
		return guests_error(&spec, ret);
	/* Check all guests first, so that either all or none lose the export. */
	for (i = 0; !ret && i < spec.nr_guests; i++) {
		cid = spec.guests[i].cid;
		port = spec.guests[i].port;
		ret = nvidia ? cards_check_unexport(card, cid, port, how, &words) :
		      export_check_remove(name, cid, port, how, &words);
	}
	for (i = 0; !ret && i < spec.nr_guests; i++) {
		cid = spec.guests[i].cid;
		port = spec.guests[i].port;
		ret = nvidia ? cards_unexport(card, cid, port, how, &words) :
		      export_remove(name, cid, port, how, &words);
		if (!ret)
			log_unexport(nvidia ? cards_words(card, cards) : name, cid, port, who);
	}
	export_spec_free(&spec);
	return ret ? answer_error(ret, words.text) : answer_ok();
}
