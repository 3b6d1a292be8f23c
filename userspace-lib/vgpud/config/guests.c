// SPDX-License-Identifier: MIT
/* Guests by name, and the limits of guests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "base/confs.h"
#include "config/config.h"
#include "config/guestfile.h"
#include "config/guests.h"

struct guest_sections guests_by_conf = TAILQ_HEAD_INITIALIZER(guests_by_conf);
struct guest_sections guests_by_files = TAILQ_HEAD_INITIALIZER(guests_by_files);
struct guest_sections guests_planned = TAILQ_HEAD_INITIALIZER(guests_planned);

/**
 * struct by_hand - limits of a guest that vgpuctl has set
 * @node: entry of all_by_hand
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @limits: these limits
 */
struct by_hand {
	LIST_ENTRY(by_hand) node;
	uint32_t cid;
	uint32_t port;
	struct limits_given limits;
};

static LIST_HEAD(, by_hand) all_by_hand = LIST_HEAD_INITIALIZER(all_by_hand);

/* True from guests_plan() to guests_plan_end(), unless guests_take() comes first. */
static bool planning;

bool guest_name_ok(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789._-");

	/* A name must not look like a context id, an option or a hidden file. */
	return len && len < GUEST_NAME_LEN && !name[len] && !strchr(".-", name[0]) &&
	       name[strspn(name, "0123456789")] && strncmp(name, "0x", 2);
}

struct guest_section *guest_section_find(const struct guest_sections *list, const char *name)
{
	struct guest_section *section;

	TAILQ_FOREACH(section, list, node)
		if (!strcmp(section->name, name))
			return section;
	return NULL;
}

void guest_sections_free(struct guest_sections *list)
{
	struct guest_section *section;

	while ((section = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, section, node);
		free(section->file);
		free(section);
	}
}

static const struct guest_sections *files_of(bool planned)
{
	return planned ? &guests_planned : &guests_by_files;
}

bool guest_by_name_in(bool planned, const char *name, uint32_t *cid, uint32_t *port)
{
	const struct guest_section *section = guest_section_find(files_of(planned), name);

	/* A section of guests.d need not repeat what vgpud.conf says. */
	if (!section || !section->cid)
		section = guest_section_find(&guests_by_conf, name);
	if (!section || !section->cid)
		return false;
	*cid = section->cid;
	*port = section->port ? section->port : settings.port;
	return true;
}

bool guest_by_name(const char *name, uint32_t *cid, uint32_t *port)
{
	return guest_by_name_in(planning, name, cid, port);
}

/* Return the section of a list that itself says that it is about this guest, or NULL. */
static const struct guest_section *section_with(const struct guest_sections *list, uint32_t cid,
						uint32_t port)
{
	const struct guest_section *section;

	TAILQ_FOREACH(section, list, node)
		if (section->cid && section->cid == cid &&
		    (section->port ? section->port : settings.port) == port)
			return section;
	return NULL;
}

/*
 * Set the sections of vgpud.conf and of guests.d that are about this guest, or NULL. No two names
 * are about one guest, and a section of guests.d has priority (guest_by_name_in()), so each list is
 * gone through once or twice: vgpud does this often, and there may be many guests.
 */
static void sections_of(bool planned, uint32_t cid, uint32_t port,
			const struct guest_section **conf, const struct guest_section **file)
{
	*file = section_with(files_of(planned), cid, port);
	if (*file) {
		*conf = guest_section_find(&guests_by_conf, (*file)->name);
		return;
	}
	*conf = section_with(&guests_by_conf, cid, port);
	if (!*conf)
		return;
	*file = guest_section_find(files_of(planned), (*conf)->name);
	/* The file says that this name is another guest's. */
	if (*file && (*file)->cid) {
		*file = NULL;
		*conf = NULL;
	}
}

const char *guest_name(uint32_t cid, uint32_t port)
{
	const struct guest_section *conf, *file;

	sections_of(false, cid, port, &conf, &file);
	return file ? file->name : conf ? conf->name : NULL;
}

static struct by_hand *hand_of(uint32_t cid, uint32_t port)
{
	struct by_hand *hand;

	LIST_FOREACH(hand, &all_by_hand, node)
		if (hand->cid == cid && hand->port == port)
			return hand;
	return NULL;
}

/* Return the limits of a guest with these sections. Each argument may be NULL. */
static struct limits limits_by(const struct guest_section *conf, const struct guest_section *file,
			       const struct by_hand *hand)
{
	struct limits limits = settings.limits;

	if (conf)
		limits_change(&limits, &conf->limits);
	if (file)
		limits_change(&limits, &file->limits);
	if (hand)
		limits_change(&limits, &hand->limits);
	return limits;
}

static struct limits limits_in(bool planned, uint32_t cid, uint32_t port)
{
	const struct guest_section *conf, *file;

	sections_of(planned, cid, port, &conf, &file);
	return limits_by(conf, file, hand_of(cid, port));
}

enum limit_origin guest_limit_origin(uint32_t cid, uint32_t port, unsigned int limit)
{
	const struct by_hand *hand = hand_of(cid, port);
	const struct guest_section *conf, *file;
	const uint32_t bit = 1U << limit;

	sections_of(false, cid, port, &conf, &file);
	if (hand && hand->limits.given & bit)
		return LIMIT_BY_HAND;
	return (conf && conf->limits.given & bit) || (file && file->limits.given & bit) ?
	       LIMIT_BY_FILE : LIMIT_BY_DEFAULT;
}

int guest_limits_by_hand(uint32_t cid, uint32_t port, const struct limits_given *given,
			 uint32_t follow)
{
	struct by_hand *hand = hand_of(cid, port);

	if (!hand && !given->given)
		return 0;
	if (!hand) {
		hand = calloc(1, sizeof(*hand));
		if (!hand)
			return -ENOMEM;
		hand->cid = cid;
		hand->port = port;
		LIST_INSERT_HEAD(&all_by_hand, hand, node);
	}
	limits_change(&hand->limits.values, given);
	hand->limits.given = (hand->limits.given | given->given) & ~follow;
	if (hand->limits.given)
		return 0;
	LIST_REMOVE(hand, node);
	free(hand);
	return 0;
}

struct limits guest_limits(uint32_t cid, uint32_t port)
{
	return limits_in(false, cid, port);
}

struct limits guest_limits_planned(uint32_t cid, uint32_t port)
{
	return limits_in(true, cid, port);
}

int guests_each(bool planned, int (*fn)(const char *name, const struct limits *limits, void *data),
		void *data)
{
	const struct guest_section *section, *conf;
	uint32_t cid = 0, port = 0;
	struct limits limits;
	int ret = 0;

	TAILQ_FOREACH(section, &guests_by_conf, node) {
		guest_by_name_in(planned, section->name, &cid, &port);
		limits = limits_by(section, guest_section_find(files_of(planned), section->name),
				   hand_of(cid, port));
		ret = ret ? ret : fn(section->name, &limits, data);
	}
	TAILQ_FOREACH(section, files_of(planned), node) {
		conf = guest_section_find(&guests_by_conf, section->name);
		if (conf || !guest_by_name_in(planned, section->name, &cid, &port))
			continue;
		limits = limits_by(NULL, section, hand_of(cid, port));
		ret = ret ? ret : fn(section->name, &limits, data);
	}
	return ret;
}

static int add_sessions(const char *name, const struct limits *limits, void *data)
{
	unsigned long long *sum = data;

	(void)name;
	*sum += limits->host.sessions;
	return 0;
}

unsigned long long guests_sessions(void)
{
	unsigned long long sum = settings.limits.host.sessions;

	guests_each(false, add_sessions, &sum);
	return sum;
}

/* --- files of guests.d ------------------------------------------------------- */

/**
 * struct plan_words - mistakes in files that are read
 * @words: text that gets a line for each mistake, if there is memory for the line
 * @mistakes: number of mistakes
 */
struct plan_words {
	struct text *words;
	unsigned int mistakes;
};

static int plan_file(void *data, const char *path)
{
	struct guest_sections sections = TAILQ_HEAD_INITIALIZER(sections);
	struct plan_words *found = data;
	unsigned int mistakes;

	mistakes = guestfile_read(path, &sections, found->words);
	if (!mistakes)
		TAILQ_CONCAT(&guests_planned, &sections, node);
	found->mistakes += mistakes;
	guest_sections_free(&sections);
	/* The other files are read nevertheless, to report all mistakes. */
	return 0;
}

int guests_plan(struct text *words)
{
	struct plan_words found = { .words = words };
	int ret;

	guests_plan_end();
	planning = true;
	ret = confs_each(settings.guests_dir, plan_file, &found);
	/* The directory need not exist, unless the settings name it or its files are in use. */
	if (ret == -ENOENT && !settings.guests_dir_named && TAILQ_EMPTY(&guests_by_files))
		return 0;
	if (ret) {
		text_add(words, "%s: %s", settings.guests_dir, strerror(-ret));
		return ret;
	}
	found.mistakes += guestfile_check(&guests_planned, words);
	return found.mistakes ? -EBADMSG : 0;
}

void guests_take(void)
{
	guest_sections_free(&guests_by_files);
	TAILQ_CONCAT(&guests_by_files, &guests_planned, node);
	planning = false;
}

void guests_plan_end(void)
{
	guest_sections_free(&guests_planned);
	planning = false;
}
