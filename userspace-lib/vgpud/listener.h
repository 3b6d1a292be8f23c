/* SPDX-License-Identifier: MIT */
/* The ports on which guests come in: of vsock, and of their sockets where they have some. */
#ifndef VGPUD_LISTENER_H
#define VGPUD_LISTENER_H

#include <stdint.h>

/* Listens on the port, as long as there are more gets than puts. 0 or errno. */
int listener_get(uint32_t port);
void listener_put(uint32_t port);
/* Listens nowhere any more. */
void listener_exit(void);

#endif /* VGPUD_LISTENER_H */
