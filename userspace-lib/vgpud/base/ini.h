/* SPDX-License-Identifier: MIT */
/* Files of settings: sections in brackets, with lines "name = value". */
#ifndef VGPUD_INI_H
#define VGPUD_INI_H

/**
 * struct ini_line - a line that is neither empty nor a comment
 * @number: number of the line, from 1
 * @section: name of the section that the line is in, or begins
 * @name: name of the setting; NULL: the line begins a section
 * @value: value of the setting; may be ""
 * @mistake: reason why the line is not understood; NULL: it is. With a mistake, @name and
 *	@value are NULL, and @section may be ""
 */
struct ini_line {
	unsigned int number;
	const char *section;
	const char *name;
	const char *value;
	const char *mistake;
};

/*
 * Call @fn for each line of the file, of any length, that is neither empty nor a comment. A
 * comment begins with # at the beginning of a line, or with ; there or after a blank. Return:
 * 0, or a negative errno if the file cannot be read.
 */
int ini_read(const char *path, void (*fn)(void *data, const struct ini_line *line), void *data);

#endif /* VGPUD_INI_H */
