// SPDX-License-Identifier: MIT
/* Another user's rights to files and processes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rights.h"
#include "shared/log.h"

bool rights_take(uint32_t uid, uint32_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	/*
	 * setfsuid() and setfsgid() report no failure: a second call, with -1, returns the ID
	 * that is set.
	 */
	return setfsgid(-1) == (int)gid && setfsuid(-1) == (int)uid;
}

void rights_return(void)
{
	setfsuid(0);
	setfsgid(0);
}

/*
 * Set the effective user of this thread alone, by a plain system call: glibc's function would set
 * that of all threads. The real user stays root, so no process of @uid can signal vgpud meanwhile.
 */
static int effective_user(uint32_t uid)
{
	return syscall(SYS_setresuid, -1, uid, -1) ? -errno : 0;
}

/* Send a signal to a process by its pidfd, or by its ID if the pidfd is -1. Return: 0 or -errno. */
static int send_signal(pid_t pid, int pidfd, int signal)
{
	long ret = pidfd < 0 ? kill(pid, signal) :
			       syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);

	return ret ? -errno : 0;
}

static int send_signal_as(pid_t pid, int pidfd, int signal, uint32_t uid)
{
	int ret = effective_user(uid);

	if (ret)
		return ret;
	ret = send_signal(pid, pidfd, signal);
	if (effective_user(0)) {
		log_error("vgpud cannot become root again: %s", strerror(errno));
		abort();
	}
	return ret;
}

int process_end(pid_t pid, int pidfd, uint32_t uid)
{
	/*
	 * A child is root's until it has become the user, which it cannot undo. So if root may not
	 * kill it, the user may.
	 */
	int ret = send_signal(pid, pidfd, SIGKILL);

	return ret == -EPERM ? send_signal_as(pid, pidfd, SIGKILL, uid) : ret;
}

bool process_is_of(int pidfd, uint32_t uid)
{
	/*
	 * A user without capabilities may signal no process but its own. As the real user stays
	 * root, so may it root's processes, and as any other user as well.
	 */
	return uid && !send_signal_as(0, pidfd, 0, uid) &&
	       send_signal_as(0, pidfd, 0, uid + 1) == -EPERM;
}
