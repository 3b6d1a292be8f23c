// SPDX-License-Identifier: MIT
/*
 * Denials: ioctls that the lists of exports deny, or would deny but for an audit. The host module
 * or the engines count them. This file finds their names, and logs those that audits let through.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "export/denial.h"
#include "export/export.h"
#include "export/grant.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "ioctls/ioctls.h"
#include "shared/log.h"

/* Time in milliseconds between two looks at the counts of exports that audit. */
#define AUDIT_MS	2000

void export_denials(const struct export *export, const struct peer *peer,
		    struct export_denials *denials)
{
	struct vgpu_host_denials arg = {
		.peer = peer->number,
		.export = export->number,
		.nr = VGPU_HOST_DENIALS_MAX,
		.denials = (uintptr_t)denials->list,
	};

	memset(denials, 0, sizeof(*denials));
	if (!export->number || peer->state != PEER_UP || hostdev_denials(&arg))
		return;
	denials->nr = arg.out_nr;
	denials->others.denied = arg.out_others_denied;
	denials->others.audited = arg.out_others_audited;
}

void denial_words(const struct export *export, const struct vgpu_host_denial *denial,
		  char words[80])
{
	const char *name = ioctl_name(ioctls_tables(export->device.kind, export->device.driver),
				      denial->ioctl);
	int len;

	if (name)
		len = snprintf(words, 80, "%s", name);
	else
		len = snprintf(words, 80, "%#x", denial->ioctl);
	if (denial->what)
		snprintf(words + len, 80 - len, " %#x", denial->what);
}

/* Check whether the ioctl was logged for the grant before, and note that it is. */
static bool is_told(struct grant *grant, const struct vgpu_host_denial *denial)
{
	uint64_t key = (uint64_t)denial->ioctl << 32 | denial->what;
	unsigned int i;

	for (i = 0; i < grant->nr_told; i++)
		if (grant->told[i] == key)
			return true;
	/* Ioctls beyond these are counted, and shown by vgpuctl. */
	if (grant->nr_told == VGPU_HOST_DENIALS_MAX)
		return true;
	grant->told[grant->nr_told++] = key;
	return false;
}

static void audit_look(const struct export *export, struct grant *grant, const struct peer *peer)
{
	static struct export_denials denials;
	char words[80];
	unsigned int i;

	export_denials(export, peer, &denials);
	for (i = 0; i < denials.nr; i++) {
		if (!denials.list[i].audited || is_told(grant, &denials.list[i]))
			continue;
		denial_words(export, &denials.list[i], words);
		log_limited(peer->cid, peer->port,
			    "export %s: %s would be denied, and is let through because of audit=",
			    export->spec.name, words);
	}
}

static void audits_expired(struct timer *timer)
{
	struct export *export;
	struct grant *grant;
	struct peer *peer;
	bool any = false;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->spec.audit || !export->number)
			continue;
		TAILQ_FOREACH(grant, &export->grants, node)
			LIST_FOREACH(peer, &peers, node)
				if (peer->state == PEER_UP && grant_fits(grant, peer)) {
					any = true;
					audit_look(export, grant, peer);
				}
	}
	if (any)
		timer_set(timer, AUDIT_MS);
}

static struct timer audits = { .expired = audits_expired };

void audits_begin(void)
{
	if (!audits.set)
		timer_set(&audits, AUDIT_MS);
}
