/* SPDX-License-Identifier: MIT */
/*
 * A plan holds what the files of exports.d ask for. All files are read and checked before any
 * of their exports is made.
 */
#ifndef VGPUD_PLAN_H
#define VGPUD_PLAN_H

#include <sys/queue.h>

#include "base/answer.h"
#include "export/spec.h"

/**
 * struct plan_file - a file of exports.d
 * @node: entry of struct plan's list of files
 * @name: path of the file
 * @mistakes: number of mistakes found in the file
 */
struct plan_file {
	TAILQ_ENTRY(plan_file) node;
	char *name;
	unsigned int mistakes;
};

/**
 * struct plan - content of all files
 * @files: list of the files in alphabetical order
 * @sections: list of the sections of all files; a section with cards is no export itself
 * @cards: list of the exports that the sections with cards need
 */
struct plan {
	TAILQ_HEAD(, plan_file) files;
	struct export_specs sections;
	struct export_specs cards;
};

/*
 * Read settings.guests_dir and settings.exports_dir. Each mistake becomes a line of @words, and a
 * file with mistakes is left out of the plan. The caller frees the plan in any case. Return: 0;
 * -EBADMSG if there are mistakes; another negative errno if the files could not be listed.
 */
int plan_read(struct plan *plan, struct text *words);
/* Do the same for settings.exports_dir alone: the guests in force count. */
int plan_read_exports(struct plan *plan, struct text *words);
void plan_free(struct plan *plan);

/* Return the export after @spec (NULL: the first one), or NULL at the end. */
struct export_spec *plan_next(const struct plan *plan, const struct export_spec *spec);

#endif /* VGPUD_PLAN_H */
