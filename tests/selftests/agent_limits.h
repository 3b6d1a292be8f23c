/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the guest that is this machine's kernel, which tests change while it is connected. */
#ifndef AGENT_LIMITS_H
#define AGENT_LIMITS_H

#include <sys/resource.h>

#include "agent_exports.h"

#define DIR_GUESTS	"/etc/vgpu/guests.d"
#define GUEST_CONF	DIR_GUESTS "/limits-1.conf"
#define SAVED_CONF	DIR_GUESTS "/self.conf"
#define PAGE		4096UL
/* All limits that the tests change follow the files again. */
#define FOLLOW		"sessions= lanes= objects= fds-per-call= pages= mappings= mapped-bytes= " \
		"patience-ms= call-bytes= all-pages= all-mappings= call-rate= open-rate= byte-rate="

FIXTURE(limits) {
	const char *name;
	char node[64];
	int fd;
	pid_t agent;		/* vgpud if its limit of files is to be put back, else 0 */
	struct rlimit files;
};

FIXTURE_SETUP(limits)
{
	self->fd = -1;
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	self->name = getenv("VGPU_NAME");
	ASSERT_EQ(0, tool_run("mkdir -p " DIR_GUESTS)->status);
	ASSERT_TRUE(agent_node(self->name, self->node));
	self->fd = open(self->node, O_RDWR);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(limits)
{
	if (!self->name)
		return;
	if (self->agent)
		EXPECT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, &self->files, NULL));
	close(self->fd);
	unlink(CONF);
	unlink(GUEST_CONF);
	unlink(SAVED_CONF);
	EXPECT_EQ(0, tool_run("vgpuctl limit 1 " FOLLOW)->status);
	EXPECT_EQ(0, tool_run("vgpuctl reload")->status);
}

/* Changes limits of this machine's guest. Return: vgpuctl says that this is done. */
static inline bool limit(const char *changes)
{
	const struct tool_run *run = tool_run("vgpuctl limit 1 %s", changes);

	if (run->status)
		fprintf(stderr, "# %s\n", run->out);
	return !run->status;
}

/* Returns a number that vgpuctl shows for a limit: "value", "use" or "most"; -1: there is none. */
static inline long shown(const char *name, const char *what)
{
	const char *at = tool_run("vgpuctl limit 1 --json")->out;
	char key[40];

	snprintf(key, sizeof(key), "\"name\":\"%s\"", name);
	at = strstr(at, key);
	snprintf(key, sizeof(key), "\"%s\":", what);
	at = at ? strstr(at, key) : NULL;
	return at && at[strlen(key)] != 'n' ? atol(at + strlen(key)) : -1;
}

/* Returns the number of the guest's calls that had to wait for a rate. */
static inline long shown_delayed(void)
{
	const char *at = strstr(tool_run("vgpuctl limit 1 --json")->out, "\"delayed\":");

	return at ? atol(at + strlen("\"delayed\":")) : -1;
}

#endif /* AGENT_LIMITS_H */
