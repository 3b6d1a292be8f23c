// SPDX-License-Identifier: MIT
/*
 * vgpu-engine-master: makes files of one DRM device master, or ends that again, for the engine of
 * one guest.
 *
 * DRM requires CAP_SYS_ADMIN of a process that makes a file master, if the file was not master
 * before or belongs to another process. This process has that capability and no other. It runs as
 * the guest's user, and its list of system calls allows the two ioctls, which take no argument,
 * and nothing else that needs the capability. It does what the engine asks. So vgpud starts it
 * only if the export allows masters, and it checks that each file is of that export's device.
 */
#include <asm/stat.h>
#include <linux/errno.h>
#include <linux/prctl.h>
#include <linux/stat.h>

#include "shadow/layout.h"
#include "shadow/message.h"
#include "shared/proto.h"

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call master_main\n"
	"	hlt\n");

static void say(struct master_msg *msg)
{
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct user_msghdr header = { .iov = &iov, .iovlen = 1 };

	if (sys3(__NR_sendmsg, MASTER_FD_ENGINE, (long)&header, MSG_NOSIGNAL) != sizeof(*msg))
		sys_exit_group(SHADOW_EXIT_OK);
}

/* Return: device number of a device's file, or 0 for any other file. */
static unsigned long device_of(int fd)
{
	struct stat stat;

	return !sys2(__NR_fstat, fd, (long)&stat) && S_ISCHR(stat.st_mode) ? stat.st_rdev : 0;
}

void master_main(void) __attribute__((noreturn, used, visibility("hidden")));
void master_main(void)
{
	unsigned long device = device_of(MASTER_FD_NODE);
	struct master_msg msg;
	struct stat stat;
	long ret;
	int fd;

	if (sys2(__NR_fstat, MASTER_FD_NODE, (long)&stat) == -EBADF)
		sys_end_by_hand();
	sys_exit_if(exec_forbid(), SHADOW_EXIT_SECCOMP);
	/* exec made the process dumpable again. */
	sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
	while (device) {
		ret = message_receive(MASTER_FD_ENGINE, &msg, sizeof(msg), 0, &fd);
		if (ret == -EINTR)
			continue;
		/* The engine has ended, or the guest may no longer use the export. */
		if (ret != sizeof(msg))
			break;
		msg.result = -EACCES;
		if (fd >= 0 && device_of(fd) == device &&
		    (msg.command == MASTER_SET || msg.command == MASTER_DROP))
			msg.result = sys3(__NR_ioctl, fd, msg.command, 0);
		/*
		 * Close the file first, which may sleep in the driver. After the answer the
		 * engine may close the file, and that has to be the last close.
		 */
		if (fd >= 0)
			sys2(__NR_close, fd, 0);
		say(&msg);
	}
	sys_exit_group(SHADOW_EXIT_OK);
}
