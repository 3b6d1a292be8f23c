/* SPDX-License-Identifier: MIT */
/*
 * A card of NVIDIA's is several device files, some of which cards share; each is an export of
 * its usual name.
 */
#ifndef VGPUD_CARDS_H
#define VGPUD_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

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
 * As export_add(), with a @spec that has no name and no path: its guests get all that the card
 * needs, or nothing.
 */
int cards_export(struct export_spec *spec, int card, struct answer *answer);
/* As export_remove(): what the cards that a guest still has need stays. */
int cards_unexport(int card, uint32_t cid, uint32_t port, bool force, struct answer *answer);
/* Return: what it would return. */
int cards_check_unexport(int card, uint32_t cid, uint32_t port, bool force,
			 struct answer *answer);

/* Whether a section has cards that need an export of that name. */
bool cards_need(const struct export_spec *section, const char *name);

/*
 * Adds to @specs what the cards of all sections need; those share some of it. What it needs
 * is said by @sections together. 0 or -ENOMEM.
 */
int cards_plan(const struct export_specs *sections, struct export_specs *specs);

#endif /* VGPUD_CARDS_H */
