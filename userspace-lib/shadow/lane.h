/* SPDX-License-Identifier: MIT */
/*
 * Threads of a shadow: lanes, and the one that serves unmaps.
 */
#ifndef VGPU_SHADOW_LANE_H
#define VGPU_SHADOW_LANE_H

/* Maps the memory of the service's thread and of SHADOW_LANES_READY lanes. */
void lane_prepare(void);

/* Blocks all signals, and gives the lanes' one its handler. 0 or negative errno. */
int lane_signals(void);

/*
 * Starts a thread that runs fn(arg); share_files: it uses this thread's files
 * instead of a table of its own. Returns its slot or a negative errno.
 */
int lane_thread(void (*fn)(void *arg), void *arg, int share_files);

/*
 * Takes a lane over its connected socket, which it closes. What fails, fails
 * for the lane alone: its connection ends, and the guest sees that.
 */
void lane_start(int sock_fd);

#endif /* VGPU_SHADOW_LANE_H */
