/* SPDX-License-Identifier: MIT */
/* Ports on which guests connect: vsock ports, and UNIX sockets of guests that have some. */
#ifndef VGPUD_LISTENER_H
#define VGPUD_LISTENER_H

#include <stdint.h>

/*
 * Set the function that takes over each accepted connection, before any listener_get(). @fd is a
 * connection to local port @port from port @remote_port of guest @cid.
 */
void listeners_init(void (*taker)(int fd, uint32_t cid, uint32_t remote_port, uint32_t port));
/* Listen on a port until as many puts as gets were called. Return: 0 or a negative errno. */
int listener_get(uint32_t port);
void listener_put(uint32_t port);
/* Stop listening on all ports. */
void listener_exit(void);

#endif /* VGPUD_LISTENER_H */
