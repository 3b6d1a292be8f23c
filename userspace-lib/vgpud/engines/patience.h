/* SPDX-License-Identifier: MIT */
/* Time that drivers may wait for a guest, which outlives the guest's engines. */
#ifndef VGPUD_PATIENCE_H
#define VGPUD_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engines/tally.h"

struct vgpu_host_peer_stat;
struct vgpu_host_rates;

/**
 * struct remembered - state of a guest that outlives its engines
 * @node: entry of guests
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @engines: number of engines that the guest has
 * @fd: file of @memory
 * @memory: time that drivers may wait for the guest; the guest's shadows write to it
 * @totals: counters of engines that have ended
 */
struct remembered {
	LIST_ENTRY(remembered) node;
	uint32_t cid;
	uint32_t port;
	unsigned int engines;
	int fd;
	struct engine_patience *memory;
	struct guest_totals totals;
};

/* Return the time that drivers may wait for a guest's memory in all, in microseconds. */
uint64_t patience_whole(uint32_t cid, uint32_t port);
/* Find or make the state of a guest that gets an engine. Return: 0 or a negative errno. */
int patience_get(uint32_t cid, uint32_t port, struct remembered **found);
/*
 * Take over the state of a guest whose engine an earlier vgpud has made. @fd: file of its memory,
 * which is taken over in any case. Return: 0 or a negative errno.
 */
int patience_adopt(uint32_t cid, uint32_t port, int fd, struct remembered **found);
/*
 * Find a guest, or with @next the first one after it, in the order of @cid and @port. Return: NULL:
 * there is none.
 */
struct remembered *patience_find(uint32_t cid, uint32_t port, bool next);
/* Take the pages of a shadow that has ended out of the number of pages of the guest. */
void patience_return_pages(struct remembered *guest, uint32_t pages);
/* Return the largest number of pages that all shadows of the guest have had together. */
uint32_t patience_most_pages(const struct remembered *guest);
/* Forget what the guest owes to rates that are 0, which means no limit. */
void patience_forget_rates(struct remembered *guest, const struct vgpu_host_rates *rates);
/* Note the end of an engine of the guest. */
void patience_put(struct remembered *guest);
/* Fill in the fields of @stat that say how long drivers may still wait for the guest. */
void patience_stat(const struct remembered *guest, struct vgpu_host_peer_stat *stat);

#endif /* VGPUD_PATIENCE_H */
