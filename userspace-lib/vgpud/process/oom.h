/* SPDX-License-Identifier: MIT */
/*
 * Which process the kernel ends when a guest's control group, or the whole host, has no memory left.
 * The kernel compares the memory of processes and adds to it a part of all memory, which each
 * process' oom_score_adj chooses.
 *
 * A shadow is one program of the guest, so it comes first. An engine serves the whole guest, and
 * vgpud all guests. A child of vgpud that has not executed its program yet is as large as vgpud, and
 * ranks as vgpud does: a guest that takes all memory of its group must not keep its new programs
 * from starting.
 */
#ifndef VGPUD_OOM_H
#define VGPUD_OOM_H

#include "config/config.h"

/*
 * Protect vgpud from being chosen, unless it is protected already. Without CAP_SYS_RESOURCE vgpud
 * keeps what it has: its unit sets OOMScoreAdjust=. Where /proc is read-only, as in some containers,
 * no process has a rank of its own.
 */
void oom_init(void);
/*
 * Open the file by which a child of vgpud changes its rank, before it leaves the file tree. Return:
 * file or a negative errno; -1: there are no ranks.
 */
int oom_open(void);
/* Give the calling child the rank of a program. @fd: -1: there are none. Return: 0 or -errno. */
int oom_rank(int fd, enum spawn_kind kind);

#endif /* VGPUD_OOM_H */
