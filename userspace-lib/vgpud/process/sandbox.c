// SPDX-License-Identifier: MIT
/* Sandboxes: users, namespaces and control groups of the programs of guests. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rights.h"
#include "config/guests.h"
#include "process/cgroup.h"
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

/* Bits of the user IDs that are taken, from settings.uid_base on. */
static uint8_t taken[SETTINGS_UIDS_MAX / 8];

void sandbox_init(struct sandbox *sandbox, uint32_t cid, uint32_t port, bool keeper)
{
	/* A keeper has the limits of all guests: it stays while those of its guest change. */
	const struct limits limits = keeper ? settings.limits : guest_limits(cid, port);
	unsigned int i;

	*sandbox = (struct sandbox) {
		.cid = cid,
		.port = port,
		.keeper = keeper,
		.cgroup_fd = -1,
		.limits = group_limits_of(&limits),
	};
	for (i = 0; i < SANDBOX_NAMESPACES; i++)
		sandbox->namespaces[i] = -1;
}

bool sandbox_take_user(struct sandbox *sandbox)
{
	unsigned int i;

	sandbox->uid = 0;
	for (i = 0; i < settings.uid_count; i++)
		if (!(taken[i / 8] & 1 << i % 8)) {
			taken[i / 8] |= 1 << i % 8;
			sandbox->uid = settings.uid_base + i;
			return true;
		}
	return false;
}

bool sandbox_keep_user(struct sandbox *sandbox, unsigned int uid)
{
	unsigned int i = uid - settings.uid_base;

	if (uid < settings.uid_base || i >= settings.uid_count || (taken[i / 8] & 1 << i % 8))
		return false;
	taken[i / 8] |= 1 << i % 8;
	sandbox->uid = uid;
	return true;
}

void sandbox_return_user(struct sandbox *sandbox)
{
	unsigned int i = sandbox->uid - settings.uid_base;

	if (sandbox->uid)
		taken[i / 8] &= ~(1 << i % 8);
	sandbox->uid = 0;
}

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

static void namespaces_close(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		if (namespaces[i] >= 0)
			close(namespaces[i]);
		namespaces[i] = -1;
	}
}

/*
 * Make the guest's namespaces, one set for each guest and not for each shadow: vgpud enters new
 * ones, opens their files, and returns to its own. Sockets that are open stay in the namespace in
 * which they were made.
 */
static int namespaces_open(int *namespaces)
{
	int home[SANDBOX_NAMESPACES] = { -1, -1, -1 };
	int ret;

	if (!settings.namespaces || namespaces[0] >= 0)
		return 0;
	ret = open_all(home);
	if (!ret && unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS))
		ret = -errno;
	if (ret)
		goto out_close;
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

int sandbox_open(struct sandbox *sandbox)
{
	int ret = namespaces_open(sandbox->namespaces);

	return ret ? ret : cgroup_open(sandbox);
}

void sandbox_kill(const struct sandbox *sandbox, pid_t pid, int pidfd)
{
	int ret = process_end(pid, pidfd, sandbox->uid);

	/* -ESRCH: it has ended, and was no child. */
	if (ret && ret != -ESRCH)
		log_guest(sandbox->cid, sandbox->port, "vgpud cannot end process %d: %s", pid,
			  strerror(-ret));
}

void sandbox_close(struct sandbox *sandbox)
{
	sandbox_return_user(sandbox);
	namespaces_close(sandbox->namespaces);
	cgroup_close(sandbox);
}
