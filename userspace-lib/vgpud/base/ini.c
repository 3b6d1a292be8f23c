// SPDX-License-Identifier: MIT
/*
 * Reader of files of settings. Existing libraries are not used, because each hides something
 * from its caller: that a section begins twice, the line number of a value, or the bytes of a
 * line after the 200th. A list of ioctls that is cut off or joined with the next line would be
 * another policy than the one in the file.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ini.h"

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Cut off a comment. It begins at a ; at the beginning of the line or after a blank. */
static void cut_comment(char *text)
{
	char *at;

	for (at = strchr(text, ';'); at; at = strchr(at + 1, ';'))
		if (at == text || isspace((unsigned char)at[-1])) {
			*at = '\0';
			return;
		}
}

/*
 * Read the head of a section, [name]. @section gets a copy of the name, and its old value is
 * freed. Return: 0, -EINVAL (a mistake), -ENOMEM.
 */
static int read_section(char *text, char **section)
{
	char *end = strchr(text, ']');

	free(*section);
	*section = NULL;
	if (!end || end[1])
		return -EINVAL;
	*end = '\0';
	*section = strdup(trim(text + 1));
	return *section ? 0 : -ENOMEM;
}

/*
 * Parse the text of a line, which has no blanks around it, into @line. @section keeps the name
 * of the current section between lines. Return: 0 or -ENOMEM.
 */
static int read_text(struct ini_line *line, char *text, char **section)
{
	char *value;
	int ret;

	if (*text == '[') {
		ret = read_section(text, section);
		line->section = *section ? *section : "";
		if (ret == -EINVAL)
			line->mistake = "a section begins with [name] on a line of its own";
		return ret == -ENOMEM ? ret : 0;
	}
	line->section = *section ? *section : "";
	value = strpbrk(text, "=:");
	if (!value || value == text) {
		line->mistake = "this line is neither [section] nor name = value";
		return 0;
	}
	if (!*section) {
		line->mistake = "this setting is in no section: put a line [section] above it";
		return 0;
	}
	*value = '\0';
	line->name = trim(text);
	line->value = trim(value + 1);
	return 0;
}

int ini_read(const char *path, void (*fn)(void *data, const struct ini_line *line), void *data)
{
	struct ini_line line = { 0 };
	char *memory = NULL, *section = NULL, *text;
	size_t size = 0;
	ssize_t len;
	int ret = 0;
	FILE *file;

	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!ret && (len = getline(&memory, &size, file)) >= 0) {
		line = (struct ini_line){ .number = line.number + 1 };
		text = memory;
		/* Skip a byte order mark, which some editors write at the beginning of a file. */
		if (line.number == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
			text += 3;
		if (strlen(memory) != (size_t)len) {
			line.section = section ? section : "";
			line.mistake = "this line has a byte that is 0";
			fn(data, &line);
			continue;
		}
		cut_comment(text);
		text = trim(text);
		if (!*text || *text == '#')
			continue;
		ret = read_text(&line, text, &section);
		if (!ret)
			fn(data, &line);
	}
	/* If the end of the file was not reached, the rest of the file is not known. */
	if (!ret && !feof(file))
		ret = -errno;
	fclose(file);
	free(memory);
	free(section);
	return ret;
}
