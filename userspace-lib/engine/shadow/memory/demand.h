/* SPDX-License-Identifier: MIT */
/* Demand pages at the start and at the end of calls: see demand.c. */
#ifndef ESHADOW_DEMAND_H
#define ESHADOW_DEMAND_H

#include "engine/shadow/base/lib.h"

struct lane;

/*
 * Begins a call's use of pages before the driver runs; demand_end() ends it after the driver has
 * run. Return of demand_end(): 0; -ENOBUFS: the call has hit a limit; -EOPNOTSUPP: the export is
 * without demand pages; or another negative errno.
 */
void demand_begin(struct lane *lane);
/* Begins a call of class mm: it asks the guest nothing, but may wait for fetches of other lanes. */
void demand_begin_mm(struct lane *lane);
int demand_end(struct lane *lane);
/* Lets calls begin again if the lane is holding them back. Context: demand.lock is held. */
void demand_ungate(struct lane *lane);
/* Adds a page that came with the call, if calls may use the page and nothing is at @addr yet. */
void demand_store(u64 addr, const u8 *bytes);

#endif /* ESHADOW_DEMAND_H */
