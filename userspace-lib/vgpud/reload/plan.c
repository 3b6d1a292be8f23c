// SPDX-License-Identifier: MIT
/* Plans: reader of the files of exports.d, and checks of their sections. */
#include <dirent.h>
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
#include "export/cards.h"
#include "export/check.h"
#include "export/list.h"
#include "host/window.h"
#include "nvidia_ioctls.h"
#include "reload/plan.h"
#include "shared/number.h"

/**
 * struct reading - a file that is being read
 * @plan: plan that gets the sections
 * @file: entry of the file in the plan
 * @spec: current section; NULL: none, or one that cannot be used
 * @given: bit mask of the settings that the section has had, by their index in keys[]
 * @words: text that gets the mistakes
 */
struct reading {
	struct plan *plan;
	struct plan_file *file;
	struct export_spec *spec;
	unsigned int given;
	struct text *words;
};

static void __attribute__((format(printf, 5, 6)))
mistake(struct text *words, struct plan_file *file, unsigned int line, const char *section,
	const char *fmt, ...)
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

static void spec_mistake(struct text *words, const struct export_spec *spec, unsigned int line,
			 const char *what)
{
	mistake(words, spec->file, line, spec->name, "%s", what);
}

/* --- settings of a section ------------------------------------------------ */

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
		return answer_say(words, -EINVAL, "'%s' is no number of a card", word);
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

	if (config_guest(word, &cid, &port))
		return answer_say(words, -EINVAL, "'%s' is no guest: give its context id, and perhaps a port: 3, 3:22590",
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
		return answer_say(words, -E2BIG, "these are more than %u", EXPORT_IOCTLS_MAX);
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
		return answer_say(words, -EINVAL, "there is a list of the other kind already");
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
		return answer_say(words, -EINVAL, "'%s' is no size: give bytes, or a number with K, M, G or T",
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

/* Table of all settings. Settings that are lists may occur more than once in a section. */
static const struct {
	const char *name;
	bool is_list;
	bool is_window;
	int (*set)(struct export_spec *spec, const char *value, struct answer *words);
} keys[] = {
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

#define NR_KEYS	(sizeof(keys) / sizeof(keys[0]))

static void read_setting(struct reading *reading, const struct ini_line *line)
{
	struct export_spec *spec = reading->spec;
	struct answer words;
	size_t key = 0;
	int ret;

	while (key < NR_KEYS && strcmp(keys[key].name, line->name))
		key++;
	if (key == NR_KEYS)
		ret = answer_say(&words, -EINVAL, "there is no such setting");
	else if (reading->given & 1U << key && !keys[key].is_list)
		ret = answer_say(&words, -EEXIST, "it is set already");
	else
		ret = keys[key].set(spec, line->value, &words);
	if (ret)
		mistake(reading->words, reading->file, line->number, line->section, "%s: %s",
			line->name, words.text);
	if (key == NR_KEYS)
		return;
	reading->given |= 1U << key;
	if (keys[key].is_window && !ret)
		spec->window.line = line->number;
}

/* --- a file --------------------------------------------------------------- */

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
		mistake(reading->words, reading->file, line->number, line->section,
			"a name has 1 to 31 of A-Z a-z 0-9 . _ -");
		return;
	}
	if (other)
		mistake(reading->words, reading->file, line->number, line->section,
			"the name is taken by %s:%u", other->file->name, other->line);
	spec = calloc(1, sizeof(*spec));
	if (!spec) {
		mistake(reading->words, reading->file, line->number, line->section, "out of memory");
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
		mistake(reading->words, reading->file, line->number, line->section,
			"not understood: %s", line->mistake);
	} else if (!line->name) {
		read_section(reading, line);
	} else if (reading->spec) {
		read_setting(reading, line);
	}
}

static void read_file(struct plan *plan, struct plan_file *file, struct text *words)
{
	struct reading reading = { .plan = plan, .file = file, .words = words };
	int ret = ini_read(file->name, read_line, &reading);

	if (!ret)
		return;
	file->mistakes++;
	text_add(words, "%s: %s", file->name, strerror(-ret));
}

/* --- checks of sections --------------------------------------------------- */

/* Report an unknown user. The guests of the section then have no window, but their devices. */
static void check_user(const struct export_spec *spec, struct text *words)
{
	struct answer what;
	uint32_t uid, gid;
	int ret = user_find_owner(spec->window.user, &uid, &gid);

	if (!spec->window.user[0] || !ret)
		return;
	window_owner_say(&what, ret, spec->window.user);
	text_add(words, "%s:%u: [%s]: window-user: %s", spec->file->name, spec->window.line,
		 spec->name, what.text);
}

static void check_section(const struct export_spec *spec, struct text *words)
{
	struct answer what;

	if ((!spec->path[0] && !spec->cards.any) || !spec->nr_guests)
		spec_mistake(words, spec, spec->line, "needs path= or nvidia=, and to=");
	if (spec->cards.any && (spec->path[0] || spec->master || spec->no_demand ||
				spec->read_only || spec->nr_ioctls))
		spec_mistake(words, spec, spec->line,
			     "nvidia= goes with to=, any-port= and window= only");
	else if (spec->path[0] && export_check(spec, &what))
		spec_mistake(words, spec, spec->line, what.text);
	if (spec->window.user[0] && !spec->window.size)
		spec_mistake(words, spec, spec->window.line, "window-user= needs window=");
	check_user(spec, words);
}

/* Report a guest to which both sections give a window, but with other terms. */
static void check_windows(const struct export_spec *spec, const struct export_spec *before,
			  struct text *words)
{
	size_t i;

	if (!spec->window.size || !before->window.size ||
	    (spec->window.size == before->window.size &&
	     !strcmp(spec->window.user, before->window.user)))
		return;
	for (i = 0; i < spec->nr_guests; i++)
		if (export_spec_has_guest(before, spec->guests[i].cid, spec->guests[i].port)) {
			mistake(words, spec->file, spec->window.line, spec->name,
				"guest %u:%u has another window by [%s] of %s",
				spec->guests[i].cid, spec->guests[i].port, before->name,
				before->file->name);
			return;
		}
}

/* Report conflicts between @spec and @before, a section that precedes it. */
static void check_pair(const struct export_spec *spec, const struct export_spec *before,
		       struct text *words)
{
	if (spec->cards.any && before->cards.any && spec->any_port != before->any_port)
		mistake(words, spec->file, spec->line, spec->name,
			"all sections with nvidia= need the same any-port=, and [%s] of %s has another",
			before->name, before->file->name);
	if (cards_need(spec, before->name) && !before->cards.any)
		mistake(words, spec->file, spec->line, spec->name,
			"nvidia= needs the name [%s], which is taken by %s:%u", before->name,
			before->file->name, before->line);
	if (cards_need(before, spec->name) && !spec->cards.any)
		mistake(words, spec->file, spec->line, spec->name,
			"the name is taken by nvidia= of [%s] of %s", before->name,
			before->file->name);
	check_windows(spec, before, words);
}

static void check_all(struct plan *plan, struct text *words)
{
	const struct export_spec *spec, *before;

	TAILQ_FOREACH(spec, &plan->sections, node) {
		check_section(spec, words);
		TAILQ_FOREACH(before, &plan->sections, node) {
			if (before == spec)
				break;
			check_pair(spec, before, words);
		}
	}
}

/* --- all files ------------------------------------------------------------ */

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".conf");
}

static int add_file(struct plan *plan, const char *name)
{
	struct plan_file *file = calloc(1, sizeof(*file));

	if (!file || asprintf(&file->name, "%s/%s", settings.exports_dir, name) < 0) {
		free(file);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&plan->files, file, node);
	return 0;
}

/* Check whether files ask for any export that exists now. */
static bool any_by_file(void)
{
	const struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		if (export->origin)
			return true;
	return false;
}

static int list_files(struct plan *plan, struct text *words)
{
	struct dirent **entries = NULL;
	int i, nr, ret = 0;

	nr = scandir(settings.exports_dir, &entries, is_conf, alphasort);
	if (nr < 0) {
		ret = -errno;
		text_add(words, "%s: %s", settings.exports_dir, strerror(-ret));
		/* A missing directory counts as empty, unless files asked for exports before. */
		return ret == -ENOENT && !any_by_file() ? 0 : ret;
	}
	for (i = 0; i < nr; i++) {
		if (!ret)
			ret = add_file(plan, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (ret)
		text_add(words, "%s: %s", settings.exports_dir, strerror(-ret));
	return ret;
}

/* Drop files with mistakes. The sections of a file belong together, so none of them is kept. */
static bool drop_mistaken(struct plan *plan)
{
	struct export_spec *spec, *next;
	struct plan_file *file;
	bool any = false;

	for (spec = TAILQ_FIRST(&plan->sections); spec; spec = next) {
		next = TAILQ_NEXT(spec, node);
		if (!spec->file->mistakes)
			continue;
		TAILQ_REMOVE(&plan->sections, spec, node);
		export_spec_free(spec);
		free(spec);
	}
	TAILQ_FOREACH(file, &plan->files, node)
		any |= file->mistakes;
	return any;
}

/* Check the exports that sections with cards need. */
static int check_cards(const struct plan *plan, struct text *words)
{
	const struct export_spec *spec;
	struct answer what;
	int ret = 0;

	TAILQ_FOREACH(spec, &plan->cards, node)
		if (export_check(spec, &what)) {
			text_add(words, "%s: [%s], by nvidia=: %s", settings.exports_dir,
				 spec->name, what.text);
			ret = -EBADMSG;
		}
	return ret;
}

int plan_read(struct plan *plan, struct text *words)
{
	struct plan_file *file;
	bool mistakes;
	int ret;

	TAILQ_INIT(&plan->files);
	TAILQ_INIT(&plan->sections);
	TAILQ_INIT(&plan->cards);
	ret = list_files(plan, words);
	if (ret)
		return ret;
	TAILQ_FOREACH(file, &plan->files, node)
		read_file(plan, file, words);
	check_all(plan, words);
	mistakes = drop_mistaken(plan);
	ret = cards_plan(&plan->sections, &plan->cards);
	if (ret) {
		text_add(words, "%s: %s", settings.exports_dir, strerror(-ret));
		return ret;
	}
	ret = check_cards(plan, words);
	return mistakes ? -EBADMSG : ret;
}

static void specs_free(struct export_specs *specs)
{
	struct export_spec *spec;

	while ((spec = TAILQ_FIRST(specs))) {
		TAILQ_REMOVE(specs, spec, node);
		export_spec_free(spec);
		free(spec);
	}
}

void plan_free(struct plan *plan)
{
	struct plan_file *file;

	specs_free(&plan->sections);
	specs_free(&plan->cards);
	while ((file = TAILQ_FIRST(&plan->files))) {
		TAILQ_REMOVE(&plan->files, file, node);
		free(file->name);
		free(file);
	}
}

struct export_spec *plan_next(const struct plan *plan, const struct export_spec *spec)
{
	struct export_spec *next = spec ? TAILQ_NEXT(spec, node) : TAILQ_FIRST(&plan->sections);

	while (next && next->cards.any)
		next = TAILQ_NEXT(next, node);
	if (next || (spec && !spec->file))
		return next;
	return TAILQ_FIRST(&plan->cards);
}
