// SPDX-License-Identifier: MIT
/* Readers of sections [guest NAME], in vgpud.conf and in the files of guests.d. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/ini.h"
#include "config/config.h"
#include "config/guestfile.h"
#include "shared/number.h"

#define WORD	"guest"

bool guestfile_has(const char *section)
{
	size_t len = sizeof(WORD) - 1;

	return !strncmp(section, WORD, len) &&
	       (!section[len] || isspace((unsigned char)section[len]));
}

const char *guestfile_name(const char *section)
{
	section += sizeof(WORD) - 1;
	while (isspace((unsigned char)*section))
		section++;
	return section;
}

static int section_begin(struct guest_sections *list, const char *path,
			 const struct ini_line *line, struct answer *words)
{
	const char *name = guestfile_name(line->section);
	struct guest_section *section = guest_section_find(list, name);

	if (!guest_name_ok(name))
		return answer_say(words, -EINVAL, "a guest's name has 1 to 31 characters of A-Z a-z 0-9 . _ -, is no number, and does not begin with . or -");
	if (section)
		return answer_say(words, -EEXIST, "the guest has a section at %s:%u already: give another name, or put both together",
				  section->file, section->line);
	section = calloc(1, sizeof(*section));
	if (section)
		section->file = strdup(path);
	if (!section || !section->file) {
		free(section);
		return answer_say(words, -ENOMEM, "out of memory");
	}
	strcpy(section->name, name);
	section->line = line->number;
	TAILQ_INSERT_TAIL(list, section, node);
	return 0;
}

static int set_cid(struct guest_section *section, const char *value, struct answer *words)
{
	if (section->cid)
		return answer_say(words, -EINVAL, "this setting is given twice: remove one of the lines");
	if (number_parse_guest(value, &section->cid, &section->port))
		return 0;
	section->cid = 0;
	return answer_say(words, -EINVAL, "'%s' is not a guest: give a context id, and a port if needed, such as 3 or 3:22590",
			  value);
}

static int set(struct guest_section *section, const struct ini_line *line, struct answer *words)
{
	int limit = limits_find(line->name);

	if (!strcmp(line->name, "cid"))
		return set_cid(section, line->value, words);
	if (limit < 0)
		return limits_say_unknown(line->name, "there is no setting of that name", words);
	if (section->limits.given & 1U << limit)
		return answer_say(words, -EINVAL, "this setting is given twice: remove one of the lines");
	section->limits.given |= 1U << limit;
	return limits_parse(&section->limits.values, limit, line->value, words);
}

/* Handle a line that begins a section, or is a setting of the newest section of @list. */
static int take_line(struct guest_sections *list, const char *path, const struct ini_line *line,
		     struct answer *words)
{
	struct guest_section *section;

	if (!line->name)
		return section_begin(list, path, line, words);
	section = guest_section_find(list, guestfile_name(line->section));
	/* The head of the section was a mistake, which was reported. */
	return section ? set(section, line, words) : 0;
}

int guestfile_conf_line(const char *path, const struct ini_line *line, struct answer *words)
{
	return take_line(&guests_by_conf, path, line, words);
}

/**
 * struct reading - a file of guests.d that is being read
 * @path: path of the file
 * @sections: list that gets the sections
 * @words: text that gets the mistakes
 * @mistakes: number of mistakes
 */
struct reading {
	const char *path;
	struct guest_sections *sections;
	struct text *words;
	unsigned int mistakes;
};

static void read_line(void *data, const struct ini_line *line)
{
	struct reading *reading = data;
	struct answer what;
	int ret;

	if (line->mistake)
		ret = answer_say(&what, -EINVAL, "not understood: %s", line->mistake);
	else if (guestfile_has(line->section))
		ret = take_line(reading->sections, reading->path, line, &what);
	else
		ret = answer_say(&what, -EINVAL, "only sections [guest NAME] may be here");
	if (!ret)
		return;
	reading->mistakes++;
	if (line->name)
		text_add(reading->words, "%s:%u: [%s]: %s: %s", reading->path, line->number,
			 line->section, line->name, what.text);
	else
		text_add(reading->words, "%s:%u: [%s]: %s", reading->path, line->number,
			 line->section, what.text);
}

unsigned int guestfile_read(const char *path, struct guest_sections *sections,
			    struct text *words)
{
	struct reading reading = { .path = path, .sections = sections, .words = words };
	int ret = ini_read(path, read_line, &reading);

	if (ret) {
		text_add(words, "%s: %s: give it to root, with mode 0644", path, strerror(-ret));
		reading.mistakes++;
	}
	return reading.mistakes;
}

/* --- checks of all sections --------------------------------------------------- */

static uint32_t port_of(const struct guest_section *section)
{
	return section->port ? section->port : settings.port;
}

/* Find another section of the list, before @section, with the same name or the same guest. */
static const struct guest_section *rival(const struct guest_sections *list,
					 const struct guest_section *section)
{
	const struct guest_section *other;

	TAILQ_FOREACH(other, list, node) {
		if (other == section)
			break;
		if (!strcmp(other->name, section->name) ||
		    (section->cid && other->cid == section->cid &&
		     port_of(other) == port_of(section)))
			return other;
	}
	return NULL;
}

/* Check a section. Return: 0, or a negative errno with words in @what. */
static int check(const struct guest_sections *list, const struct guest_section *section,
		 struct answer *what)
{
	const struct guest_section *conf = NULL, *other;

	if (list != &guests_by_conf)
		conf = guest_section_find(&guests_by_conf, section->name);
	if (!section->cid && !conf)
		return answer_say(what, -EINVAL, "needs cid=");
	if (conf && section->cid &&
	    (conf->cid != section->cid || port_of(conf) != port_of(section)))
		return answer_say(what, -EINVAL, "%s:%u has a guest of this name with another cid=",
				  conf->file, conf->line);
	other = rival(list, section);
	if (!other && !conf && list != &guests_by_conf)
		other = rival(&guests_by_conf, section);
	if (other)
		return answer_say(what, -EEXIST, "the name or the guest is taken by [guest %s] at %s:%u",
				  other->name, other->file, other->line);
	if (settings.cgroups == CGROUPS_NO &&
	    section->limits.given & 1U << limits_find("memory") &&
	    section->limits.values.group.memory)
		return answer_say(what, -EINVAL, "the limit 'memory' needs control groups: remove 'cgroups = no' from [shadow] of the settings");
	if (section->limits.given & 1U << limits_find("objects"))
		return room_check(section->limits.values.host.objects, what);
	return 0;
}

unsigned int guestfile_check(struct guest_sections *sections, struct text *words)
{
	struct guest_section *section = TAILQ_FIRST(sections), *next;
	unsigned int mistakes = 0;
	struct answer what;

	for (; section; section = next) {
		next = TAILQ_NEXT(section, node);
		if (!check(sections, section, &what))
			continue;
		text_add(words, "%s:%u: [guest %s]: %s", section->file, section->line,
			 section->name, what.text);
		mistakes++;
		TAILQ_REMOVE(sections, section, node);
		free(section->file);
		free(section);
	}
	return mistakes;
}
