/* SPDX-License-Identifier: MIT */
/* Messages without a libc: structures of sendmsg() and recvmsg(), as the kernel lays them out. */
#ifndef VGPU_SHADOW_MESSAGE_H
#define VGPU_SHADOW_MESSAGE_H

#include <asm/socket.h>
#include <linux/uio.h>

#include "shadow/sys.h"

struct user_msghdr {
	void *name;
	int namelen;
	struct iovec *iov;
	unsigned long iovlen;
	void *control;
	unsigned long controllen;
	unsigned int flags;
};

struct fd_cmsg {
	unsigned long len;
	int level;
	int type;
	int fd;
	int pad;
};

#define SCM_RIGHTS		1
#define MSG_PEEK		0x02
#define MSG_DONTWAIT		0x40
#define MSG_NOSIGNAL		0x4000
#define MSG_CMSG_CLOEXEC	0x40000000

/*
 * Receive a message. @flags: MSG_DONTWAIT, or 0. @fd: set to the file that came with the message,
 * or -1. Return: length of the message, 0 at the end of the connection, or a negative errno.
 */
static inline long message_receive(int sock, void *buf, unsigned long len, int flags, int *fd)
{
	struct fd_cmsg control;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct user_msghdr header = {
		.iov = &iov,
		.iovlen = 1,
		.control = &control,
		/* Leave no room for the padding, into which a second file would fit. */
		.controllen = offsetof(struct fd_cmsg, pad),
	};
	long ret = sys3(__NR_recvmsg, sock, (long)&header, flags | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (ret > 0 && header.controllen >= offsetof(struct fd_cmsg, pad) &&
	    control.level == SOL_SOCKET && control.type == SCM_RIGHTS)
		*fd = control.fd;
	return ret;
}

#endif /* VGPU_SHADOW_MESSAGE_H */
