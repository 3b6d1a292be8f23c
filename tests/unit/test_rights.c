// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of another user's rights (userspace-lib/vgpud/base/rights.c): root tells processes of a
 * user from its own.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/log.h"
#include "tap.h"
#include "vgpud/base/rights.h"

#define USER	1879048192

/* rights.c calls this function. */
void log_error(const char *fmt, ...)
{
	tap_expect(false, "an error: %s", fmt);
}

/* Starts a process of a user, which sleeps. Return: its pid; -1: it cannot have this user. */
static pid_t start(uid_t uid)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		if (!syscall(SYS_setresuid, uid, uid, uid) && write(pipes[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(pipes[0]);
	return pid;
}

/* Checks a process of the user @uid. @is: it counts as one of USER. */
static void test_process(uid_t uid, bool is, const char *subject)
{
	pid_t pid = start(uid);
	int pidfd = syscall(SYS_pidfd_open, pid, 0);

	tap_expect(pid > 0 && pidfd >= 0, "a process of user %u could not be made", uid);
	tap_expect(process_is_of(pidfd, USER) == is, "it is%s taken for one of user %u",
		   is ? " not" : "", USER);
	tap_expect(!process_end(pid, pidfd, uid), "it could not be ended");
	tap_expect(waitpid(pid, NULL, 0) == pid, "it was not ended");
	tap_expect(!process_is_of(pidfd, USER), "a process that has ended is taken for one");
	close(pidfd);
	tap_subject(subject);
}

int main(void)
{
	pid_t pid = start(USER);

	/* The test may run in a user namespace that has one user. */
	if (pid < 0) {
		tap_expect(true, "no other users");
		tap_subject("other users # SKIP needs root");
		return tap_done();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	test_process(USER, true, "a process of the user");
	test_process(USER + 1, false, "a process of another user");
	test_process(0, false, "a process of root's");
	return tap_done();
}
