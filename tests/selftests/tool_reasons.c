// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest reports why it has no device: in sysfs, and by vgpuctl's list and exit status. The
 * test is the host, which does not answer, refuses for several reasons, or exports nothing.
 */
#include <errno.h>
#include <poll.h>

#include "host_played.h"

#include "kselftest_harness.h"

#define HOSTS		"/sys/module/vgpu_guest/hosts/1:22999/"
#define PATIENCE_MS	30000

FIXTURE(reasons) {
	bool begun;
};

FIXTURE_SETUP(reasons)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	if (geteuid())
		SKIP(return, "needs root");
	tool_run("modprobe -q vsock_loopback");
	self->begun = true;
	ASSERT_EQ(0, tool_run("rmmod vgpu_guest")->status);
	ASSERT_EQ(0, tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status);
}

FIXTURE_TEARDOWN(reasons)
{
	if (!self->begun)
		return;
	host_end();
	EXPECT_TRUE(restore());
}

/* Waits until the module reports this state of the host. Return: true if it does. */
static bool await_state(const char *state)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	char line[64];

	for (;;) {
		tool_read_line(HOSTS "state", line, sizeof(line));
		if (!strcmp(line, state))
			return true;
		if (tool_now_ms() >= end) {
			fprintf(stderr, "# it is: %s\n", line);
			return false;
		}
		usleep(20000);
	}
}

/*
 * Refuses the next connection of a guest with this error. Return: true if the guest has closed
 * the connection.
 */
static bool refuse(int error)
{
	struct vgpu_refuse refuse = {
		.hdr.len = htole32(sizeof(refuse)),
		.hdr.type = htole16(VGPU_MSG_REFUSE),
		.error = htole32(error),
	};
	struct pollfd pollfd = { .fd = listener, .events = POLLIN };
	struct vgpu_hello hello;
	bool done = false;

	if (listener < 0 && !host_listen(PORT))
		return false;
	pollfd.fd = listener;
	if (poll(&pollfd, 1, PATIENCE_MS) == 1) {
		control = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		done = recv(control, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello) &&
		       send_all(&refuse, sizeof(refuse)) && recv(control, &hello, 1, 0) <= 0;
		close(control);
		control = -1;
	}
	return done;
}

/*
 * Expects that vgpuctl list prints @words, and ends with @expected, the status of the error
 * named @reason. If the host is in the same machine there is more to list, so vgpuctl succeeds.
 */
#define EXPECT_LIST(expected, reason, words) do {				\
	struct tool_run *run_ = tool_run("vgpuctl list");			\
										\
	EXPECT_EQ(tool_has_host() ? 0 : (expected), run_->status);		\
	EXPECT_NE(NULL, strstr(run_->out, "host 1:22999: " words)) TH_LOG("%s", run_->out); \
	run_ = tool_run("(vgpuctl list --json 2>&1 >/dev/null)");			\
	EXPECT_EQ(!tool_has_host(), !!strstr(run_->out,				\
		  "\"reason\":\"" reason "\",\"message\":\"host 1:22999: ")) TH_LOG("%s", run_->out); \
} while (0)

TEST_F_TIMEOUT(reasons, no_host, 120)
{
	struct tool_run *run;

	ASSERT_TRUE(await_state("no host"));
	EXPECT_LIST(8, "no-host", "no host: nobody answers");
	run = tool_run("vgpuctl list --json");
	EXPECT_NE(NULL, strstr(run->out, "\"state\":\"no host\"")) TH_LOG("%s", run->out);
	EXPECT_NE(0, atoi(tool_run("cat " HOSTS "error")->out));
}

TEST_F_TIMEOUT(reasons, refused, 120)
{
	ASSERT_TRUE(refuse(EACCES));
	ASSERT_TRUE(await_state("refused"));
	EXPECT_LIST(9, "refused", "refused: the connection does not come from a port below 1024");
	EXPECT_EQ(EACCES, atoi(tool_run("cat " HOSTS "error")->out));
	ASSERT_TRUE(refuse(EBUSY));
	while (atoi(tool_run("cat " HOSTS "error")->out) == EACCES)
		usleep(20000);
	EXPECT_LIST(9, "refused", "refused: an older connection");
}

TEST_F_TIMEOUT(reasons, version, 120)
{
	ASSERT_TRUE(refuse(EPROTONOSUPPORT));
	ASSERT_TRUE(await_state("wrong version"));
	EXPECT_LIST(10, "wrong-version", "wrong version: the host speaks another version");
}

/* The host exports nothing to the guest, or exports a device that does not exist. */
TEST_F_TIMEOUT(reasons, nothing, 120)
{
	struct vgpu_export_add add;

	ASSERT_TRUE(refuse(ENOENT));
	ASSERT_TRUE(await_state("nothing exported"));
	EXPECT_LIST(11, "nothing-exported", "nothing exported: the host exports nothing to this guest");
	ASSERT_TRUE(host_welcome());
	ASSERT_TRUE(await_state("connected"));
	EXPECT_LIST(11, "nothing-exported", "connected: the devices that it exports to this guest are not there");
	fill_export(&add, "card", NULL);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	while (tool_find_export("card") < 0)
		usleep(20000);
	EXPECT_EQ(0, tool_run("vgpuctl list")->status);
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl list")->out, "host 1:22999: "));
}

/*
 * The agent is the host: it refuses a guest without exports before the guest sends anything,
 * and accepts the guest when it gets an export.
 */
TEST_F_TIMEOUT(reasons, agent, 120)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_EQ(0, tool_run("vgpuctl export /dev/null --to 77:%d --name reasons", PORT)->status);
	EXPECT_TRUE(await_state("nothing exported"));
	EXPECT_EQ(0, tool_run("vgpuctl export /dev/null --to 1:%d --name reasons", PORT)->status);
	EXPECT_TRUE(await_state("connected"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport reasons --force")->status);
}

/*
 * A guest that is given one host twice would end its own connection again and again, so the
 * module refuses that.
 */
TEST_F(reasons, twice)
{
	EXPECT_EQ(0, tool_run("rmmod vgpu_guest")->status);
	EXPECT_NE(0, tool_run("modprobe vgpu_guest cid=1,1 port=%d,%d", PORT, PORT)->status);
	EXPECT_EQ(0, tool_run("modprobe vgpu_guest cid=1,1 port=%d,%d", PORT, PORT + 1)->status);
	EXPECT_EQ(0, tool_run("test -d /sys/module/vgpu_guest/hosts/1:%d", PORT + 1)->status);
}

/*
 * The log of the kernel says what is wrong with the module's parameters. (These are failures that
 * need a module; errors_test.py has the others.)
 */
TEST_F(reasons, parameters)
{
	static const struct {
		const char *parameters, *cause, *remedy;
	} wrong[] = {
		{ "cid=1,1", "host 1:22586 is given twice", "give each host once" },
		{ "cid=host", "`host' invalid for parameter `cid'", "" },
		{ "cid=1,2,3,4,5,6,7,8,9", "cid: can only take 8 arguments", "" },
	};
	const struct tool_run *run;
	size_t i;

	EXPECT_EQ(0, tool_run("rmmod vgpu_guest")->status);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		EXPECT_NE(0, tool_run("modprobe vgpu_guest %s", wrong[i].parameters)->status);
		run = tool_run("dmesg | tail -n 5");
		EXPECT_NE(NULL, strstr(run->out, wrong[i].cause)) TH_LOG("%s", run->out);
		EXPECT_NE(NULL, strstr(run->out, wrong[i].remedy)) TH_LOG("%s", run->out);
	}
	EXPECT_EQ(0, tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status);
}

TEST_HARNESS_MAIN
