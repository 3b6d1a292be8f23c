/* SPDX-License-Identifier: MIT */
/*
 * Handshakes: connections whose first message, HELLO or LANE, is not complete, or has to wait. Any
 * process of a guest can open one, so each takes little memory and has a deadline, and their number
 * is limited for each guest.
 */
#ifndef VGPUD_HANDSHAKE_H
#define VGPUD_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shared/loop.h"
#include "wire.h"

/* Only the kernel and root of a guest can connect from ports below this. */
#define TRUSTED_PORTS	1024

/**
 * struct handshake - a connection that is not a control connection or a lane yet
 * @node: entry of handshakes
 * @source: socket of the connection
 * @timer: deadline of the handshake
 * @cid: context ID of the guest
 * @remote_port: port of the guest
 * @port: local port
 * @waiting: true if the message is complete but has to wait: a HELLO until the guest's old
 *	connection is gone and its pace allows another, a LANE until the guest's pace allows a
 *	session
 * @refused: true if the guest was refused at once; nothing is read from it then
 * @have: number of bytes read
 * @want: number of bytes to read: the header, then the message; no more, because the first call
 *	of a lane may follow, which the shadow has to read
 * @msg: bytes of the message
 */
struct handshake {
	TAILQ_ENTRY(handshake) node;
	struct source source;
	struct timer timer;
	uint32_t cid;
	uint32_t remote_port;
	uint32_t port;
	bool waiting;
	bool refused;
	size_t have;
	size_t want;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_hello hello;
		struct vgpu_lane_hello lane;
		uint8_t bytes[sizeof(struct vgpu_lane_hello)];
	} msg;
};

TAILQ_HEAD(handshake_list, handshake);
extern struct handshake_list handshakes;

/* Take over @fd, a connection to local port @port from port @remote_port of guest @cid. */
void handshake_start(int fd, uint32_t cid, uint32_t remote_port, uint32_t port);

/* Check whether the handshake waits, and its message is of this type. */
bool handshake_waits(const struct handshake *handshake, uint16_t type);
/* Make the handshake wait. Meanwhile only its deadline or the end of the connection can end it. */
void handshake_wait(struct handshake *handshake);
/* Close the connection, and free the handshake. */
void handshake_end(struct handshake *handshake);
/*
 * Send a short message, which fits into an empty send buffer. A message that does not fit is not
 * sent later. Return: true if all of the message was sent.
 */
bool handshake_send(int fd, const void *msg, size_t len);
/* Send a REFUSE with a positive errno, and end the handshake. */
void handshake_refuse(struct handshake *handshake, int error);

#endif /* VGPUD_HANDSHAKE_H */
