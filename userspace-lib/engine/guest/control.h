/* SPDX-License-Identifier: MIT */
/* The control connection of the guest: see control.c. */
#ifndef ENGINE_CONTROL_H
#define ENGINE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vgpu_hdr;

/*
 * Begin to read messages of the guest. @handler is called for each of them that has a number, once
 * the message was checked.
 */
int control_init(void (*handler)(const struct vgpu_hdr *msg));
/* Send a message. If the guest does not read and the buffer is full, end the engine. */
void control_send(const void *msg, size_t len);
/*
 * Send a message after all messages of control_send(), and in the order of these calls. If the
 * guest reads slowly, the message waits in memory.
 */
void control_send_later(const void *msg, size_t len);
/* Return: number of the last control message that was handled. */
uint64_t control_last(void);
/*
 * Return: true if the guest reads slowly: the caller must begin nothing that has to be reported,
 * and send no message of which there may be many. progress_notify() is called when the guest has
 * read.
 */
bool control_is_behind(void);

#endif /* ENGINE_CONTROL_H */
