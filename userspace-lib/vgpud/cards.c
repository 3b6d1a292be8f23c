// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cards.h"
#include "config.h"
#include "log.h"

/* The files of a card, and those of all cards; one that need not be there is left out. */
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

/* The device files that the cards need, those of cards first. */
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

/* Is it one of these cards? */
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
	struct export_spec spec = *terms;
	int ret = 0;
	size_t i;

	spec.guests = NULL;
	spec.nr_guests = 0;
	for (i = 0; !ret && i < terms->nr_guests; i++)
		ret = export_spec_add_guest(&spec, terms->guests[i].cid, terms->guests[i].port);
	if (ret)
		answer_say(answer, ret, "out of memory");
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	snprintf(spec.path, sizeof(spec.path), "/dev/%s", name);
	if (!ret)
		ret = export_add(&spec, NULL, answer);
	export_spec_free(&spec);
	return ret;
}

int cards_export(struct export_spec *spec, int card, struct answer *answer)
{
	const uint32_t cid = spec->guests[0].cid, port = spec->guests[0].port;
	static bool had[NVIDIA_SHARED + NVIDIA_CARDS];
	static struct nvidia_set set;
	struct export *export;
	struct answer unused;
	unsigned int i;
	int ret = 0;

	set_find(&set, card);
	if (!set.nr)
		return answer_say(answer, -ENOENT, "there is no /dev/nvidia0, nor another card of NVIDIA's driver");
	for (i = 0; i < set.nr; i++) {
		export = export_find(set.names[i]);
		had[i] = export && export_grant(export, cid, port);
		ret = set_add_one(spec, set.names[i], answer);
		if (ret)
			break;
	}
	if (!ret)
		return 0;
	if (ret == -ENOENT && !set_is_card(set.names[i], CARDS_ALL))
		answer_say(answer, ret, "there is no /dev/%s, which programs need as well: 'nvidia-modprobe -c 0 -u' makes it",
			   set.names[i]);
	while (i--)
		if (!had[i])
			export_remove(set.names[i], cid, port, true, &unused);
	return ret;
}

/* A guest has no card any more that needs the others. */
static void set_remove_shared(uint32_t cid, uint32_t port)
{
	struct export *export;
	struct answer unused;
	unsigned int i;

	TAILQ_FOREACH(export, &exports, node)
		if (set_is_card(export->spec.name, CARDS_ALL) && export_grant(export, cid, port))
			return;
	for (i = 0; i < NVIDIA_SHARED; i++)
		export_remove(nvidia_shared[i].name, cid, port, true, &unused);
}

/* From one guest. */
static void set_remove(int card, uint32_t cid, uint32_t port)
{
	struct export *export, *next;
	struct answer unused;

	for (export = TAILQ_FIRST(&exports); export; export = next) {
		next = TAILQ_NEXT(export, node);
		if (set_is_card(export->spec.name, card) && export_grant(export, cid, port))
			export_remove(export->spec.name, cid, port, true, &unused);
	}
	set_remove_shared(cid, port);
}

/* A guest that has one of the cards, or @cid; false: there is none (any more). */
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

int cards_unexport(int card, uint32_t cid, uint32_t port, bool force, struct answer *answer)
{
	uint32_t whose = cid, by;
	bool any = false;
	int ret;

	by = port ? port : settings.port;
	if (!force) {
		ret = set_check_unused(card, cid, by, answer);
		if (ret)
			return ret;
	}
	while (set_next_guest(card, &whose, &by)) {
		set_remove(card, whose, by);
		any = true;
		whose = cid;
		by = port ? port : settings.port;
	}
	return any ? 0 : answer_say(answer, -ENOENT, "no such card of NVIDIA's is exported%s",
				    cid ? " to that guest" : "");
}

/* --- what the files say --------------------------------------------------- */

/* The wishes of all sections together: exports by their names, with their guests. */
static struct export_spec *nvidia_specs;
static size_t nr_nvidia_specs;

static struct export_spec *nvidia_spec_get(const char *name)
{
	struct export_spec *spec;
	size_t i;

	for (i = 0; i < nr_nvidia_specs; i++)
		if (!strcmp(nvidia_specs[i].name, name))
			return &nvidia_specs[i];
	spec = realloc(nvidia_specs, (nr_nvidia_specs + 1) * sizeof(*spec));
	if (!spec)
		return NULL;
	nvidia_specs = spec;
	spec += nr_nvidia_specs++;
	memset(spec, 0, sizeof(*spec));
	snprintf(spec->name, sizeof(spec->name), "%s", name);
	snprintf(spec->path, sizeof(spec->path), "/dev/%s", name);
	return spec;
}

static bool spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port)
{
	size_t i;

	for (i = 0; i < spec->nr_guests; i++)
		if (spec->guests[i].cid == cid && spec->guests[i].port == port)
			return true;
	return false;
}

static int nvidia_spec_add(const char *name, const struct export_spec *section)
{
	struct export_spec *spec = nvidia_spec_get(name);
	uint32_t cid, port;
	int ret = 0;
	size_t i;

	if (!spec)
		return -ENOMEM;
	if (spec->nr_guests && spec->any_port != section->any_port)
		return -EEXIST;
	spec->any_port = section->any_port;
	for (i = 0; !ret && i < section->nr_guests; i++) {
		cid = section->guests[i].cid;
		port = section->guests[i].port;
		if (!spec_has_guest(spec, cid, port))
			ret = export_spec_add_guest(spec, cid, port);
	}
	return ret;
}

int cards_sync(const struct export_spec *section, const char *file)
{
	unsigned int i;
	char name[32];
	int ret = 0;

	for (i = 0; !ret && i < NVIDIA_CARDS; i++) {
		snprintf(name, sizeof(name), "nvidia%u", i);
		if (cards_have(&section->cards, i))
			ret = nvidia_spec_add(name, section);
	}
	for (i = 0; !ret && i < NVIDIA_SHARED; i++)
		ret = nvidia_spec_add(nvidia_shared[i].name, section);
	if (ret)
		log_error("%s:%u: [%s]: %s", file, section->line, section->name,
			  ret == -EEXIST ? "all sections with nvidia= need the same any-port=" :
			  strerror(-ret));
	return ret;
}

int cards_sync_end(const char *origin, bool broken, bool check)
{
	struct export *export;
	int ret = 0;
	size_t i;

	if (broken)
		exports_keep(origin);
	for (i = 0; i < nr_nvidia_specs; i++) {
		export = export_find(nvidia_specs[i].name);
		/* One of them may be for guests that are not known now. */
		if (!check && !(broken && export && export->seen) &&
		    exports_sync(&nvidia_specs[i], origin))
			ret = -EINVAL;
		export_spec_free(&nvidia_specs[i]);
	}
	free(nvidia_specs);
	nvidia_specs = NULL;
	nr_nvidia_specs = 0;
	return ret;
}
