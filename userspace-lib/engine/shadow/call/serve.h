/* SPDX-License-Identifier: MIT */
/* Threads of lanes: see serve.c. */
#ifndef ESHADOW_SERVE_H
#define ESHADOW_SERVE_H

/* Maps memory for SHADOW_LANES_READY lanes. */
void lanes_init(void);
/* Notes that no lane will come any more: the program ends with the last lane. */
void lanes_end(void);
/* Starts a lane on a connected socket. Closes the socket if the lane cannot be started. */
void lane_start(int sock);

#endif /* ESHADOW_SERVE_H */
