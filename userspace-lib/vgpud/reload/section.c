// SPDX-License-Identifier: MIT
/* Sections of exports.d: reader of a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/ini.h"
#include "reload/mistake.h"
#include "reload/plan.h"
#include "reload/section.h"
#include "reload/setting.h"

/**
 * struct reading - a file that is being read
 * @plan: plan that gets the sections
 * @file: entry of the file in the plan
 * @spec: current section; NULL: none, or one that cannot be used
 * @given: bit mask of the settings that the section has had, by their index in plan_settings[]
 * @words: text that gets the mistakes
 */
struct reading {
	struct plan *plan;
	struct plan_file *file;
	struct export_spec *spec;
	unsigned int given;
	struct text *words;
};

static void read_setting(struct reading *reading, const struct ini_line *line)
{
	struct export_spec *spec = reading->spec;
	struct answer words;
	size_t key = 0;
	int ret;

	while (key < plan_nr_settings && strcmp(plan_settings[key].name, line->name))
		key++;
	if (key == plan_nr_settings)
		ret = answer_say(&words, -EINVAL, "there is no such setting");
	else if (reading->given & 1U << key && !plan_settings[key].is_list)
		ret = answer_say(&words, -EEXIST, "this setting is given twice");
	else
		ret = plan_settings[key].set(spec, line->value, &words);
	if (ret)
		plan_mistake(reading->words, reading->file, line->number, line->section, "%s: %s",
			     line->name, words.text);
	if (key == plan_nr_settings)
		return;
	reading->given |= 1U << key;
	if (plan_settings[key].is_window && !ret)
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
			     "the name is taken by %s:%u", other->file->name, other->line);
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
	text_add(words, "%s: %s", file->name, strerror(-ret));
}
