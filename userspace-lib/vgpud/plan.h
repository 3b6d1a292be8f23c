/* SPDX-License-Identifier: MIT */
/*
 * A plan is what the files of exports.d ask for. They are read, and looked through for mistakes,
 * before anything is done for them.
 */
#ifndef VGPUD_PLAN_H
#define VGPUD_PLAN_H

#include <sys/queue.h>

#include "export.h"
#include "text.h"

/**
 * struct plan_file - a file of exports.d
 * @name: its path
 * @mistakes: how many it has
 */
struct plan_file {
	TAILQ_ENTRY(plan_file) node;
	char *name;
	unsigned int mistakes;
};

/**
 * struct plan - what all files say
 * @files: in alphabetical order
 * @sections: of all of them; those with cards are no exports themselves
 * @cards: the exports that these cards need
 */
struct plan {
	TAILQ_HEAD(, plan_file) files;
	struct export_specs sections;
	struct export_specs cards;
};

/*
 * Reads settings.exports_dir. Each mistake becomes a line of @words; the files that have one
 * are not in the plan. The plan has to be freed in either case.
 * Return: 0, -EBADMSG: there are mistakes; another negative errno: the files are not known.
 */
int plan_read(struct plan *plan, struct text *words);
void plan_free(struct plan *plan);

/* The next export after @spec, or the first one (NULL); NULL: there are no more. */
struct export_spec *plan_next(const struct plan *plan, const struct export_spec *spec);

#endif /* VGPUD_PLAN_H */
