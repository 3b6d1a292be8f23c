// SPDX-License-Identifier: MIT
/* Sections of the files of exports.d, and their settings: reader of a file. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/ini.h"
#include "base/users.h"
#include "config/config.h"
#include "config/guests.h"
#include "export/cards.h"
#include "host/window.h"
#include "ioctls/ioctls.h"
#include "reload/plan.h"
#include "reload/section.h"
#include "shared/number.h"
#include "shared/word.h"

void plan_mistake(struct text *words, struct plan_file *file, unsigned int line,
		  const char *section, const char *fmt, ...)
{
	struct answer what;
	va_list args;

	va_start(args, fmt);
	vsnprintf(what.text, sizeof(what.text), fmt, args);
	va_end(args);
	file->mistakes++;
	if (section[0])
		text_add(words, "%s:%u: [%s]: %s", file->name, line, section, what.text);
	else
		text_add(words, "%s:%u: %s", file->name, line, what.text);
}

/* --- settings -------------------------------------------------------------- */

/* Call @fn for each word of a list separated by commas or blanks. An empty list is a mistake. */
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
	return any ? ret : answer_say(words, -EINVAL, "the list is empty: give a word, or remove the line");
}

static int set_path(struct export_spec *spec, const char *value, struct answer *words)
{
	if (strlen(value) >= sizeof(spec->path))
		return answer_say(words, -ENAMETOOLONG, "a path has up to 63 bytes: give a shorter one, such as a symbolic link");
	strcpy(spec->path, value);
	return 0;
}

static int add_card(struct export_spec *spec, const char *word, struct answer *words)
{
	unsigned long long card;

	if (!number_parse(word, &card) || card >= NVIDIA_CARDS)
		return answer_say(words, -EINVAL, "'%s' is not the number of a card: give N of /dev/nvidiaN", word);
	if (cards_have(&spec->cards, card))
		return answer_say(words, -EEXIST, "card %llu is named twice", card);
	cards_add(&spec->cards, card);
	return 0;
}

static int add_guest(struct export_spec *spec, const char *word, struct answer *words)
{
	uint32_t cid, port;

	if (!number_parse_guest(word, &cid, &port) && !guest_by_name(word, &cid, &port))
		return answer_say(words, -EINVAL, "'%s' is not a guest: give a context id, and a port if needed, such as 3 or 3:22590, or the name of a section [guest NAME]",
				  word);
	if (export_spec_has_guest(spec, cid, port ? port : settings.port))
		return answer_say(words, -EEXIST, "guest %s is named twice", word);
	return export_spec_add_guest(spec, cid, port) ?
		answer_say(words, -ENOMEM, "out of memory") : 0;
}

static int set_bool(bool *member, const char *value, struct answer *words)
{
	if (!config_bool(value, member))
		return 0;
	return answer_say(words, -EINVAL, "'%s' is neither yes nor no", value);
}

static int set_demand(struct export_spec *spec, const char *value, struct answer *words)
{
	bool demand = true;
	int ret = set_bool(&demand, value, words);

	spec->no_demand = !demand;
	return ret;
}

/* Find an ioctl by its number or its name. @table: set to the bit of the name's table, or to 0. */
static int find_ioctl(const char *word, uint32_t *number, uint32_t *table)
{
	unsigned long long value;

	*table = 0;
	if (ioctl_find(word, number, table))
		return 0;
	if (!number_parse(word, &value) || value > UINT_MAX)
		return -EINVAL;
	*number = value;
	return 0;
}

/*
 * Find the ioctl of a word for a list of the section. @list: array of the @nr ioctls that the list
 * has already. @number: set to the ioctl's number. Return: 0, or a negative errno with words in
 * @words.
 */
static int find_new_ioctl(struct export_spec *spec, const char *word, const uint32_t *list,
			  size_t nr, uint32_t *number, struct answer *words)
{
	uint32_t table;
	size_t i;

	if (find_ioctl(word, number, &table))
		return answer_say(words, -EINVAL, "'%s' is neither the number nor the name of an ioctl: vgpu-exports(5) says what may be given",
				  word);
	spec->ioctls_named |= table;
	for (i = 0; i < nr; i++)
		if (list[i] == *number)
			return answer_say(words, -EEXIST, "%s is named twice", word);
	return 0;
}

static int add_ioctl(struct export_spec *spec, const char *word, struct answer *words)
{
	uint32_t number;
	int ret;

	ret = find_new_ioctl(spec, word, spec->ioctls, spec->nr_ioctls, &number, words);
	if (ret)
		return ret;
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

static int add_submit(struct export_spec *spec, const char *word, struct answer *words)
{
	uint32_t number;
	int ret;

	ret = find_new_ioctl(spec, word, spec->submits, spec->nr_submits, &number, words);
	if (ret)
		return ret;
	if (spec->nr_submits == EXPORT_SUBMITS_MAX)
		return answer_say(words, -E2BIG, "the list has more than %u ioctls",
				  EXPORT_SUBMITS_MAX);
	spec->submits[spec->nr_submits++] = number;
	return 0;
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

	/* A user that does not exist may be added later; check_user() in plan.c warns of it. */
	if (!*value || strlen(value) >= sizeof(spec->window.user) ||
	    user_find_owner(value, &uid, &gid) == -EINVAL)
		return answer_say(words, -EINVAL, "there is no user '%s'", value);
	strcpy(spec->window.user, value);
	return 0;
}

/**
 * struct setting - a setting of a section
 * @name: name of the setting
 * @is_list: true if the setting is a list, and may occur more than once in a section
 * @is_window: true if the setting is about the window
 * @set: parses a value; returns 0, or a negative errno with words in @words
 * @add: parses a word of a list in the same way; without @set
 * @flag: offset of a bool in struct export_spec; without @set and @add
 */
static const struct setting {
	const char *name;
	bool is_list;
	bool is_window;
	int (*set)(struct export_spec *spec, const char *value, struct answer *words);
	int (*add)(struct export_spec *spec, const char *word, struct answer *words);
	size_t flag;
} section_settings[] = {
	{ .name = "path", .set = set_path },
	{ .name = "nvidia", .add = add_card, .is_list = true },
	{ .name = "to", .add = add_guest, .is_list = true },
	{ .name = "any-port", .flag = offsetof(struct export_spec, any_port) },
	{ .name = "read-only", .flag = offsetof(struct export_spec, read_only) },
	{ .name = "audit", .flag = offsetof(struct export_spec, audit) },
	{ .name = "master", .flag = offsetof(struct export_spec, master) },
	{ .name = "demand", .set = set_demand },
	{ .name = "profile", .set = export_spec_set_profiles },
	{ .name = "allow-ioctls", .set = set_allow, .is_list = true },
	{ .name = "deny-ioctls", .set = set_deny, .is_list = true },
	{ .name = "submit-ioctls", .add = add_submit, .is_list = true },
	{ .name = "window", .set = set_window, .is_window = true },
	{ .name = "window-user", .set = set_window_user, .is_window = true },
};

#define NR_SETTINGS	(sizeof(section_settings) / sizeof(section_settings[0]))

static int set_value(const struct setting *setting, struct export_spec *spec, const char *value,
		     struct answer *words)
{
	if (setting->set)
		return setting->set(spec, value, words);
	if (setting->add)
		return for_each_word(value, spec, words, setting->add);
	return set_bool((bool *)((char *)spec + setting->flag), value, words);
}

/* --- sections --------------------------------------------------------------- */

/**
 * struct reading - a file that is being read
 * @plan: plan that gets the sections
 * @file: entry of the file in the plan
 * @spec: current section; NULL: none, or one that cannot be used
 * @given: bit mask of the settings that the section has had, by their index in section_settings[]
 * @words: text that gets the mistakes
 */
struct reading {
	struct plan *plan;
	struct plan_file *file;
	struct export_spec *spec;
	unsigned int given;
	struct text *words;
};

static int say_unknown(const char *name, struct answer *words)
{
	const char *names[NR_SETTINGS + 1], *near;
	size_t i;

	for (i = 0; i < NR_SETTINGS; i++)
		names[i] = section_settings[i].name;
	names[i] = NULL;
	near = word_near(name, names);
	return answer_say(words, -EINVAL, "there is no such setting%s%s%s (vgpu-exports(5) has all)",
			  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void read_setting(struct reading *reading, const struct ini_line *line)
{
	struct export_spec *spec = reading->spec;
	struct answer words;
	size_t key = 0;
	int ret;

	while (key < NR_SETTINGS && strcmp(section_settings[key].name, line->name))
		key++;
	if (key == NR_SETTINGS)
		ret = say_unknown(line->name, &words);
	else if (reading->given & 1U << key && !section_settings[key].is_list)
		ret = answer_say(&words, -EEXIST, "this setting is given twice: remove one of the lines");
	else
		ret = set_value(&section_settings[key], spec, line->value, &words);
	if (ret)
		plan_mistake(reading->words, reading->file, line->number, line->section, "%s: %s",
			     line->name, words.text);
	if (key == NR_SETTINGS)
		return;
	reading->given |= 1U << key;
	if (section_settings[key].is_window && !ret)
		spec->window.line = line->number;
}

static const struct export_spec *find_section(const struct plan *plan, const char *name)
{
	const struct export_spec *spec;

	TAILQ_FOREACH(spec, &plan->sections, node)
		if (!strcmp(spec->name, name))
			return spec;
	return NULL;
}

static void read_section(struct reading *reading, const struct ini_line *line)
{
	const struct export_spec *other = find_section(reading->plan, line->section);
	struct export_spec *spec;

	reading->spec = NULL;
	reading->given = 0;
	if (!export_name_ok(line->section)) {
		plan_mistake(reading->words, reading->file, line->number, line->section,
			     "a name has 1 to 31 characters of A-Z a-z 0-9 . _ -");
		return;
	}
	if (other)
		plan_mistake(reading->words, reading->file, line->number, line->section,
			     "the name is taken by %s:%u: give another name", other->file->name, other->line);
	spec = calloc(1, sizeof(*spec));
	if (!spec) {
		plan_mistake(reading->words, reading->file, line->number, line->section,
			     "out of memory");
		return;
	}
	snprintf(spec->name, sizeof(spec->name), "%s", line->section);
	spec->file = reading->file;
	spec->line = line->number;
	TAILQ_INSERT_TAIL(&reading->plan->sections, spec, node);
	reading->spec = spec;
}

static void read_line(void *data, const struct ini_line *line)
{
	struct reading *reading = data;

	if (line->mistake) {
		/*
		 * A line in no section is often wrong only because it follows a mistaken section
		 * head, so it is not reported if the file has a mistake already.
		 */
		if (!line->section[0] && reading->file->mistakes)
			return;
		plan_mistake(reading->words, reading->file, line->number, line->section,
			     "not understood: %s", line->mistake);
	} else if (!line->name) {
		read_section(reading, line);
	} else if (reading->spec) {
		read_setting(reading, line);
	}
}

void plan_read_file(struct plan *plan, struct plan_file *file, struct text *words)
{
	struct reading reading = { .plan = plan, .file = file, .words = words };
	int ret = ini_read(file->name, read_line, &reading);

	if (!ret)
		return;
	file->mistakes++;
	text_add(words, "%s: %s: give it to root, with mode 0644", file->name, strerror(-ret));
}
