/* SPDX-License-Identifier: MIT */
/*
 * Guests by name: sections [guest NAME] of vgpud.conf and of the files of guests.d, and the limits
 * that follow from them.
 *
 * The value of a guest's limit is the first that there is of these: the one that vgpuctl has set,
 * that of a file of guests.d, that of the guest's section in vgpud.conf, and that of [limits].
 */
#ifndef VGPUD_GUESTS_H
#define VGPUD_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/limits.h"

struct text;

/* Size of a guest's name in bytes, with the NUL. */
#define GUEST_NAME_LEN	32

/**
 * struct guest_section - a section [guest NAME]
 * @node: entry of a list of sections
 * @name: name of [A-Za-z0-9._-], not only of digits
 * @cid: context ID of the guest; 0: the section does not say it
 * @port: vsock port of vgpud by which the guest connects; 0: the default port
 * @limits: limits that the section gives
 * @file: path of the file that has the section
 * @line: number of the line where the section begins
 */
struct guest_section {
	TAILQ_ENTRY(guest_section) node;
	char name[GUEST_NAME_LEN];
	uint32_t cid;
	uint32_t port;
	struct limits_given limits;
	char *file;
	unsigned int line;
};

TAILQ_HEAD(guest_sections, guest_section);

/*
 * Lists of sections: those of vgpud.conf, those of guests.d, and those of guests.d that were read
 * and have not taken effect.
 */
extern struct guest_sections guests_by_conf, guests_by_files, guests_planned;

/* Check whether a text can be the name of a guest. */
bool guest_name_ok(const char *name);
struct guest_section *guest_section_find(const struct guest_sections *list, const char *name);
void guest_sections_free(struct guest_sections *list);

/* Find a guest by its name. *@port is not 0 then. While files are read, their guests count. */
bool guest_by_name(const char *name, uint32_t *cid, uint32_t *port);
/* Find a guest by its name, of the sections in force (@planned: of those that were read). */
bool guest_by_name_in(bool planned, const char *name, uint32_t *cid, uint32_t *port);
/* Return the name of a guest; NULL: it has none. */
const char *guest_name(uint32_t cid, uint32_t port);
/* Return the limits of a guest, with a name or without one. */
struct limits guest_limits(uint32_t cid, uint32_t port);
/* Return the limits that the guest will have when what was read takes effect. */
struct limits guest_limits_planned(uint32_t cid, uint32_t port);

/*
 * Call @fn with the name and the limits of each guest that has a name, until @fn returns an error.
 * @planned: see guest_by_name_in(). Return: 0 or the error of @fn.
 */
int guests_each(bool planned, int (*fn)(const char *name, const struct limits *limits, void *data),
		void *data);
/*
 * Return the number of sessions that all guests with names may have together, and one guest without
 * a name.
 */
unsigned long long guests_sessions(void);

/* Origins of the value of a guest's limit. */
enum limit_origin { LIMIT_BY_DEFAULT, LIMIT_BY_FILE, LIMIT_BY_HAND };

enum limit_origin guest_limit_origin(uint32_t cid, uint32_t port, unsigned int limit);
/*
 * Set those limits of a guest that are given, until vgpud ends, and let those of @follow (a bit
 * mask) follow the files again. Return: 0 or -ENOMEM, and nothing is changed.
 */
int guest_limits_by_hand(uint32_t cid, uint32_t port, const struct limits_given *given,
			 uint32_t follow);

/*
 * Read settings.guests_dir to guests_planned. Each mistake becomes a line of @words, and a file
 * with mistakes is left out. Return: 0; -EBADMSG if there are mistakes; another negative errno if
 * the files could not be listed.
 */
int guests_plan(struct text *words);
/* Let the sections that were read take effect. */
void guests_take(void);
/* Forget sections that were read and have not taken effect. */
void guests_plan_end(void);

#endif /* VGPUD_GUESTS_H */
