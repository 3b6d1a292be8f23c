/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's resource manager (RM) keeps all that programs export to files in one client. That
 * client belongs to the process that exports first, and processes of the same tgid may duplicate
 * its objects, whose numbers begin with 1. Were that process a shadow, its guest could have what
 * other guests export. So vgpud exports a page of a card before it lets a guest have the card, and
 * for as long as a guest has it.
 */
#ifndef VGPUD_EXPORTER_H
#define VGPUD_EXPORTER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * exporter_is_ready - whether guests may have a card
 * @path: of the card's device file
 * @rdev: its number
 *
 * The first call has a thread export a page of the card, as the driver may make that wait.
 *
 * Return: true: they may; false: exports_grant_device() is called when they may. Guests have a card
 * nevertheless whose driver does not know how to export: it may be another release, with other ways.
 */
bool exporter_is_ready(const char *path, dev_t rdev);
/*
 * A guest may have gone, or lost a card: the page of a card that no guest has is exported no more,
 * as soon as the event is over in which this is called. An export that is made anew there gets the
 * same page.
 */
void exporters_review(void);

#endif /* VGPUD_EXPORTER_H */
