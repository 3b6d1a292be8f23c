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

/* Add the guests of "guests" beside the guest of "cid". Return: 0 or a negative errno. */
static int add_guests(struct json_object *request, struct export_spec *spec)
{
	struct json_object *guests, *guest;
	size_t nr, i;
	int ret;

	ret = json_get_guests(request, &guests, &nr);
	for (i = 0; !ret && i < nr; i++) {
		guest = json_object_array_get_idx(guests, i);
		ret = export_spec_add_guest(spec, json_get_number(guest, "cid"),
					    json_get_number(guest, "port"));
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

struct json_object *request_export(struct json_object *request, const char *who)
{
	const char *path = json_get_string(request, "path");
	const char *name = json_get_string(request, "name");
	uint32_t cid = json_get_number(request, "cid");
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
	if (!json_guest_ok(request))
		return answer_error(-EINVAL, "an export needs a guest");
	if (path && strlen(path) >= sizeof(spec.path))
		return answer_error(-ENAMETOOLONG, "the path is too long: up to 63 bytes");
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
	ret = export_spec_add_guest(&spec, cid, json_get_number(request, "port"));
	if (!ret)
		ret = add_guests(request, &spec);
	if (ret) {
		export_spec_free(&spec);
		return answer_error(ret, ret == -ENOMEM ? "out of memory" :
				    "the list of guests is malformed or too long");
	}

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

/* Take an export back from one guest, or from all guests (@cid is 0). */
static int unexport_from(struct json_object *request, uint32_t cid, uint32_t port, bool force,
			 const char *who, struct answer *words)
{
	const char *name = json_get_string(request, "name");
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
	uint32_t port = json_get_number(one, "port"), other_port;
	size_t i;

	for (i = 0; i < guest; i++) {
		other = json_object_array_get_idx(guests, i);
		other_port = json_get_number(other, "port");
		if (json_get_number(other, "cid") == json_get_number(one, "cid") &&
		    (other_port ? other_port : settings.port) == (port ? port : settings.port))
			return true;
	}
	return false;
}

/* Check that all guests have the export and may lose it, so that either all or none lose it. */
static int unexport_check(struct json_object *request, struct json_object *guests, size_t nr,
			  bool force, struct answer *words)
{
	const char *name = json_get_string(request, "name");
	struct json_object *guest;
	uint32_t cid, port;
	int card, ret = 0;
	size_t i;

	for (i = 0; !ret && i < nr; i++) {
		guest = json_object_array_get_idx(guests, i);
		cid = json_get_number(guest, "cid");
		port = json_get_number(guest, "port");
		if (get_nvidia(request, &card))
			ret = cards_check_unexport(card, cid, port, force, words);
		else
			ret = export_check_remove(name, cid, port, force, words);
	}
	return ret;
}

struct json_object *request_unexport(struct json_object *request, const char *who)
{
	bool force = json_get_bool(request, "force");
	struct json_object *guests, *guest;
	struct answer words = { "" };
	int card, ret;
	size_t nr, i;

	if (!get_nvidia(request, &card) && !json_get_string(request, "name"))
		return answer_error(-EINVAL, "an unexport needs a name, or a card of NVIDIA's");
	ret = json_get_guests(request, &guests, &nr);
	if (ret || !json_number_ok(request, "cid") || !json_number_ok(request, "port"))
		return answer_error(ret ? ret : -EINVAL,
				    "the list of guests is malformed or too long");
	ret = unexport_check(request, guests, nr, force, &words);
	if (!ret && !nr)
		ret = unexport_from(request, json_get_number(request, "cid"),
				    json_get_number(request, "port"), force, who, &words);
	for (i = 0; !ret && i < nr; i++) {
		if (named_before(guests, i))
			continue;
		guest = json_object_array_get_idx(guests, i);
		ret = unexport_from(request, json_get_number(guest, "cid"),
				    json_get_number(guest, "port"), force, who, &words);
	}
	return ret ? answer_error(ret, words.text) : answer_ok();
}
