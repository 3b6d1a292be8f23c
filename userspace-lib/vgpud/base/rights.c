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

int process_end(pid_t pid, uint32_t uid)
{
	int ret;

	/*
	 * A child is root's until it has become the user, which it cannot undo. So if root may not
	 * kill it, the user may.
	 */
	if (!kill(pid, SIGKILL))
		return 0;
	if (errno != EPERM)
		return -errno;
	ret = effective_user(uid);
	if (ret)
		return ret;
	ret = kill(pid, SIGKILL) ? -errno : 0;
	if (effective_user(0)) {
		log_error("vgpud cannot become root again: %s", strerror(errno));
		abort();
	}
	return ret;
}
