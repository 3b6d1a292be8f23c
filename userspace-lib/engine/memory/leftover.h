/* SPDX-License-Identifier: MIT */
/* Mappings that may still be visible in a window that is gone. */
#ifndef ENGINE_LEFTOVER_H
#define ENGINE_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/memory/lend.h"

/*
 * Remember what a binding shows: it may be visible until the keeper has another window, or for
 * ever. @tag: tag of the binding. @lent: memory that it shows.
 */
void leftover_add(uint64_t tag, const struct lent *lent);
/*
 * Forget the leftovers. @hidden: none of them is visible any more, and their memory is given
 * back. Otherwise the engine owns that memory until the engine ends.
 */
void leftovers_end(bool hidden);
/*
 * Return: true if the engine owns memory of a leftover with a tag above @tag, or owns it until the
 * engine ends.
 */
bool leftovers_since(uint64_t tag);

#endif /* ENGINE_LEFTOVER_H */
