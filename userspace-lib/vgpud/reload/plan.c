// SPDX-License-Identifier: MIT
/* Plans: what all files of exports.d together ask for. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "config/config.h"
#include "export/cards.h"
#include "export/export.h"
#include "reload/check.h"
#include "reload/plan.h"
#include "reload/section.h"

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
		plan_read_file(plan, file, words);
	plan_check(plan, words);
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
