/* SPDX-License-Identifier: MIT */
/*
 * Exporters keep shadows from reaching memory that other guests export.
 *
 * To export is the driver's term here: export/export.h is about other exports. NVIDIA's resource
 * manager (RM) keeps all objects that programs export to files in one client. The client belongs to
 * the first process that exports. Processes with that process's tgid may duplicate the client's
 * objects, whose numbers begin with 1. If this process were a shadow, its guest could reach what
 * other guests export. vgpud therefore exports a page of a card before any guest gets the card, and
 * as long as a guest has it.
 */
#ifndef VGPUD_EXPORTER_H
#define VGPUD_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nvidia_rm.h"

/**
 * struct card_sample - what a card did during some 200 ms
 * @time_ns: end of that time on the card's clock, in nanoseconds
 * @pid: process for which the card worked at that moment; -1: none
 * @used: part of the time that the card has worked for any process, in 1/10000
 */
struct card_sample {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t used;
};

/**
 * struct card_usage - which processes have used a card during the last ten seconds
 * @error: 0, or a negative errno
 * @card: RM's number of the card
 * @minor: minor number of the card
 * @nr: number of samples
 * @samples: the samples, in no order
 */
struct card_usage {
	int32_t error;
	uint32_t card;
	uint32_t minor;
	uint32_t nr;
	struct card_sample samples[RM_SAMPLES];
};

/**
 * struct exporter_ops - owner of the guests' rights to cards
 * @is_used: returns true if a guest that is connected, or still has shadows, may use the card
 * @ready: called when guests may have a card for which exporter_is_ready() returned false
 * @sampled: called with the answer to exporters_sample(), once for each card
 */
struct exporter_ops {
	bool (*is_used)(dev_t rdev);
	void (*ready)(dev_t rdev);
	void (*sampled)(const struct card_usage *usage);
};

/* Set the owner, before any guest can get a card. @ops stays the caller's. */
void exporters_init(const struct exporter_ops *ops);

/**
 * exporter_is_ready - check whether guests may have a card
 * @path: path of the card's device file
 * @rdev: device number of that file
 *
 * The first call starts a thread that exports a page of the card, since the driver may block.
 *
 * Return: true if guests may have the card. After false, the owner's @ready is called when they
 * may. Guests also get a card whose driver does not know how to export: it may be another
 * release with other ioctls.
 */
bool exporter_is_ready(const char *path, dev_t rdev);
/*
 * Ask which processes have used the guests' cards. A card whose driver has not answered yet is not
 * asked again.
 */
void exporters_sample(void);
/*
 * Review the exporters after a guest may have gone or lost a card. The export of a card's page
 * ends after the current event if no guest has the card. A later export gets the same page.
 */
void exporters_review(void);

#endif /* VGPUD_EXPORTER_H */
