// SPDX-License-Identifier: GPL-2.0-only
/*
 * If a guest runs guests of its own, the host's kvm_intel keeps pages of the guest's window that
 * the host has taken out of the window since, before Linux 6.13. So windows are made, and opened
 * by hypervisors, only while kvm_intel's parameter nested is off. A module that has only the
 * name and the parameter stands for kvm_intel here, because processors of test machines are
 * emulated: they have SVM, or no virtualization. A last test shows that a window has at most one
 * hypervisor.
 *
 * The tests need the host in the same machine: the tiers loopback and user.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "tool.h"

#include "kselftest_harness.h"

#define MODULE		"/usr/lib/vgpu-test/kvm_intel.ko"
#define CREATE		"vgpuctl window create --to 71 --size 1M"
#define ADVICE		"nested=0"

/* Return: true if the KVM of this kernel does not keep pages that were taken out of a window. */
static bool kernel_is_new(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	return major > 6 || (major == 6 && minor >= 13);
}

static int load(const char *nested)
{
	return tool_run("rmmod kvm_intel 2>/dev/null; insmod " MODULE " nested=%s", nested)->status;
}

FIXTURE(nested) {
	bool user;
};

FIXTURE_SETUP(nested)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	if (access(MODULE, F_OK) || !access("/sys/module/kvm_intel", F_OK))
		SKIP(return, "needs a machine without KVM's own module");
	self->user = tool_user_engine();
}

FIXTURE_TEARDOWN(nested)
{
	tool_run("vgpuctl window destroy --to 71 --force");
	tool_run("rmmod kvm_intel");
}

/* Connects to the window of a user-space engine. Return: the socket, or a negative errno. */
static int hypervisor_connects(void)
{
	struct sockaddr_un addr = {
		.sun_family = AF_UNIX, .sun_path = "/run/vgpu/window-71-22586",
	};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/*
 * Return: true if the keeper has closed the socket within @timeout_ms; false if the keeper still
 * waits for the hypervisor's messages.
 */
static bool is_closed(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&pfd, 1, timeout_ms) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/*
 * Opens the window as a hypervisor does. Return: 0, or an errno: ECONNRESET if the socket was
 * closed.
 */
static int hypervisor_opens(bool user)
{
	int fd, error;

	if (!user) {
		fd = open("/dev/vgpu-window-71", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return errno;
		close(fd);
		return 0;
	}
	fd = hypervisor_connects();
	if (fd < 0)
		return -fd;
	error = is_closed(fd, 3000) ? ECONNRESET : 0;
	close(fd);
	return error;
}

TEST_F(nested, window_is_not_made)
{
	struct tool_run *run;

	ASSERT_EQ(0, load("Y"));
	run = tool_run(CREATE);
	if (kernel_is_new()) {
		EXPECT_EQ(0, run->status);
		return;
	}
	EXPECT_EQ(4, run->status);
	/* The message says what to do. */
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl window list")->out, "71:"));
	ASSERT_EQ(0, load("N"));
	EXPECT_EQ(0, tool_run(CREATE)->status);
	EXPECT_EQ(0, hypervisor_opens(self->user));
}

/* Returns how often the host has logged what to do. */
static int advised(bool user)
{
	return atoi(tool_run("%s | grep -c " ADVICE, user ? "cat /run/vgpud.log" : "dmesg")->out);
}

TEST_F(nested, window_is_not_opened)
{
	const int before = advised(self->user);

	/* The window can be opened if kvm_intel is not loaded. */
	ASSERT_EQ(0, tool_run(CREATE)->status);
	EXPECT_EQ(0, hypervisor_opens(self->user));
	ASSERT_EQ(0, load("Y"));
	EXPECT_EQ(kernel_is_new() ? 0 : self->user ? ECONNRESET : EPERM,
		  hypervisor_opens(self->user));
	EXPECT_EQ(before + !kernel_is_new(), advised(self->user));
	ASSERT_EQ(0, load("N"));
	EXPECT_EQ(0, hypervisor_opens(self->user));
}

/*
 * A compromised hypervisor cannot have another guest's window while that guest's own hypervisor
 * has it. The module's windows are tested in hostile_limits (window_of_one_process).
 */
TEST_F(nested, second_hypervisor)
{
	int first, second, tries, error = ECONNRESET;

	if (!self->user)
		SKIP(return, "needs a user-space engine");
	ASSERT_EQ(0, tool_run(CREATE)->status);
	first = hypervisor_connects();
	ASSERT_GE(first, 0);
	second = hypervisor_connects();
	ASSERT_GE(second, 0);
	EXPECT_TRUE(is_closed(second, 20000));
	EXPECT_FALSE(is_closed(first, 0));
	close(second);
	close(first);
	/* The next hypervisor gets the window when the first is gone. */
	for (tries = 0; error && tries < 20; tries++)
		error = hypervisor_opens(true);
	EXPECT_EQ(0, error);
}

TEST_HARNESS_MAIN
