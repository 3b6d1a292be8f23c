/* SPDX-License-Identifier: MIT */
/*
 * Cards of NVIDIA's driver. A card needs several device files, some of which all cards share.
 * Each of these files is an export of its usual name.
 */
#ifndef VGPUD_CARDS_H
#define VGPUD_CARDS_H

#include "base/answer.h"
#include "export/hand.h"
#include "export/spec.h"

#define CARDS_ALL	(-1)

static inline void cards_add(struct cards *cards, unsigned int card)
{
	cards->any = true;
	cards->bits[card / 8] |= 1 << card % 8;
}

static inline bool cards_have(const struct cards *cards, unsigned int card)
{
	return cards->bits[card / 8] & 1 << card % 8;
}

/*
 * Export a card, or all (CARDS_ALL), to the guests of @spec, which has no name and no path. The
 * guests get all files that the card needs, or none. Return: as export_add().
 */
int cards_export(struct export_spec *spec, int card, struct answer *answer);
/*
 * Undo cards_export(); files that a guest's remaining cards need stay. Return: as
 * export_remove().
 */
int cards_unexport(int card, uint32_t cid, uint32_t port, enum removal how,
		   struct answer *answer);
/* Check whether cards_unexport() would succeed. Return: what cards_unexport() would return. */
int cards_check_unexport(int card, uint32_t cid, uint32_t port, enum removal how,
			 struct answer *answer);

/* Check whether a section has cards that need an export of that name. */
bool cards_need(const struct export_spec *section, const char *name);

/*
 * Add the exports that the cards of all sections need to @specs. Each export appears once, with
 * the guests of all sections that need it. Return: 0 or -ENOMEM.
 */
int cards_plan(const struct export_specs *sections, struct export_specs *specs);

#endif /* VGPUD_CARDS_H */
