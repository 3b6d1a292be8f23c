// SPDX-License-Identifier: MIT
/* Checks of the sections of all files. */
#include <stdbool.h>
#include <string.h>

#include "base/answer.h"
#include "base/users.h"
#include "export/cards.h"
#include "export/export.h"
#include "host/window.h"
#include "reload/check.h"
#include "reload/mistake.h"
#include "reload/plan.h"

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
				spec->read_only || spec->nr_ioctls))
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

void plan_check(struct plan *plan, struct text *words)
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
