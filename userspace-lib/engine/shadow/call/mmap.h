/* SPDX-License-Identifier: MIT */
/* Calls that map devices: see mmap.c. */
#ifndef ESHADOW_MMAP_H
#define ESHADOW_MMAP_H

#include "engine/shadow/base/lib.h"

struct call;

/*
 * Remembers the address of the program's arguments. @start: stack that exec has made. Any process
 * may read the arguments by /proc/PID/cmdline. If a device were mapped at that address, the
 * driver would do the read (access_remote_vm() and ->access). So no device is mapped there.
 */
void mapping_keep_args(const long *start);
/* Return: true if the range, which mapping_range_ok() has checked, overlaps them. */
bool mapping_over_args(u64 addr, u64 len);
s64 mapping_mmap(struct call *call);
s64 mapping_bind(struct call *call);
s64 mapping_protect(struct call *call);

#endif /* ESHADOW_MMAP_H */
