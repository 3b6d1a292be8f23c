/* SPDX-License-Identifier: MIT */
/* Threads of a shadow: one for each lane, and one that serves unmaps. */
#ifndef VGPU_SHADOW_LANE_H
#define VGPU_SHADOW_LANE_H

/* Map the memory of the service thread and of SHADOW_LANES_READY lanes. */
void lane_prepare(void);

/* Block all signals, and set the handler of the lanes' signal. Return: 0 or a negative errno. */
int lane_signals(void);

/*
 * Start a thread that runs @fn(@arg). @share_files: the thread shares the caller's files
 * instead of getting a table of its own. Return: 0 or a negative errno.
 */
int lane_thread(void (*fn)(void *arg), void *arg, int share_files);

/*
 * Start a lane on a connected socket, and close the socket. An error concerns this lane only:
 * its connection ends, which the guest notices.
 */
void lane_start(int sock_fd);

#endif /* VGPU_SHADOW_LANE_H */
