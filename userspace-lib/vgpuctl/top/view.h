/* SPDX-License-Identifier: MIT */
/* Rates as lines of text, and as JSON. */
#ifndef VGPUCTL_VIEW_H
#define VGPUCTL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "vgpuctl/top/rate.h"

#define VIEW_WIDTH	128

/**
 * struct view - lines of text
 * @lines: array of the lines
 * @heads: array: true for a line that has the heads of columns
 * @nr: number of lines
 * @size: number of lines for which there is memory
 */
struct view {
	char (*lines)[VIEW_WIDTH];
	bool *heads;
	size_t nr;
	size_t size;
};

/* Make the lines of a step; those of the last step are overwritten. Return: 0 or -1: no memory. */
int view_make(struct view *view, const struct rates *rates, enum rate_value by,
	      bool programs_hidden);
void view_free(struct view *view);
/* Return the number to sort by that has this name on the command line; NR_RATE_VALUES: none. */
enum rate_value view_key(const char *name);
/* Return the number to sort by after @by. */
enum rate_value view_next_key(enum rate_value by);
/* Return the names of these numbers, separated by commas. */
const char *view_keys(void);
/* Print a step as a JSON object on one line. */
void view_print_json(const struct rates *rates);

#endif /* VGPUCTL_VIEW_H */
