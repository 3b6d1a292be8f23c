// SPDX-License-Identifier: MIT
/* Namespaces of the programs of guests. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "process/namespace.h"
#include "process/sandbox.h"
#include "shared/log.h"

static const struct {
	const char *path;
	int flag;
} kinds[SANDBOX_NAMESPACES] = {
	{ "/proc/self/ns/net", CLONE_NEWNET },
	{ "/proc/self/ns/ipc", CLONE_NEWIPC },
	{ "/proc/self/ns/uts", CLONE_NEWUTS },
};

static int open_all(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		namespaces[i] = open(kinds[i].path, O_RDONLY | O_CLOEXEC);
		if (namespaces[i] < 0)
			return -errno;
	}
	return 0;
}

int namespaces_enter(const int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++)
		if (setns(namespaces[i], kinds[i].flag))
			return -errno;
	return 0;
}

void namespaces_close(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		if (namespaces[i] >= 0)
			close(namespaces[i]);
		namespaces[i] = -1;
	}
}

/*
 * Make the guest's namespaces: vgpud enters new ones, opens them, and returns to its own. This
 * makes one set for each guest, not for each shadow. Sockets that are open stay in the
 * namespace in which they were made.
 */
int namespaces_open(int *namespaces)
{
	int home[SANDBOX_NAMESPACES] = { -1, -1, -1 };
	int ret;

	if (!settings.namespaces || namespaces[0] >= 0)
		return 0;
	ret = open_all(home);
	if (ret)
		goto out_close;
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)) {
		ret = -errno;
		goto out_close;
	}
	ret = open_all(namespaces);
	if (namespaces_enter(home)) {
		/* vgpud may be left in some of the guest's namespaces: it cannot go on. */
		log_error("vgpud cannot return to its own namespaces: %s", strerror(errno));
		abort();
	}
	if (ret)
		namespaces_close(namespaces);

out_close:
	namespaces_close(home);
	return ret;
}

