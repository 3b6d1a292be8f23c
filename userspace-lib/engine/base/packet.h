/* SPDX-License-Identifier: MIT */
/* Messages over a SOCK_SEQPACKET socket, each perhaps with a file. */
#ifndef ENGINE_PACKET_H
#define ENGINE_PACKET_H

#include <sys/types.h>
#include <sys/uio.h>

/* Send a message without waiting. @fd: file to be sent, or -1. Return: 0, or a negative errno. */
int packet_send(int sock, struct iovec *iov, size_t nr, int fd);
/* Receive without waiting. *@fd: file that came, or -1. Return: bytes, 0 at the end, or -errno. */
ssize_t packet_recv(int sock, void *buf, size_t len, int *fd);

#endif /* ENGINE_PACKET_H */
