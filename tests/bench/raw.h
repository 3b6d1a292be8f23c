/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raw vsock inside one VM, with the buffer sizes that vgpu
 * uses: what forwarding is measured against. Everything here ends the program
 * where it fails.
 */
#ifndef VGPU_BENCH_RAW_H
#define VGPU_BENCH_RAW_H

#include <stddef.h>

/* Of a ping and of a pong. */
#define RAW_LEN	64

/* Return: microseconds, from some point in time on. */
double raw_now_us(void);

/* raw_pair - both ends of a connection */
void raw_pair(int ends[2]);

/* Return: 0 when all @len bytes came, -1 for the end. */
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
 * @fd: of raw_connect()
 * @count: so often
 */
void raw_ping(int fd, int count);

/**
 * raw_stream - send bytes, and wait until the other process has them
 * @fd: of raw_connect()
 * @len: how many
 */
void raw_stream(int fd, size_t len);

#endif /* VGPU_BENCH_RAW_H */
