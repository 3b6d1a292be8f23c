// SPDX-License-Identifier: MIT
/* Tables of words, as libsmartcols prints them. */
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "vgpuctl.h"

struct libscols_table *table_new(const char *head, ...)
{
	struct libscols_table *table = scols_new_table();
	bool right;
	va_list args;

	va_start(args, head);
	for (; table && head; head = va_arg(args, const char *)) {
		right = head[0] == '>';
		scols_table_new_column(table, head + right, 0, right ? SCOLS_FL_RIGHT : 0);
	}
	va_end(args);
	return table;
}

void table_add(struct libscols_table *table, ...)
{
	struct libscols_line *line = table ? scols_table_new_line(table, NULL) : NULL;
	size_t i, nr = line ? scols_table_get_ncols(table) : 0;
	va_list args;

	va_start(args, table);
	for (i = 0; i < nr; i++)
		scols_line_set_data(line, i, va_arg(args, const char *));
	va_end(args);
}

void table_print(struct libscols_table *table)
{
	if (!table || scols_print_table(table))
		fputs("vgpuctl: out of memory\n", stderr);
	scols_unref_table(table);
}
