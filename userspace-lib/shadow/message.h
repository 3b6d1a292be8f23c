/* SPDX-License-Identifier: MIT */
/* Structures of sendmsg() and recvmsg(), as the kernel lays them out. */
#ifndef VGPU_SHADOW_MESSAGE_H
#define VGPU_SHADOW_MESSAGE_H

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

#endif /* VGPU_SHADOW_MESSAGE_H */
