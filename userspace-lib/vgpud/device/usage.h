/* SPDX-License-Identifier: MIT */
/* Usage of a card: which processes it has worked for. See usage.c. */
#ifndef VGPUD_USAGE_H
#define VGPUD_USAGE_H

#include <stdint.h>

struct nvidia;

/**
 * usage_answer - find out which processes have used a card, and send a struct card_usage
 * @nvidia: client, which is made the first time; @control is -1 before
 * @fd: socket to vgpud's loop
 * @card: minor number of the card, which this process has open
 *
 * Runs in a thread with a file table of its own (exporter.c), as the driver may block.
 */
void usage_answer(struct nvidia *nvidia, int fd, uint32_t card);

#endif /* VGPUD_USAGE_H */
