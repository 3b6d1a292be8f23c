// SPDX-License-Identifier: MIT
/* Sandboxes: users, namespaces and control groups of the programs of guests. */
#include "config/config.h"
#include "process/cgroup.h"
#include "process/namespace.h"
#include "process/sandbox.h"

/* Bits of the user IDs that are taken, from settings.uid_base on. */
static uint8_t taken[SETTINGS_UIDS_MAX / 8];

void sandbox_init(struct sandbox *sandbox, uint32_t cid, uint32_t port, bool keeper)
{
	unsigned int i;

	*sandbox = (struct sandbox){ .cid = cid, .port = port, .keeper = keeper, .cgroup_fd = -1 };
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

void sandbox_return_user(struct sandbox *sandbox)
{
	unsigned int i = sandbox->uid - settings.uid_base;

	if (sandbox->uid)
		taken[i / 8] &= ~(1 << i % 8);
	sandbox->uid = 0;
}

void sandbox_close(struct sandbox *sandbox)
{
	sandbox_return_user(sandbox);
	namespaces_close(sandbox->namespaces);
	cgroup_close(sandbox);
}
