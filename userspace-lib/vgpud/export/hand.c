// SPDX-License-Identifier: MIT
/* Exports that people ask for by vgpuctl. Those that files of exports.d ask for: see reload/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "export/check.h"
#include "export/export.h"
#include "export/grant.h"
#include "export/hand.h"
#include "guest/peer.h"

static int default_name(struct export_spec *spec, struct answer *answer)
{
	const char *slash = strrchr(spec->path, '/');

	if (export_name_ok(spec->name))
		return 0;
	if (spec->name[0])
		return answer_say(answer, -EINVAL,
			   "'%s' is not a valid name: use 1 to 31 characters of A-Z a-z 0-9 . _ -", spec->name);
	if (!slash || !export_name_ok(slash + 1))
		return answer_say(answer, -EINVAL, "%s: a name cannot be made from this path: give one with --name",
			   spec->path);
	snprintf(spec->name, sizeof(spec->name), "%.31s", slash + 1);
	return 0;
}

/* Remove the grants of guests in @spec that neither a file nor vgpuctl owns. */
static void take_back(struct export *export, const struct export_spec *spec)
{
	struct grant *grant;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && !grant->by_file && !grant->by_hand)
			export_grant_del(export, grant);
	}
}

/* Grant the export to all guests of @spec by hand, or on failure to none that did not have it. */
static int give_all(struct export *export, const struct export_spec *spec, struct answer *answer)
{
	size_t i;
	int ret;

	for (i = 0; i < spec->nr_guests; i++) {
		ret = export_grant_add(export, spec->guests[i].cid, spec->guests[i].port,
				       spec->any_port, spec->read_only, answer);
		if (ret) {
			take_back(export, spec);
			return ret;
		}
	}
	for (i = 0; i < spec->nr_guests; i++)
		export_grant(export, spec->guests[i].cid, spec->guests[i].port)->by_hand = true;
	return 0;
}

/* Check the grants of all guests of @spec before any is made: none may exist on other terms. */
static int check_grants(struct export *export, const struct export_spec *spec,
			struct answer *answer)
{
	struct grant *grant;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && !grant_same_terms(grant, spec->any_port, spec->read_only))
			return grant_taken(export, grant, answer);
	}
	return 0;
}

int export_add(struct export_spec *spec, struct answer *answer)
{
	struct export *export;
	int ret;

	ret = export_check_path(spec, answer);
	if (!ret)
		ret = export_check_terms(spec, answer);
	if (!ret)
		ret = default_name(spec, answer);
	if (ret)
		return ret;

	export = export_find(spec->name);
	if (export && !export_spec_same_terms(&export->spec, spec))
		return answer_say(answer, -EEXIST, "the name %s is taken by %s%s: give another name with --name, or unexport this name first",
			   spec->name, export->spec.path,
			   strcmp(export->spec.path, spec->path) ? "" : ", with other options");
	if (export) {
		ret = check_grants(export, spec, answer);
		return ret ? ret : give_all(export, spec, answer);
	}
	export = export_new(spec, NULL);
	if (!export)
		return answer_say(answer, -ENOMEM, "out of memory");
	ret = export_up(export, answer);
	if (!ret)
		ret = give_all(export, spec, answer);
	if (ret)
		export_free(export);
	else
		exports_watch();
	return ret;
}

int export_check_unused(struct export *export, struct grant *only, struct answer *answer)
{
	struct peer *peer;
	struct grant *grant;

	TAILQ_FOREACH(grant, &export->grants, node) {
		if (only && grant != only)
			continue;
		LIST_FOREACH(peer, &peers, node)
			if (grant_fits(grant, peer) && peer->nr_sessions)
				return answer_say(answer, -EBUSY,
					   "guest %u:%u runs %u programs on this host's devices: stop them, or use --force (open files stay open) or --now (open files are closed)",
					   peer->cid, peer->port, peer->nr_sessions);
	}
	return 0;
}

int export_check_remove(const char *name, uint32_t cid, uint32_t port, enum removal how,
			struct answer *answer)
{
	struct export *export = export_find(name);
	struct grant *grant = NULL;

	if (!export)
		return answer_say(answer, -ENOENT, "there is no export %s: 'vgpuctl list' shows all exports",
			   name);
	if (cid) {
		grant = export_grant(export, cid, port ? port : settings.port);
		if (!grant)
			return answer_say(answer, -ENOENT, "%s is not exported to guest %u:%u: 'vgpuctl list' shows who may use it", name,
				   cid, port ? port : settings.port);
	}
	return how == REMOVE_UNUSED ? export_check_unused(export, grant, answer) : 0;
}

int export_remove(const char *name, uint32_t cid, uint32_t port, enum removal how,
		  struct answer *answer)
{
	struct export *export = export_find(name);
	struct grant *grant, *other;
	int ret = export_check_remove(name, cid, port, how, answer);

	if (ret)
		return ret;
	grant = cid ? export_grant(export, cid, port ? port : settings.port) : NULL;
	TAILQ_FOREACH(other, &export->grants, node)
		if (how == REMOVE_NOW && (!grant || other == grant))
			export_grant_cut(export, other);
	if (grant)
		export_grant_del(export, grant);
	if (!grant || TAILQ_EMPTY(&export->grants))
		export_free(export);
	return 0;
}
