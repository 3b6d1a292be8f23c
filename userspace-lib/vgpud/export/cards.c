// SPDX-License-Identifier: MIT
/* Cards of NVIDIA's driver: the device files that a card needs are exported together. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "export/cards.h"
#include "export/export.h"
#include "export/hand.h"

/* Files that all cards share. A file that is not needed is left out if it does not exist. */
static const struct {
	const char *name;
	bool needed;
} nvidia_shared[] = {
	{ "nvidiactl", true },
	{ "nvidia-uvm", true },
	{ "nvidia-uvm-tools", true },
	{ "nvidia-modeset", false },
};

#define NVIDIA_SHARED	(sizeof(nvidia_shared) / sizeof(nvidia_shared[0]))

struct nvidia_set {
	unsigned int nr;
	char names[NVIDIA_SHARED + NVIDIA_CARDS][32];
};

static void set_put(struct nvidia_set *set, const char *name, bool needed)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/%s", name);
	if (needed || !access(path, F_OK))
		snprintf(set->names[set->nr++], sizeof(set->names[0]), "%s", name);
}

/* Find the device files that the cards need. Files of cards come first. */
static void set_find(struct nvidia_set *set, int card)
{
	unsigned int i;
	char name[32];

	set->nr = 0;
	for (i = 0; i < NVIDIA_CARDS; i++) {
		if (card != CARDS_ALL && (int)i != card)
			continue;
		snprintf(name, sizeof(name), "nvidia%u", i);
		set_put(set, name, card != CARDS_ALL);
	}
	if (!set->nr)
		return;
	for (i = 0; i < NVIDIA_SHARED; i++)
		set_put(set, nvidia_shared[i].name, nvidia_shared[i].needed);
}

/* Check whether @name is one of these cards. */
static bool set_is_card(const char *name, int card)
{
	char wanted[32];

	if (card == CARDS_ALL)
		return !strncmp(name, "nvidia", strlen("nvidia")) &&
			isdigit((unsigned char)name[strlen("nvidia")]);
	snprintf(wanted, sizeof(wanted), "nvidia%d", card);
	return !strcmp(name, wanted);
}

static int set_add_one(const struct export_spec *terms, const char *name, struct answer *answer)
{
	/*
	 * The copy shares the array of guests with @terms, which export_add() leaves alone. Cards
	 * have no list of ioctls, which an export would take over.
	 */
	struct export_spec spec = *terms;

	snprintf(spec.name, sizeof(spec.name), "%s", name);
	snprintf(spec.path, sizeof(spec.path), "/dev/%s", name);
	return export_add(&spec, answer);
}

/* State of a guest's grant before a request, so that a failure can restore it. */
enum had { HAD_NOTHING, HAD_BY_FILE, HAD_BY_HAND };

/* Record the grants that the guests of @spec have, for set_undo_one(). */
static void set_note(const struct export_spec *spec, const char *name, enum had *had)
{
	struct export *export = export_find(name);
	struct grant *grant;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		grant = export ? export_grant(export, spec->guests[i].cid, spec->guests[i].port) :
			NULL;
		had[i] = !grant ? HAD_NOTHING : grant->by_hand ? HAD_BY_HAND : HAD_BY_FILE;
	}
}

static void set_undo_one(const struct export_spec *spec, const char *name, const enum had *had)
{
	struct export *export;
	struct grant *grant;
	struct answer unused;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		export = export_find(name);
		grant = export ? export_grant(export, spec->guests[i].cid, spec->guests[i].port) :
			NULL;
		if (!grant)
			continue;
		if (had[i] == HAD_NOTHING)
			export_remove(name, grant->cid, grant->port, REMOVE_FORCE, &unused);
		else
			grant->by_hand = had[i] == HAD_BY_HAND;
	}
}

int cards_export(struct export_spec *spec, int card, struct answer *answer)
{
	static struct nvidia_set set;
	unsigned int i;
	enum had *had;
	int ret = 0;

	set_find(&set, card);
	if (!set.nr)
		return answer_say(answer, -ENOENT, "NVIDIA's driver has no card here: there is no /dev/nvidia0 and no other /dev/nvidiaN: load the driver (modprobe nvidia, nvidia-modprobe -c 0 -u)");
	had = calloc(set.nr * spec->nr_guests, sizeof(*had));
	if (!had)
		return answer_say(answer, -ENOMEM, "out of memory");
	for (i = 0; i < set.nr; i++) {
		set_note(spec, set.names[i], had + i * spec->nr_guests);
		ret = set_add_one(spec, set.names[i], answer);
		if (ret)
			break;
	}
	if (ret == -ENOENT && !set_is_card(set.names[i], CARDS_ALL))
		answer_say(answer, ret, "there is no /dev/%s, which programs need as well: run 'nvidia-modprobe -c 0 -u' to create the device file",
			   set.names[i]);
	while (ret && i--)
		set_undo_one(spec, set.names[i], had + i * spec->nr_guests);
	free(had);
	return ret;
}

/* Take the shared files back from a guest that has no card left. */
static void set_remove_shared(uint32_t cid, uint32_t port, enum removal how)
{
	struct export *export;
	struct answer unused;
	unsigned int i;

	TAILQ_FOREACH(export, &exports, node)
		if (set_is_card(export->spec.name, CARDS_ALL) && export_grant(export, cid, port))
			return;
	for (i = 0; i < NVIDIA_SHARED; i++)
		export_remove(nvidia_shared[i].name, cid, port, how, &unused);
}

/* Take the cards back from one guest. */
static void set_remove(int card, uint32_t cid, uint32_t port, enum removal how)
{
	struct export *export, *next;
	struct answer unused;

	for (export = TAILQ_FIRST(&exports); export; export = next) {
		next = TAILQ_NEXT(export, node);
		if (set_is_card(export->spec.name, card) && export_grant(export, cid, port))
			export_remove(export->spec.name, cid, port, how, &unused);
	}
	set_remove_shared(cid, port, how);
}

/*
 * Find a guest that has one of the cards. If *@cid is not 0, check only that guest. Return: false
 * if there is none.
 */
static bool set_next_guest(int card, uint32_t *cid, uint32_t *port)
{
	struct export *export;
	struct grant *grant;

	TAILQ_FOREACH(export, &exports, node) {
		if (!set_is_card(export->spec.name, card))
			continue;
		grant = *cid ? export_grant(export, *cid, *port) : TAILQ_FIRST(&export->grants);
		if (!grant)
			continue;
		*cid = grant->cid;
		*port = grant->port;
		return true;
	}
	return false;
}

static int set_check_unused(int card, uint32_t cid, uint32_t port, struct answer *answer)
{
	struct export *export;
	struct grant *grant;
	int ret = 0;

	TAILQ_FOREACH(export, &exports, node) {
		if (ret || !set_is_card(export->spec.name, card))
			continue;
		grant = cid ? export_grant(export, cid, port) : NULL;
		if (!cid || grant)
			ret = export_check_unused(export, grant, answer);
	}
	return ret;
}

int cards_check_unexport(int card, uint32_t cid, uint32_t port, enum removal how,
			 struct answer *answer)
{
	uint32_t whose = cid, by = port ? port : settings.port;

	if (!set_next_guest(card, &whose, &by))
		return answer_say(answer, -ENOENT, "no such card of NVIDIA's is exported%s: 'vgpuctl list' shows all exports",
				  cid ? " to that guest" : "");
	if (how != REMOVE_UNUSED)
		return 0;
	return set_check_unused(card, cid, port ? port : settings.port, answer);
}

int cards_unexport(int card, uint32_t cid, uint32_t port, enum removal how,
		   struct answer *answer)
{
	uint32_t whose = cid, by = port ? port : settings.port;
	int ret = cards_check_unexport(card, cid, port, how, answer);

	while (!ret && set_next_guest(card, &whose, &by)) {
		/* The guest has no more rights to be checked. */
		set_remove(card, whose, by, how == REMOVE_NOW ? REMOVE_NOW : REMOVE_FORCE);
		whose = cid;
		by = port ? port : settings.port;
	}
	return ret;
}

/* --- exports of files ----------------------------------------------------- */

bool cards_need(const struct export_spec *section, const char *name)
{
	unsigned int i;

	if (!section->cards.any)
		return false;
	for (i = 0; i < NVIDIA_SHARED; i++)
		if (!strcmp(nvidia_shared[i].name, name))
			return true;
	for (i = 0; i < NVIDIA_CARDS; i++)
		if (cards_have(&section->cards, i) && set_is_card(name, i))
			return true;
	return false;
}

static struct export_spec *spec_get(struct export_specs *specs, const char *name)
{
	struct export_spec *spec;

	TAILQ_FOREACH(spec, specs, node)
		if (!strcmp(spec->name, name))
			return spec;
	spec = calloc(1, sizeof(*spec));
	if (!spec)
		return NULL;
	snprintf(spec->name, sizeof(spec->name), "%s", name);
	snprintf(spec->path, sizeof(spec->path), "/dev/%s", name);
	TAILQ_INSERT_TAIL(specs, spec, node);
	return spec;
}

/* Add the guests of a section to the export of that name. */
static int plan_one(const struct export_spec *section, const char *name,
		    struct export_specs *specs)
{
	struct export_spec *spec = spec_get(specs, name);
	uint32_t cid, port;
	size_t i;

	if (!spec)
		return -ENOMEM;
	spec->any_port = section->any_port;
	for (i = 0; i < section->nr_guests; i++) {
		cid = section->guests[i].cid;
		port = section->guests[i].port;
		if (!export_spec_has_guest(spec, cid, port) &&
		    export_spec_add_guest(spec, cid, port))
			return -ENOMEM;
	}
	return 0;
}

int cards_plan(const struct export_specs *sections, struct export_specs *specs)
{
	const struct export_spec *section;
	unsigned int i;
	char name[32];
	int ret = 0;

	TAILQ_FOREACH(section, sections, node) {
		for (i = 0; !ret && i < NVIDIA_CARDS; i++) {
			snprintf(name, sizeof(name), "nvidia%u", i);
			if (cards_have(&section->cards, i))
				ret = plan_one(section, name, specs);
		}
		for (i = 0; !ret && section->cards.any && i < NVIDIA_SHARED; i++)
			ret = plan_one(section, nvidia_shared[i].name, specs);
	}
	return ret;
}
