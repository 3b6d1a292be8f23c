/* SPDX-License-Identifier: MIT */
/* The vsock ports on which guests come in. */
#ifndef VGPUD_LISTENER_H
#define VGPUD_LISTENER_H

#include <stdint.h>

/* Listens on the port, as long as there are more gets than puts. 0 or errno. */
int listener_get(uint32_t port);
void listener_put(uint32_t port);

#endif /* VGPUD_LISTENER_H */
