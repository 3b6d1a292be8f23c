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
#include <sys/types.h>

/**
 * struct exporter_ops - owner of the guests' rights to cards
 * @is_used: returns true if a guest that is connected, or still has shadows, may use the card
 * @ready: called when guests may have a card for which exporter_is_ready() returned false
 */
struct exporter_ops {
	bool (*is_used)(dev_t rdev);
	void (*ready)(dev_t rdev);
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
 * Review the exporters after a guest may have gone or lost a card. The export of a card's page
 * ends after the current event if no guest has the card. A later export gets the same page.
 */
void exporters_review(void);

#endif /* VGPUD_EXPORTER_H */
