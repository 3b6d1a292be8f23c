/* SPDX-License-Identifier: MIT */
/* HELLO: a guest connects. */
#ifndef VGPUD_HELLO_H
#define VGPUD_HELLO_H

#include <stdbool.h>

struct handshake;

/* Handle a HELLO that is complete. */
void handshake_hello(struct handshake *handshake);
/*
 * Check a HELLO. Return: true if it is acceptable; false: it was refused, and @handshake is
 * freed.
 */
bool hello_is_welcome(struct handshake *handshake);
/* Send WELCOME, and hand the connection over. @handshake is freed. */
void handshake_welcome(struct handshake *handshake);

#endif /* VGPUD_HELLO_H */
