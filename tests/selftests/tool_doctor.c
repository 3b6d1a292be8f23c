// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpuctl's doctor finds faults of a real machine, which the tests plant and mend: of modules,
 * vgpud, its files, exports, windows and nodes. It needs the host in the same machine.
 * tests/harness/doctor_test.py plants many more in the files of a system that does not run.
 */
#include <grp.h>
#include <sys/stat.h>

#include "agent.h"

#include "kselftest_harness.h"

#define FILE_OF_TEST	"/etc/vgpu/exports.d/doctor.conf"

FIXTURE(doctor) {
	bool begun;
};

FIXTURE_SETUP(doctor)
{
	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host module in the same machine");
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, tool_run("mkdir -p /etc/vgpu/exports.d")->status);
	self->begun = true;
}

FIXTURE_TEARDOWN(doctor)
{
	if (self->begun)
		unlink(FILE_OF_TEST);
}

/* Return: the doctor has a finding of this name among its findings, and not among what is right. */
static bool finds(const char *name)
{
	struct tool_run *run = tool_run("vgpuctl doctor --json");
	const char *end = strstr(run->out, "\"unseen\"");
	char words[80];
	const char *at;

	snprintf(words, sizeof(words), "\"name\":\"%s\"", name);
	at = strstr(run->out, words);
	if (run->status > 1 || !end)
		fprintf(stderr, "# %d: %s\n", run->status, run->out);
	return at && end && at < end;
}

static bool write_export(const char *text)
{
	FILE *file = fopen(FILE_OF_TEST, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

#define EXPECT_FOUND(name) \
	EXPECT_TRUE(finds(name)) TH_LOG("%s is not in %s", name, tool_run("vgpuctl doctor")->out)

/* A machine in which all tests pass has no error. The command also works without root. */
TEST_F(doctor, healthy)
{
	struct tool_run *run = tool_run("vgpuctl doctor --json");

	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\"schema\":1"));
	EXPECT_NE(NULL, strstr(run->out, "\"host\":true"));
	EXPECT_NE(NULL, strstr(run->out, "\"guest\":true"));
	run = tool_run("su -s /bin/sh nobody -c 'vgpuctl doctor'");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, " warning")) TH_LOG("%s", run->out);
}

TEST_F(doctor, files)
{
	EXPECT_FALSE(finds("settings-writable"));
	EXPECT_FALSE(finds("settings-mistake"));
	EXPECT_FALSE(finds("export-device-missing"));
	ASSERT_TRUE(write_export("[doctor]\npath = /dev/nonexistent\nto = 1\n"));
	EXPECT_FOUND("export-device-missing");
	/* vgpud has not read the file. */
	EXPECT_FOUND("export-not-made");
	ASSERT_EQ(0, chmod(FILE_OF_TEST, 0666));
	EXPECT_FOUND("settings-writable");
	ASSERT_EQ(0, chmod(FILE_OF_TEST, 0644));
	ASSERT_EQ(0, chown(FILE_OF_TEST, 12345, 0));
	EXPECT_FOUND("settings-owner");
	ASSERT_EQ(0, unlink(FILE_OF_TEST));
	ASSERT_TRUE(write_export("[doctor]\npath = /dev/null\nto = 1\nprofil = render\n"));
	EXPECT_FOUND("settings-mistake");
	ASSERT_TRUE(write_export("[doctor]\npath = /dev/null\nto = 2\n"));
	EXPECT_FOUND("context-id-reserved");
}

TEST_F(doctor, group)
{
	EXPECT_EQ(!getgrnam("vgpu"), finds("group-missing"));
	ASSERT_EQ(0, tool_run("cp -p /etc/vgpu/vgpud.conf /run/doctor.keep && "
			      "sed -i '/^control-group/d; /^.agent.$/a control-group = nonexistent' "
			      "/etc/vgpu/vgpud.conf")->status);
	EXPECT_FOUND("group-missing");
	EXPECT_EQ(1, tool_run("vgpuctl doctor")->status);
	EXPECT_EQ(0, tool_run("cp -p /run/doctor.keep /etc/vgpu/vgpud.conf")->status);
}

/* An export to a real guest needs vhost_vsock. */
TEST_F(doctor, vhost)
{
	bool loaded = !access("/sys/module/vhost_vsock", F_OK);

	ASSERT_EQ(0, tool_run("vgpuctl export /dev/null --to 77 --name doctor")->status);
	if (loaded)
		EXPECT_EQ(0, tool_run("rmmod vhost_vsock")->status);
	EXPECT_TRUE(finds("module-not-loaded") || finds("module-not-installed"))
		TH_LOG("%s", tool_run("vgpuctl doctor")->out);
	if (loaded)
		EXPECT_EQ(0, tool_run("modprobe vhost_vsock")->status);
	EXPECT_EQ(0, tool_run("vgpuctl unexport doctor")->status);
}

TEST_F(doctor, window)
{
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 77 --size 8K")->status);
	EXPECT_FALSE(finds("window-open-to-others"));
	ASSERT_EQ(0, chmod("/dev/vgpu-window-77", 0666));
	EXPECT_FOUND("window-open-to-others");
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 77")->status);
}

TEST_F(doctor, node)
{
	const char *node = getenv("VGPU_FWD");
	struct stat st;

	ASSERT_EQ(0, stat(node, &st));
	ASSERT_EQ(0, chmod(node, 0600));
	EXPECT_FOUND("node-closed");
	ASSERT_EQ(0, chmod(node, st.st_mode & 07777));
	EXPECT_FALSE(finds("node-closed"));
}

/* vgpud has ended or was killed, and its guest reports that; then the modules are gone. */
TEST_F_TIMEOUT(doctor, agent, 240)
{
	const char *name = getenv("VGPU_NAME");
	uint64_t end;
	int fd;

	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(name, SIGTERM));
	EXPECT_FOUND("agent-not-running");
	EXPECT_EQ(1, tool_run("vgpuctl doctor")->status);
	end = tool_now_ms() + 30000;
	while (!finds("host-silent") && tool_now_ms() < end)
		usleep(200000);
	EXPECT_FOUND("host-silent");
	fd = agent_start(name);
	EXPECT_GE(fd, 0);
	close(fd);
	ASSERT_TRUE(agent_end(name, SIGKILL));
	EXPECT_FOUND("agent-dead");
	/* Only now are the modules not in use. */
	ASSERT_EQ(0, tool_run("rmmod vgpu_guest && rmmod vgpu_host")->status);
	EXPECT_FOUND("module-not-loaded");
	EXPECT_EQ(0, tool_run("modprobe vgpu_host && modprobe vgpu_guest cid=1")->status);
	fd = agent_start(name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

TEST_HARNESS_MAIN
