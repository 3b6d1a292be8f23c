/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forwarding is measured against raw vsock inside one VM, with vgpu's buffer sizes. All
 * functions here exit the program if they fail.
 */
#ifndef VGPU_BENCH_RAW_H
#define VGPU_BENCH_RAW_H

#include <stddef.h>

/* A ping and a pong have this length. */
#define RAW_LEN	64

/* Returns a time in microseconds, from some fixed point on. */
double raw_now_us(void);

/* raw_pair - make both ends of a connection */
void raw_pair(int ends[2]);

/* Return: 0 if all @len bytes came, -1 at the end of the connection. */
int raw_read(int fd, void *buf, size_t len);
void raw_write(int fd, const void *buf, size_t len);

/**
 * raw_connect - start a process that answers
 *
 * Return: the socket to it.
 */
int raw_connect(void);

/**
 * raw_ping - send 64 bytes and wait for 64 bytes
 * @fd: socket of raw_connect()
 * @count: number of times
 */
void raw_ping(int fd, int count);

/**
 * raw_stream - send bytes, and wait until the other process has them
 * @fd: socket of raw_connect()
 * @len: number of bytes
 */
void raw_stream(int fd, size_t len);

#endif /* VGPU_BENCH_RAW_H */
