/* SPDX-License-Identifier: MIT */
/* Grants: the rights of guests to exports. struct grant is in export.h. */
#ifndef VGPUD_GRANT_H
#define VGPUD_GRANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/answer.h"

struct export;
struct grant;
struct peer;

/* Check whether a grant is for a guest that is connected. */
bool grant_fits(const struct grant *grant, const struct peer *peer);
bool grant_same_terms(const struct grant *grant, bool any_port, bool read_only);
/* Say that a guest has an export on other terms. Return: -EEXIST. */
int grant_taken(const struct export *export, const struct grant *grant, struct answer *answer);
/*
 * Give a guest the right to use the export. An existing grant on the same terms is enough. If
 * the host refuses the right for the guest's connection, no grant is made. A card of NVIDIA's
 * may be granted later, from exports_grant_device(), which logs the host's refusal.
 *
 * Return: 0, or a negative errno with words in @answer.
 */
int export_grant_add(struct export *export, uint32_t cid, uint32_t port, bool any_port,
		     bool read_only, struct answer *answer);
/*
 * Change the terms of a grant. Guests for which the new terms mean the same are not notified.
 * Return: 0, or a negative errno with words in @answer; the grant is removed then.
 */
int export_grant_change(struct export *export, struct grant *grant, bool any_port,
			bool read_only, struct answer *answer);
void export_grant_del(struct export *export, struct grant *grant);
/* Take the files that a guest has open of the export, before the grant is deleted. */
void export_grant_cut(struct export *export, const struct grant *grant);

/*
 * Check whether some export is for this guest. *@any_port: true if one of them allows any port.
 */
bool exports_for_guest(uint32_t cid, uint32_t port, bool *any_port);
/* Check whether a guest that is connected, or still has shadows, may use the device. */
bool exports_for_device(dev_t rdev);
/* Grant a device, which no guest has got yet, to all guests that may use it. */
void exports_grant_device(dev_t rdev);
/* Grant an export that has become ready to all guests that may use it. */
void export_grant_all(struct export *export);
/* Grant a new peer all exports that it may use. */
void exports_grant_all(struct peer *peer);

#endif /* VGPUD_GRANT_H */
