// SPDX-License-Identifier: MIT
#include "config.h"
#include "export.h"
#include "log.h"
#include "notify.h"
#include "plan.h"
#include "reload.h"
#include "wanted.h"

/* Exports of cards are of no file alone. */
static const char *origin_of(const struct export_spec *spec)
{
	return spec->file ? spec->file->name : settings.exports_dir;
}

static int apply(const struct plan *plan)
{
	struct export_spec *spec = NULL;
	struct answer words;
	int ret = 0, error;

	exports_sync_begin();
	while ((spec = plan_next(plan, spec))) {
		error = exports_sync(spec, origin_of(spec), &words);
		if (!error)
			continue;
		log_error("%s: [%s]: %s", origin_of(spec), spec->name, words.text);
		ret = error;
	}
	exports_sync_end();

	wanted_begin();
	TAILQ_FOREACH(spec, &plan->sections, node) {
		error = wanted_add(spec, origin_of(spec));
		if (error)
			ret = error;
	}
	wanted_end();
	wanted_sync();
	return ret;
}

int reload_check(void)
{
	struct text words = { 0 };
	struct plan plan;
	int ret = plan_read(&plan, &words);

	text_log(&words, log_error);
	plan_free(&plan);
	text_free(&words);
	return ret;
}

/* @start: nothing is there that could stay as it is. */
static int read_and_apply(bool start)
{
	struct text words = { 0 };
	struct plan plan;
	int ret = plan_read(&plan, &words);

	text_log(&words, log_error);
	if (ret && start)
		log_error("files with mistakes are not used");
	else if (ret)
		log_error("nothing was changed");
	if (!ret || start)
		ret = apply(&plan);
	plan_free(&plan);
	text_free(&words);
	return ret;
}

void reload_start(void)
{
	read_and_apply(true);
}

int reload_run(void)
{
	int ret;

	notify_manager("RELOADING=1");
	log_info("reading the exports again");
	ret = read_and_apply(false);
	exports_rescan();
	notify_manager("READY=1");
	return ret;
}
