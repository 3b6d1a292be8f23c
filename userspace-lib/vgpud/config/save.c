// SPDX-License-Identifier: MIT
/*
 * Writing of limits to the files of guests.d. The file may have changed since vgpud has read it, so
 * it is read again, and all lines but those of the limits are copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/ini.h"
#include "config/config.h"
#include "config/guestfile.h"
#include "config/save.h"

/**
 * struct saving - a section whose limits are replaced
 * @name: name of the guest
 * @drop: bit mask of the limits whose lines are left out
 * @lines: array of bytes by the numbers of lines; 1: the line is left out
 * @nr_lines: number of entries of @lines
 * @after: number of the line after which the new limits come; 0: the file has no such section
 * @mistake: number of the first line that is not understood; 0: all are
 * @error: 0, or -ENOMEM
 */
struct saving {
	const char *name;
	uint32_t drop;
	uint8_t *lines;
	size_t nr_lines;
	unsigned int after;
	unsigned int mistake;
	int error;
};

static void leave_out(struct saving *saving, unsigned int number)
{
	uint8_t *lines = realloc(saving->lines, number + 1);

	if (!lines) {
		saving->error = -ENOMEM;
		return;
	}
	memset(lines + saving->nr_lines, 0, number - saving->nr_lines);
	lines[number] = 1;
	saving->lines = lines;
	saving->nr_lines = number + 1;
}

static void look_at(void *data, const struct ini_line *line)
{
	struct saving *saving = data;
	int limit;

	if (line->mistake) {
		saving->mistake = saving->mistake ? saving->mistake : line->number;
		return;
	}
	if (!guestfile_has(line->section) ||
	    strcmp(guestfile_name(line->section), saving->name))
		return;
	saving->after = line->number;
	limit = line->name ? limits_find(line->name) : -1;
	if (limit >= 0 && saving->drop & 1U << limit)
		leave_out(saving, line->number);
}

static bool put_limits(FILE *to, const struct limits_given *given)
{
	unsigned int i;

	for (i = 0; limits_name(i); i++)
		if (given->given & 1U << i &&
		    fprintf(to, "%s = %s\n", limits_name(i), limits_text(&given->values, i)) < 0)
			return false;
	return true;
}

/* Copy the lines of the file, with the new limits. Return: false on failure. */
static bool copy(const struct saving *saving, const struct limits_given *given, FILE *from,
		 FILE *to)
{
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	bool ok = true;
	ssize_t len;

	while (ok && (len = getline(&line, &size, from)) >= 0) {
		number++;
		if (number >= saving->nr_lines || !saving->lines[number])
			ok = fwrite(line, 1, len, to) == (size_t)len &&
			     (line[len - 1] == '\n' || fputc('\n', to) != EOF);
		if (ok && number == saving->after)
			ok = put_limits(to, given);
	}
	free(line);
	return ok && feof(from);
}

/* Write a section that no file of guests.d has. */
static bool put_section(const char *name, const struct limits_given *given, FILE *to)
{
	uint32_t cid, port;

	return guest_by_name(name, &cid, &port) &&
	       fprintf(to, "[guest %s]\ncid = %u:%u\n", name, cid, port) > 0 &&
	       put_limits(to, given);
}

/* Make the rename of a file in guests.d last. */
static int sync_dir(void)
{
	int fd = open(settings.guests_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = fsync(fd) ? -errno : 0;
	close(fd);
	return ret;
}

/* Give the new file the owner and the mode of the old one, if there is one. */
static bool keep_owner(FILE *from, int fd)
{
	struct stat st;

	if (!from)
		return !fchmod(fd, 0644);
	return !fstat(fileno(from), &st) && !fchown(fd, st.st_uid, st.st_gid) &&
	       !fchmod(fd, st.st_mode & 07777);
}

/* Write the new file beside the old one, and replace the old one. Return: 0 or a negative errno. */
static int replace(const struct saving *saving, const struct limits_given *given,
		   const char *path)
{
	FILE *from = saving->after ? fopen(path, "re") : NULL, *to = NULL;
	char *temp = NULL;
	int fd = -1, ret;
	bool ok;

	/* A name with a dot in front is no file of guests.d (confs.h). */
	if (asprintf(&temp, "%s/.vgpud-XXXXXX", settings.guests_dir) < 0)
		temp = NULL;
	if (temp)
		fd = mkostemp(temp, O_CLOEXEC);
	ret = !temp ? -ENOMEM : fd < 0 ? -errno : 0;
	if (!ret) {
		to = fdopen(fd, "w");
		ok = to && (from || !saving->after) && keep_owner(from, fd) &&
		     (from ? copy(saving, given, from, to) :
			     put_section(saving->name, given, to)) &&
		     !fflush(to) && !fsync(fd);
		ret = ok ? 0 : errno ? -errno : -EIO;
		if (to)
			fclose(to);
		else
			close(fd);
		if (!ret && rename(temp, path))
			ret = -errno;
		if (ret)
			unlink(temp);
		else
			ret = sync_dir();
	}
	if (from)
		fclose(from);
	free(temp);
	return ret;
}

/* Let saved limits take effect, as a reload would. Return: 0 or -ENOMEM. */
static int take(const char *name, const char *path, const struct limits_given *given,
		uint32_t follow)
{
	struct guest_section *section = guest_section_find(&guests_by_files, name);

	if (!section) {
		section = calloc(1, sizeof(*section));
		if (section)
			section->file = strdup(path);
		if (!section || !section->file) {
			free(section);
			return -ENOMEM;
		}
		snprintf(section->name, sizeof(section->name), "%s", name);
		section->line = 1;
		TAILQ_INSERT_TAIL(&guests_by_files, section, node);
	}
	limits_change(&section->limits.values, given);
	section->limits.given = (section->limits.given | given->given) & ~follow;
	return 0;
}

int guest_save(const char *name, const struct limits_given *given, uint32_t follow,
	       struct answer *words)
{
	const struct guest_section *section = guest_section_find(&guests_by_files, name);
	struct saving saving = { .name = name, .drop = given->given | follow };
	char *path = NULL;
	int ret;

	if (section)
		path = strdup(section->file);
	else if (asprintf(&path, "%s/%s.conf", settings.guests_dir, name) < 0)
		path = NULL;
	if (!path)
		return answer_say(words, -ENOMEM, "out of memory");
	if (mkdir(settings.guests_dir, 0755) && errno != EEXIST) {
		ret = answer_say(words, -errno, "%s: %s", settings.guests_dir, strerror(errno));
		goto out;
	}
	ret = ini_read(path, look_at, &saving);
	if (ret == -ENOENT && !section)
		ret = 0;
	if (!ret && saving.error)
		ret = saving.error;
	if (!ret && saving.mistake) {
		ret = answer_say(words, -EBADMSG, "%s:%u is not understood: correct it first",
				 path, saving.mistake);
		goto out;
	}
	/* A section that moved, or a file of that name with other sections, is not touched. */
	if (!ret && !saving.after && (section || !access(path, F_OK))) {
		ret = answer_say(words, -EEXIST, "%s has no section [guest %s] any more: correct it, or reload",
				 path, name);
		goto out;
	}
	errno = 0;
	if (!ret)
		ret = replace(&saving, given, path);
	if (!ret)
		ret = take(name, path, given, follow);
	if (ret)
		answer_say(words, ret, "%s: %s", path, strerror(-ret));
out:
	free(saving.lines);
	free(path);
	return ret;
}
