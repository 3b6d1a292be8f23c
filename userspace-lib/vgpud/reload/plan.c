// SPDX-License-Identifier: MIT
/* Plans: what all files of exports.d together ask for, and the checks of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/confs.h"
#include "base/users.h"
#include "config/config.h"
#include "config/guests.h"
#include "export/cards.h"
#include "export/check.h"
#include "export/export.h"
#include "host/window.h"
#include "reload/plan.h"
#include "reload/section.h"

/* --- checks of sections --------------------------------------------------- */

static void spec_mistake(struct text *words, const struct export_spec *spec, unsigned int line,
			 const char *what)
{
	plan_mistake(words, spec->file, line, spec->name, "%s", what);
}

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
				spec->read_only || spec->nr_ioctls || spec->profiles ||
				spec->audit || spec->nr_submits))
		spec_mistake(words, spec, spec->line,
			     "nvidia= can be combined only with to=, any-port= and window=");
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
			plan_mistake(words, spec->file, spec->window.line, spec->name,
				     "guest %u:%u gets a different window by [%s] of %s",
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
		plan_mistake(words, spec->file, spec->line, spec->name,
			     "all sections with nvidia= need the same any-port=, but [%s] of %s has a different one",
			     before->name, before->file->name);
	if (cards_need(spec, before->name) && !before->cards.any)
		plan_mistake(words, spec->file, spec->line, spec->name,
			     "nvidia= needs the name [%s], which is taken by %s:%u", before->name,
			     before->file->name, before->line);
	if (cards_need(before, spec->name) && !spec->cards.any)
		plan_mistake(words, spec->file, spec->line, spec->name,
			     "the name is taken by nvidia= of [%s] of %s", before->name,
			     before->file->name);
	check_windows(spec, before, words);
}

/* Check all sections, and their conflicts. */
static void plan_check(struct plan *plan, struct text *words)
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

/* --- files ----------------------------------------------------------------- */

static int add_file(void *data, const char *path)
{
	struct plan_file *file = calloc(1, sizeof(*file));
	struct plan *plan = data;

	if (file)
		file->name = strdup(path);
	if (!file || !file->name) {
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
	int ret = confs_each(settings.exports_dir, add_file, plan);

	if (ret)
		text_add(words, "%s: %s: make this directory, or give another one (exports-dir)",
				 settings.exports_dir, strerror(-ret));
	/* A missing directory counts as empty, unless files asked for exports before. */
	return ret == -ENOENT && !any_by_file() ? 0 : ret;
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

static void plan_init(struct plan *plan)
{
	TAILQ_INIT(&plan->files);
	TAILQ_INIT(&plan->sections);
	TAILQ_INIT(&plan->cards);
}

/* Read settings.exports_dir to an empty plan. Return: see plan_read(). */
static int read_exports(struct plan *plan, struct text *words)
{
	struct plan_file *file;
	bool mistakes;
	int ret;

	ret = list_files(plan, words);
	if (ret)
		return ret;
	TAILQ_FOREACH(file, &plan->files, node)
		plan_read_file(plan, file, words);
	plan_check(plan, words);
	mistakes = drop_mistaken(plan);
	ret = cards_plan(&plan->sections, &plan->cards);
	if (ret) {
		text_add(words, "%s: %s: make this directory, or give another one (exports-dir)",
				 settings.exports_dir, strerror(-ret));
		return ret;
	}
	ret = check_cards(plan, words);
	return mistakes ? -EBADMSG : ret;
}

int plan_read_exports(struct plan *plan, struct text *words)
{
	plan_init(plan);
	return read_exports(plan, words);
}

int plan_read(struct plan *plan, struct text *words)
{
	int guests, ret;

	plan_init(plan);
	/* Exports may name guests, so the guests come first. */
	guests = guests_plan(words);
	if (guests && guests != -EBADMSG)
		return guests;
	ret = read_exports(plan, words);
	return ret ? ret : guests;
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

	guests_plan_end();
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
