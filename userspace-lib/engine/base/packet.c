// SPDX-License-Identifier: MIT
/* Messages over a SOCK_SEQPACKET socket, each perhaps with a file. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/base/packet.h"

union control {
	struct cmsghdr hdr;
	char space[CMSG_SPACE(sizeof(int))];
};

int packet_send(int sock, struct iovec *iov, size_t nr, int fd)
{
	union control control = { .hdr.cmsg_len = CMSG_LEN(sizeof(int)) };
	struct msghdr header = { .msg_iov = iov, .msg_iovlen = nr };

	if (fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
		control.hdr.cmsg_level = SOL_SOCKET;
		control.hdr.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	}
	return sendmsg(sock, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t packet_recv(int sock, void *buf, size_t len, int *fd)
{
	union control control;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		/* Leave no room for the padding, into which a second file would fit. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	struct cmsghdr *cmsg;
	ssize_t ret;

	*fd = -1;
	ret = recvmsg(sock, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (ret < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&header);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	return ret;
}
