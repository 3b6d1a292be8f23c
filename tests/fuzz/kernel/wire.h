/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of the fuzzer of the wire, a guest that speaks to a real host. */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

/* Number of connections: 0 is the control connection, the others are lanes. */
#define WIRE_CONNS	4

enum wire_step {
	WIRE_SEND,		/* sends the message in the data */
	WIRE_KILL,		/* ends the connection */
	WIRE_WAIT,		/* waits for an answer */
	WIRE_NAP,		/* waits for a few ms */
	WIRE_STEPS,
};

/* Flags of steps. */
#define WIRE_RAW	1	/* send the bytes as they are, without numbers that fit */
#define WIRE_NO_WAIT	2	/* do not wait for the reply to a call */
#define WIRE_NO_ACK	4	/* do not acknowledge objects of the reply */
#define WIRE_LIE	8	/* answer the host's questions wrongly */

/* Addresses at which guests map devices. */
#define WIRE_TARGET	0x200000000000ULL
#define WIRE_PAGE	4096U

/* Connects to the host at @port. Return: NULL, or a sentence about what went wrong. */
const char *wire_begin(uint32_t port);
/* Ends all connections. */
void wire_end(void);
/* Sends a message on a connection, which is made if it is not there. Return: as wire_begin(). */
const char *wire_send(unsigned int where, const void *msg, size_t len, unsigned int flags);
/* Waits for the reply to a call. */
void wire_wait(unsigned int where, unsigned int flags);
void wire_kill(unsigned int where);

/* Adds a step to an input. */
void wire_make(struct input *input);

#endif /* WIRE_H */
