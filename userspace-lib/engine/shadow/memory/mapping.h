/* SPDX-License-Identifier: MIT */
/* The table of mappings. */
#ifndef ESHADOW_MAPPING_H
#define ESHADOW_MAPPING_H

#include "engine/shadow/base/lib.h"

/**
 * struct mapping - a part of a device's mapping, or memory for a call (arguments, kept memory)
 * @addr: address
 * @len: length in bytes
 * @file_offset: place in the file of @object at which the part begins, in bytes
 * @object: number of the object whose file is mapped shared and writable, so that the window can
 *	show it; 0: any other mapping, or memory for a call
 * @device: true if it is a device's mapping
 * @barred: true if parts of the mapping are without access, because they were unmapped when no
 *	entry was left to split the mapping
 * @shut: true if all of the mapping is without access, and only the window can show it; see
 *	map_locked()
 * @asks: true if the guest may use the driver's operation for debuggers on it; see may_ask()
 */
struct mapping {
	u64 addr;
	u64 len;
	u64 file_offset;
	u32 object;
	bool device;
	bool barred;
	bool shut;
	bool asks;
};

/* Array in order of addresses. Changes need both map_lock and demand.lock, reads either of them. */
extern struct mapping *mappings;
extern u32 nr_mappings;

void mapping_init(void);
/* Return: true if all of [addr, addr + len) belongs to the guest process. */
bool mapping_range_ok(u64 addr, u64 len);
/*
 * Return: whether a mapping is at @addr, and where the next mapping after @addr begins. Context:
 * demand.lock is held.
 */
bool mapping_at(u64 addr);
u64 mapping_next(u64 addr);
/* Return: index of the first mapping that ends after @addr. */
u32 mapping_index(u64 addr);
/* Return: 0, or -ENOMEM if no entry is left to split a mapping. */
int mapping_room(void);
/* Notes a change of device mappings, to tell the engine later. Context: map_lock is held. */
void mapping_account(s64 len, s32 nr);
/* Tells the engine of such changes. Context: map_lock is held, demand.lock is not. */
void mapping_tell_usage(void);
void mapping_insert(struct mapping mapping);
void mapping_remove(u32 i);
/* Return: true if removing [addr, end) would split a device's mapping in two. */
bool mapping_splits(u64 addr, u64 end);
/*
 * Removes [addr, end) from devices' mappings. If that splits a mapping, the caller has made sure
 * of room for one entry more.
 */
void mapping_cut(u64 addr, u64 end);
/*
 * Return: true if [addr, addr + len) has no memory for a call and, if @device, no device's
 * mapping.
 */
bool mapping_range_free(u64 addr, u64 len, bool device);

#endif /* ESHADOW_MAPPING_H */
