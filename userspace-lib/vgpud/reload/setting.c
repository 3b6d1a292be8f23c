// SPDX-License-Identifier: MIT
/* Settings of a section of exports.d. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/users.h"
#include "config/config.h"
#include "export/cards.h"
#include "host/window.h"
#include "nvidia_ioctls.h"
#include "reload/setting.h"
#include "shared/number.h"

/* Call fn for each word of a list separated by commas or blanks. An empty list is a mistake. */
static int for_each_word(const char *text, struct export_spec *spec, struct answer *words,
			 int (*fn)(struct export_spec *spec, const char *word,
				   struct answer *words))
{
	char *copy = strdup(text), *rest = copy, *word;
	bool any = false;
	int ret = 0;

	if (!copy)
		return answer_say(words, -ENOMEM, "out of memory");
	while (!ret && (word = strsep(&rest, ", \t")))
		if (*word) {
			any = true;
			ret = fn(spec, word, words);
		}
	free(copy);
	return any ? ret : answer_say(words, -EINVAL, "the list is empty");
}

static int set_path(struct export_spec *spec, const char *value, struct answer *words)
{
	if (strlen(value) >= sizeof(spec->path))
		return answer_say(words, -ENAMETOOLONG, "a path has up to 63 bytes");
	strcpy(spec->path, value);
	return 0;
}

static int add_card(struct export_spec *spec, const char *word, struct answer *words)
{
	unsigned long long card;

	if (!number_parse(word, &card) || card >= NVIDIA_CARDS)
		return answer_say(words, -EINVAL, "'%s' is not the number of a card", word);
	if (cards_have(&spec->cards, card))
		return answer_say(words, -EEXIST, "card %llu is named twice", card);
	cards_add(&spec->cards, card);
	return 0;
}

static int set_nvidia(struct export_spec *spec, const char *value, struct answer *words)
{
	return for_each_word(value, spec, words, add_card);
}

static int add_guest(struct export_spec *spec, const char *word, struct answer *words)
{
	uint32_t cid, port;

	if (!number_parse_guest(word, &cid, &port))
		return answer_say(words, -EINVAL, "'%s' is not a guest: give a context id, and a port if needed, such as 3 or 3:22590",
				  word);
	if (export_spec_has_guest(spec, cid, port ? port : settings.port))
		return answer_say(words, -EEXIST, "guest %s is named twice", word);
	return export_spec_add_guest(spec, cid, port) ?
		answer_say(words, -ENOMEM, "out of memory") : 0;
}

static int set_to(struct export_spec *spec, const char *value, struct answer *words)
{
	return for_each_word(value, spec, words, add_guest);
}

static int set_bool(bool *member, const char *value, struct answer *words)
{
	if (!config_bool(value, member))
		return 0;
	return answer_say(words, -EINVAL, "'%s' is neither yes nor no", value);
}

static int set_any_port(struct export_spec *spec, const char *value, struct answer *words)
{
	return set_bool(&spec->any_port, value, words);
}

static int set_read_only(struct export_spec *spec, const char *value, struct answer *words)
{
	return set_bool(&spec->read_only, value, words);
}

static int set_master(struct export_spec *spec, const char *value, struct answer *words)
{
	return set_bool(&spec->master, value, words);
}

static int set_demand(struct export_spec *spec, const char *value, struct answer *words)
{
	bool demand = true;
	int ret = set_bool(&demand, value, words);

	spec->no_demand = !demand;
	return ret;
}

/* Find an ioctl by its number or its name. */
static int find_ioctl(const char *word, unsigned long long *number)
{
	uint32_t i;

	for (i = 0; i < vgpu_nvidia_nr_ioctls; i++)
		if (!strcmp(vgpu_nvidia_ioctls[i].name, word)) {
			*number = vgpu_nvidia_ioctls[i].key;
			return 0;
		}
	return number_parse(word, number) && *number <= UINT_MAX ? 0 : -EINVAL;
}

static int add_ioctl(struct export_spec *spec, const char *word, struct answer *words)
{
	unsigned long long number;
	size_t i;

	if (find_ioctl(word, &number))
		return answer_say(words, -EINVAL, "'%s' is neither the number nor the name of an ioctl",
				  word);
	for (i = 0; i < spec->nr_ioctls; i++)
		if (spec->ioctls[i] == number)
			return answer_say(words, -EEXIST, "%s is named twice", word);
	switch (export_spec_add_ioctl(spec, number)) {
	case 0:
		return 0;
	case -E2BIG:
		return answer_say(words, -E2BIG, "the list has more than %u ioctls",
				  EXPORT_IOCTLS_MAX);
	default:
		return answer_say(words, -ENOMEM, "out of memory");
	}
}

/*
 * Add ioctls to the section's list. An export without a list allows all ioctls, so an empty
 * list must not count as a missing one: for_each_word() refuses it.
 */
static int set_ioctls(struct export_spec *spec, const char *value, bool deny,
		      struct answer *words)
{
	if (spec->nr_ioctls && spec->ioctls_deny != deny)
		return answer_say(words, -EINVAL, "this section already has a list of the other kind: use either allow-ioctls= or deny-ioctls=");
	spec->ioctls_deny = deny;
	return for_each_word(value, spec, words, add_ioctl);
}

static int set_allow(struct export_spec *spec, const char *value, struct answer *words)
{
	return set_ioctls(spec, value, false, words);
}

static int set_deny(struct export_spec *spec, const char *value, struct answer *words)
{
	return set_ioctls(spec, value, true, words);
}

static int set_window(struct export_spec *spec, const char *value, struct answer *words)
{
	unsigned long long size;
	const char *wrong;

	if (config_number(value, 0, ULLONG_MAX, &size))
		return answer_say(words, -EINVAL, "'%s' is not a size: give a number of bytes, or a number with K, M, G or T",
				  value);
	wrong = window_size_mistake(size);
	if (wrong)
		return answer_say(words, -EINVAL, "'%s': %s", value, wrong);
	spec->window.size = size;
	return 0;
}

static int set_window_user(struct export_spec *spec, const char *value, struct answer *words)
{
	uint32_t uid, gid;

	/* A user that does not exist may be added later, so it is no mistake (see check_user()). */
	if (!*value || strlen(value) >= sizeof(spec->window.user) ||
	    user_find_owner(value, &uid, &gid) == -EINVAL)
		return answer_say(words, -EINVAL, "there is no user '%s'", value);
	strcpy(spec->window.user, value);
	return 0;
}

const struct plan_setting plan_settings[] = {
	{ .name = "path", .set = set_path },
	{ .name = "nvidia", .set = set_nvidia, .is_list = true },
	{ .name = "to", .set = set_to, .is_list = true },
	{ .name = "any-port", .set = set_any_port },
	{ .name = "read-only", .set = set_read_only },
	{ .name = "master", .set = set_master },
	{ .name = "demand", .set = set_demand },
	{ .name = "allow-ioctls", .set = set_allow, .is_list = true },
	{ .name = "deny-ioctls", .set = set_deny, .is_list = true },
	{ .name = "window", .set = set_window, .is_window = true },
	{ .name = "window-user", .set = set_window_user, .is_window = true },
};

const size_t plan_nr_settings = sizeof(plan_settings) / sizeof(plan_settings[0]);

