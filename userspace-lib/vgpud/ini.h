/* SPDX-License-Identifier: MIT */
/* Files of settings: sections in brackets, and lines "name = value" in them. */
#ifndef VGPUD_INI_H
#define VGPUD_INI_H

/**
 * struct ini_line - a line that says something
 * @number: counts from 1
 * @section: the one that it is in, or begins
 * @name: what is set; NULL: a section begins
 * @value: to what; may be ""
 * @mistake: why the line says nothing; NULL: it does. There are no @name and @value then,
 *	and perhaps no @section ("")
 */
struct ini_line {
	unsigned int number;
	const char *section;
	const char *name;
	const char *value;
	const char *mistake;
};

/*
 * Calls @fn for each line of the file that is neither empty nor a comment, however long it
 * is. A comment begins with # at the beginning of a line, or with ; there or behind a blank.
 * Return: 0, or a negative errno if the file cannot be read.
 */
int ini_read(const char *path, void (*fn)(void *data, const struct ini_line *line), void *data);

#endif /* VGPUD_INI_H */
