// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show vgpuctl's exit statuses as vgpuctl(1) documents them, its messages, which
 * say what to do, and its output on both sides. Tests that need the host's agent run where the
 * host is in the same machine.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <linux/vm_sockets.h>

#include "agent.h"

#include "kselftest_harness.h"

/* Older versions of asm-generic/socket.h lack this number. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83
#endif

#define EXPECT_RUN(expected, words, ...) do {				\
	struct tool_run *run_ = tool_run(__VA_ARGS__);			\
									\
	EXPECT_EQ(expected, run_->status) TH_LOG("%s", run_->out);	\
	EXPECT_NE(NULL, strstr(run_->out, words)) TH_LOG("%s", run_->out); \
} while (0)

TEST(wrong_arguments)
{
	EXPECT_RUN(2, "usage:", "vgpuctl");
	EXPECT_RUN(2, "no command", "vgpuctl frobnicate");
	EXPECT_RUN(2, "--help", "vgpuctl list --no-such-option");
	EXPECT_RUN(2, "--to", "vgpuctl export /dev/null");
	EXPECT_RUN(2, "PATH", "vgpuctl export --to 3");
	EXPECT_RUN(2, "PATH", "vgpuctl export /dev/null /dev/zero --to 3");
	EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to the+guest");
	EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to 0");
	EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to 4294967295");
	EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to 3:");
	EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to 3:x");
	EXPECT_RUN(2, "NAME", "vgpuctl unexport");
	EXPECT_RUN(2, "--force", "vgpuctl list --force");
	EXPECT_RUN(2, "too many", "vgpuctl status now");
	EXPECT_RUN(2, "qemu-args", "vgpuctl window");
	EXPECT_RUN(2, "no command open", "vgpuctl window open --to 3");
	EXPECT_RUN(2, "needs --to", "vgpuctl window create --size 4G");
	EXPECT_RUN(2, "needs --size", "vgpuctl window create --to 3");
	EXPECT_RUN(2, "has no --force", "vgpuctl window create --to 3 --size 4G --force");
	EXPECT_RUN(2, "has no --size", "vgpuctl window destroy --to 3 --size 4G");
	EXPECT_RUN(2, "needs --to", "vgpuctl window qemu-args");
	EXPECT_RUN(2, "has no --to", "vgpuctl window list --to 3");
	EXPECT_RUN(2, "has no --memory", "vgpuctl window create --to 3 --size 4G --memory");
	EXPECT_RUN(2, "--size 4X", "vgpuctl window create --to 3 --size 4X");
}

TEST(help_and_version)
{
	EXPECT_RUN(0, "Exit status:", "vgpuctl --help");
	EXPECT_RUN(0, "vgpuctl 0.", "vgpuctl --version");
	EXPECT_RUN(0, "usage:", "vgpud --help");
	EXPECT_RUN(0, "vgpud 0.", "vgpud --version");
}

/* Options and commands have the usual short names. */
TEST(short_names)
{
	EXPECT_RUN(0, "Exit status:", "vgpuctl -h");
	EXPECT_RUN(0, "Exit status:", "vgpuctl help");
	EXPECT_RUN(0, "vgpuctl 0.", "vgpuctl -V");
	EXPECT_RUN(0, "--read-only", "vgpuctl help export");
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl help export")->out, "--size"));
	EXPECT_RUN(0, "--size SIZE", "vgpuctl window --help");
	EXPECT_RUN(2, "no command", "vgpuctl help frobnicate");
	EXPECT_RUN(2, "-x", "vgpuctl -x list");
	EXPECT_RUN(0, "usage:", "vgpud -h");
	EXPECT_RUN(0, "vgpud 0.", "vgpud -V");
}

/*
 * Abbreviated options are errors: a script's abbreviation would mean another option as soon as
 * there is one.
 */
TEST(options_in_full)
{
	EXPECT_RUN(2, "no option --forc", "vgpuctl unexport null --forc");
	EXPECT_RUN(2, "no option --t", "vgpuctl export /dev/null --t 3");
	EXPECT_RUN(2, "no option --t", "vgpuctl export /dev/null --t=3");
	EXPECT_RUN(2, "no option --js", "vgpuctl list --js");
	EXPECT_RUN(2, "--vers", "vgpud --vers");
	EXPECT_RUN(3, "systemctl", "vgpuctl --socket=/nonexistent unexport null --force");
	/* An argument of an option, and a word after --, is no option. */
	EXPECT_RUN(3, "systemctl", "vgpuctl --socket /nonexistent unexport --to 3 -- --forc");
}

TEST(options_given_twice)
{
	EXPECT_RUN(2, "--name is given twice", "vgpuctl export /dev/null --to 3 --name a --name b");
	EXPECT_RUN(2, "one guest", "vgpuctl window create --to 3 --to 4 --size 4G");
	EXPECT_RUN(2, "one guest", "vgpuctl window qemu-args --to 3 --to 4");
}

/*
 * Numbers are decimal, or hexadecimal with 0x, on the command line and in files. A number that
 * C takes for octal is an error. A word such as 3K may be the name of a guest, which vgpud knows.
 */
TEST(numbers)
{
	static const char *const wrong[] = { "010", "08", "3K", "+3", "0x", "3 ", "1e2" };
	static const struct {
		const char *key, *words;
	} keys[] = {
		{ "path = /dev/null\nto", "is not a guest" },
		{ "to = 3\nnvidia", "is not the number of a card" },
		{ "path = /dev/null\nto = 3\nallow-ioctls", "is neither the number nor the name" },
	};
	bool name;
	size_t i, j;
	FILE *file;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		name = strpbrk(wrong[i], "Ke");
		EXPECT_RUN(name ? 3 : 2, name ? "systemctl" : "number",
			   "vgpuctl --socket /nonexistent export /dev/null --to '%s'", wrong[i]);
		EXPECT_RUN(2, "number", "vgpuctl export /dev/null --to '3:%s'", wrong[i]);
		EXPECT_RUN(2, "number", "vgpuctl export --nvidia '%s' --to 3", wrong[i]);
	}
	EXPECT_RUN(3, "systemctl", "vgpuctl --socket /nonexistent export --nvidia 0x1 --to 3");
	EXPECT_RUN(3, "systemctl", "vgpuctl --socket /nonexistent export /dev/null --to 0x10");
	EXPECT_RUN(2, "--size 010M", "vgpuctl window create --to 3 --size 010M");
	EXPECT_RUN(3, "systemctl", "vgpuctl --socket /nonexistent window create --to 3 --size 0x1T");

	ASSERT_EQ(0, tool_run("mkdir -p /tmp/vgpud-test.d")->status);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		/* A space separates words in a file, so "3 " is the right number 3 there. */
		if (strchr(wrong[i], ' '))
			continue;
		for (j = 0; j < sizeof(keys) / sizeof(keys[0]); j++) {
			file = fopen("/tmp/vgpud-test.d/test.conf", "w");
			ASSERT_NE(NULL, file);
			fprintf(file, "[a]\n%s = %s\n", keys[j].key, wrong[i]);
			fclose(file);
			EXPECT_RUN(3, keys[j].words, "vgpud --check --exports-dir /tmp/vgpud-test.d");
		}
	}
	file = fopen("/tmp/vgpud-test.d/test.conf", "w");
	ASSERT_NE(NULL, file);
	fputs("[a]\npath = /dev/null\nto = 0x10\nwindow = 1T\n", file);
	fclose(file);
	EXPECT_RUN(0, "", "vgpud --check --exports-dir /tmp/vgpud-test.d");
	tool_run("rm -r /tmp/vgpud-test.d");
}

/* A program that asks for JSON can tell errors by their status and reason. */
TEST(errors_as_json)
{
	EXPECT_RUN(2, "{\"error\":{\"status\":2,\"reason\":\"usage\",\"message\":\"",
		   "vgpuctl --json frobnicate");
	EXPECT_RUN(2, "{\"error\":{\"status\":2,", "vgpuctl list --no-such-option --json");
	EXPECT_RUN(2, "{\"error\":{\"status\":2,", "vgpuctl export /dev/null --json --to");
	EXPECT_RUN(2, "{\"error\":{\"status\":2,", "vgpuctl --json");
	EXPECT_RUN(3, "{\"error\":{\"status\":3,\"reason\":\"no-vgpu\",\"message\":\"",
		   "vgpuctl --socket /nonexistent list --json");
	/* Answers go to stdout, and errors to stderr. */
	EXPECT_RUN(0, "", "test -z \"$(vgpuctl --socket /nonexistent list --json 2>/dev/null)\"");
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(5, "{\"error\":{\"status\":5,\"reason\":\"not-found\",",
		   "vgpuctl unexport no-such --json");
	EXPECT_RUN(4, "{\"error\":{\"status\":4,\"reason\":\"denied\",",
		   "su -s /bin/sh nobody -c 'vgpuctl unexport no-such --json'");
	EXPECT_RUN(0, "\"name\":\"tool-j\"",
		   "vgpuctl export /dev/null --to 77 --name tool-j --json");
	EXPECT_RUN(0, "", "vgpuctl unexport tool-j --json");
}

/* No guest is left out silently: all of them get the export, or none does. */
TEST(several_guests)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(0, "tool-s: /dev/null to guests 77, 78:4000",
		   "vgpuctl export /dev/null --to 77 --to 78:4000 --name tool-s");
	EXPECT_RUN(0, "77, 78:4000", "vgpuctl list | grep '^tool-s '");
	EXPECT_RUN(5, "80", "vgpuctl unexport tool-s --to 77 --to 80");
	EXPECT_RUN(0, "77, 78:4000", "vgpuctl list | grep '^tool-s '");
	EXPECT_RUN(0, "", "vgpuctl unexport tool-s --to 78:4000 --to 77");
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl list")->out, "tool-s"));
}

TEST(no_agent)
{
	EXPECT_RUN(3, "systemctl start vgpud",
		   "vgpuctl --socket /nonexistent export /dev/null --to 3");
}

TEST(what_cannot_be_exported)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(5, "No such file", "vgpuctl export /dev/no-such-device --to 3");
	EXPECT_RUN(7, "not a character device", "vgpuctl export /etc/passwd --to 3");
	EXPECT_RUN(7, "not a character device", "vgpuctl export /dev --to 3");
	/* Devices of vgpu itself cannot be exported. */
	if (!tool_user_engine())
		EXPECT_RUN(7, "real device", "vgpuctl export /dev/vgpu-host --to 3");
	EXPECT_RUN(7, "real device", "vgpuctl export %s --to 3", getenv("VGPU_FWD"));
	if (getenv("VGPU_FWD_VGEM_CARD"))
		EXPECT_RUN(7, "real device", "vgpuctl export %s --to 3",
			   getenv("VGPU_FWD_VGEM_CARD"));
	EXPECT_RUN(2, "name", "vgpuctl export /dev/null --to 3 --name 'a name'");
	EXPECT_RUN(2, "name", "vgpuctl export /dev/null --to 3 --name %040d", 7);
	EXPECT_RUN(2, "path", "vgpuctl export /dev/%080d --to 3", 7);
}

TEST(export_and_unexport)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(0, "tool-a: /dev/null", "vgpuctl export /dev/null --to 77 --name tool-a");
	EXPECT_RUN(0, "tool-a", "vgpuctl list");
	/* The same export once more changes nothing, and another guest is added. */
	EXPECT_RUN(0, "tool-a", "vgpuctl export /dev/null --to 77 --name tool-a");
	EXPECT_RUN(0, "tool-a", "vgpuctl export /dev/null --to 78:4000 --name tool-a");
	EXPECT_RUN(0, "77, 78:4000", "vgpuctl list");
	/* A name in use can neither be given to another device nor have other terms. */
	EXPECT_RUN(6, "--name", "vgpuctl export /dev/zero --to 77 --name tool-a");
	EXPECT_RUN(6, "unexport", "vgpuctl export /dev/null --to 77 --name tool-a --read-only");
	EXPECT_RUN(6, "options", "vgpuctl export /dev/null --to 79 --name tool-a --master");
	EXPECT_RUN(6, "options", "vgpuctl export /dev/null --to 79 --name tool-a --no-demand");
	/* The export is taken from one guest, and then from all. */
	EXPECT_RUN(5, "not exported", "vgpuctl unexport tool-a --to 80");
	EXPECT_RUN(0, "", "vgpuctl unexport tool-a --to 77");
	EXPECT_RUN(0, "78:4000", "vgpuctl list");
	EXPECT_RUN(0, "", "vgpuctl unexport tool-a");
	EXPECT_RUN(5, "vgpuctl list", "vgpuctl unexport tool-a");
	EXPECT_EQ(NULL, strstr(tool_run("vgpuctl list")->out, "tool-a"));
	/* Status and list show the terms of an export. */
	EXPECT_RUN(0, "tool-a", "vgpuctl export /dev/null --to 77 --name tool-a --no-demand");
	EXPECT_RUN(0, "no demand pages", "vgpuctl status");
	EXPECT_RUN(0, "\"no_demand\":true", "vgpuctl list --json");
	EXPECT_RUN(0, "", "vgpuctl unexport tool-a");
}

/* Columns are below their heads, however long a name is. */
TEST(columns)
{
	const char *out, *head, *line, *name = "tool-name-of-thirty-one-letters";

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(0, name, "vgpuctl export /dev/null --to 77 --name %s", name);
	out = tool_run("vgpuctl list")->out;
	head = strstr(out, "EXPORT");
	line = strstr(out, name);
	ASSERT_NE(NULL, head);
	ASSERT_NE(NULL, line);
	EXPECT_EQ(strstr(head, "PATH") - head, strstr(line, "/dev/null") - line);
	EXPECT_EQ(strstr(head, "TO\n") - head, strstr(line, "77\n") - line);
	EXPECT_RUN(0, "", "vgpuctl unexport %s", name);
}

/* Status has the counters under the names that JSON and the manual have. */
TEST(counters)
{
	static const char *const names[] = { "lanes", "kept bytes", "owned bytes", "round trips", "fetched pages",
					     "written pages", "stray fds", "cancels" };
	size_t i;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		EXPECT_RUN(0, "", "vgpuctl status | grep -E '(^  |, )%s [0-9]'", names[i]);
	EXPECT_RUN(0, "", "vgpuctl status | grep -E 'bytes in [0-9]+(\\.[0-9])? (B|KiB|MiB|GiB),'");
	EXPECT_RUN(0, "", "vgpuctl status --json | grep -E '\"bytes_in\":[0-9]+,'");
}

/*
 * struct windows: paths and arguments for QEMU of two windows, which differ between the
 * engines.
 */
struct windows {
	const char *large, *small;
	const char *large_args, *small_args;
};

static const struct windows module_windows = {
	.large = "/dev/vgpu-window-77", .small = "/dev/vgpu-window-77-9",
	.large_args = "-object memory-backend-file,id=window,mem-path=/dev/vgpu-window-77,size=1T,share=on,align=2M "
		      "-device ivshmem-plain,memdev=window\n",
	.small_args = "mem-path=/dev/vgpu-window-77-9,size=8K,",
};

#define USER_ARGS(path)	"-chardev socket,id=window,path=" path \
			" -device vhost-user-test-device-pci,chardev=window,virtio-id=31,num_vqs=1,config_size=32\n"

static const struct windows user_windows = {
	.large = "/run/vgpu/window-77-22586", .small = "/run/vgpu/window-77-9",
	.large_args = USER_ARGS("/run/vgpu/window-77-22586"),
	.small_args = USER_ARGS("/run/vgpu/window-77-9"),
};

TEST(windows)
{
	const struct windows *all = tool_user_engine() ? &user_windows : &module_windows;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(5, "window list", "vgpuctl window qemu-args --to 77");
	EXPECT_RUN(2, "power of two", "vgpuctl window create --to 77 --size 3G");
	EXPECT_RUN(2, "8 KiB to 1 TiB", "vgpuctl window create --to 77 --size 2T");
	EXPECT_RUN(2, "8 KiB to 1 TiB", "vgpuctl window create --to 77 --size 4K");
	EXPECT_RUN(0, all->large, "vgpuctl window create --to 77 --size 1T --owner daemon");
	EXPECT_RUN(0, all->small, "vgpuctl window create --to 77:9 --size 8192");
	EXPECT_RUN(0, all->large_args, "vgpuctl window qemu-args --to 77");
	EXPECT_RUN(0, all->small_args, "vgpuctl window qemu-args --to 77:9");
	if (!tool_user_engine()) {
		EXPECT_RUN(0, "-chardev socket,id=memory,path=/run/vgpu/window-77-9 "
			   "-device vhost-user-test-device-pci,chardev=memory,virtio-id=31,num_vqs=1,config_size=32 "
			   "-object memory-backend-file,", "vgpuctl window qemu-args --to 77:9 --memory");
		EXPECT_RUN(0, "", "test -S /run/vgpu/window-77-9");
	}
	EXPECT_RUN(0, "", "vgpuctl window list | "
		   "grep -x '%s  *77:22586  *1T  *daemon  *by hand  *0  *0 of 0  *0 B'", all->large);
	EXPECT_RUN(0, "", "vgpuctl window list --json | grep '\"path\":\"%s\"'", all->small);
	/* Any user may see the windows. */
	EXPECT_RUN(0, all->large, "su -s /bin/sh nobody -c 'vgpuctl window list'");
	EXPECT_RUN(4, "only root", "su -s /bin/sh nobody -c 'vgpuctl window destroy --to 77'");
	EXPECT_RUN(0, "", "vgpuctl window destroy --to 77");
	EXPECT_RUN(0, "", "vgpuctl window destroy --to 77:9");
	EXPECT_RUN(0, "", "test ! -e /run/vgpu/window-77-9");
	EXPECT_RUN(5, "no window", "vgpuctl window destroy --to 77");
}

/* vgpud uses no directory service: if it did not answer, all guests would wait. */
TEST(no_name_service)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	/*
	 * A user that only such a service knows is given by a number. See names_test.py for the
	 * functions that vgpud calls.
	 */
	EXPECT_RUN(0, "", "vgpuctl window create --to 77 --size 8K --owner 4711");
	EXPECT_RUN(0, "", "vgpuctl window list | grep ' 8K  *4711 '");
	EXPECT_RUN(0, "", "vgpuctl window destroy --to 77");
	EXPECT_RUN(0, "", "vgpuctl window create --to 77 --size 8K --owner 4711:4712");
	EXPECT_RUN(0, "", "stat -c %%u:%%g:%%a %s | grep ^4711:471[12]:600",
		   tool_user_engine() ? "/run/vgpu/window-77-22586" : "/dev/vgpu-window-77");
	EXPECT_RUN(0, "", "vgpuctl window destroy --to 77");
	EXPECT_RUN(2, "", "vgpuctl window create --to 77 --size 8K --owner");
	EXPECT_RUN(5, "no user", "vgpuctl window create --to 77 --size 8K --owner 4294967295");
}

TEST(only_root_changes)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(4, "only root",
		   "su -s /bin/sh nobody -c 'vgpuctl export /dev/null --to 77'");
	EXPECT_RUN(4, "only root", "su -s /bin/sh nobody -c 'vgpuctl unexport %s --force'",
		   getenv("VGPU_NAME"));
	EXPECT_RUN(0, getenv("VGPU_NAME"), "su -s /bin/sh nobody -c 'vgpuctl list'");
}

TEST(port_that_somebody_has)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = 22611,
	};
	int fd;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(fd, 1));
	EXPECT_RUN(6, "port 22611", "vgpuctl export /dev/null --to 77:22611 --name tool-b");
	/* Nothing is left of the failed export. */
	EXPECT_RUN(5, "no export", "vgpuctl unexport tool-b");
	close(fd);
}

TEST(export_that_a_program_uses)
{
	const char *name = getenv("VGPU_NAME");
	int fd;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	fd = open(getenv("VGPU_FWD"), O_RDWR);
	ASSERT_GE(fd, 0);
	EXPECT_RUN(6, "--force", "vgpuctl unexport %s", name);
	EXPECT_RUN(0, name, "vgpuctl list");
	/* This program is listed by the name that the guest reports. */
	EXPECT_RUN(0, "PID IN GUEST", "vgpuctl status");
	EXPECT_RUN(0, "", "vgpuctl status | grep '^tool_vgpuctl  *1:22586  *%d '", getpid());
	EXPECT_RUN(0, "\"comm\":\"tool_vgpuctl\"", "vgpuctl status --json");
	close(fd);
}

TEST(agent_restarted_twice_is_refused)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	EXPECT_RUN(4, "another vgpud", "vgpud --socket /run/vgpu/second.sock");
	EXPECT_RUN(0, "", "vgpuctl list");
}

TEST(settings_with_mistakes)
{
	FILE *file;
	unsigned int i;
	static const struct {
		const char *text;
		int status;
		const char *words;
	} cases[] = {
		{ "[agent]\nport = 22586\n[limits]\nmapped-bytes = 2G\n", 0, "" },
		{ "[agent]\nport = many\n", 3, "number" },
		{ "[agent]\nport = 0\n", 3, "number" },
		{ "[agent]\nfetch-timeout-ms = 60001\n", 3, "60000" },
		{ "[agent]\npatience-ms = 3600001\n", 3, "3600000" },
		{ "[agent]\nlasting-timeout-ms = 60001\n", 3, "from 1 to 60000" },
		{ "[limits]\nlanes = 1\n", 3, "number" },
		{ "[limits]\ncall-bytes = 65G\n", 3, "number" },
		{ "[limits]\nmemory = 100%\n[all-guests]\nmemory = 0%\nswap = 1G\n", 0, "" },
		{ "[limits]\nmemory = 101%\n", 3, "neither a number from 0 to" },
		{ "[limits]\nmemory = %\n", 3, "neither a number from 0 to" },
		{ "[limits]\nmemory = 5 %\n", 3, "neither a number from 0 to" },
		{ "[limits]\nmemory = 00000005%\n", 3, "neither a number from 0 to" },
		{ "[limits]\ncpu-weight = 0\n", 3, "not a number from 1 to 10000" },
		{ "[limits]\ntasks = 4194305\n", 3, "not a number from 0 to 4194304" },
		{ "[limits]\nswap = 1G\n", 3, "no setting" },
		{ "[limits]\nmemory = 1G\n[shadow]\ncgroups = no\n", 3, "needs control groups" },
		{ "[shadow]\ncgroups = perhaps\n", 3, "not yes, no or auto" },
		{ "[shadow]\nnamespaces = perhaps\n", 3, "yes nor no" },
		{ "[shadow]\nnamespace = yes\n", 3, "no setting" },
		{ "[shadow]\nseccomp = yes\n", 3, "this setting is gone" },
		{ "[shadow]\nseccomp = no\n", 3, "this setting is gone" },
		{ "[agent\n", 3, ":1:" },
		{ "[agent]\nengine = user\n[sockets]\n3 = /run/a\n4 = /run/b\nowner = root\n", 0, "" },
		{ "[agent]\nengine = user\nvsock = no\n[sockets]\n3 = /run/a\n", 0, "" },
		{ "[agent]\nvsock = no\n", 3, "the guests in [sockets], which is empty" },
		{ "[sockets]\n3 = /run/a\n", 3, "[sockets] needs 'engine = user'" },
		{ "[agent]\nengine = user\n[sockets]\n2 = /run/a\n", 3, "'2' is not the context id" },
		{ "[agent]\nengine = user\n[sockets]\nx = /run/a\n", 3, "'x' is not the context id" },
		{ "[agent]\nengine = user\n[sockets]\n3 = run/a\n", 3, "absolute path" },
		{ "[agent]\nengine = user\n[sockets]\n3 =\n", 3, "absolute path" },
		{ "[agent]\nengine = user\n[sockets]\n3 = /run/a\n3 = /run/b\n", 3,
		  "has a path already" },
		{ "[agent]\nengine = user\n[sockets]\n3 = /run/a\n4 = /run/a\n", 3,
		  "another guest's" },
		{ "[agent]\nengine = user\n[sockets]\nowner = nobody-at-all\n", 3, "no user" },
	};

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file = fopen("/tmp/vgpud-test.conf", "w");
		ASSERT_NE(NULL, file);
		fputs(cases[i].text, file);
		fclose(file);
		EXPECT_RUN(cases[i].status, cases[i].words,
			   "vgpud --check --config /tmp/vgpud-test.conf");
	}
	EXPECT_RUN(3, "cannot be read", "vgpud --check --config /nonexistent");
	unlink("/tmp/vgpud-test.conf");
}

TEST(exports_with_mistakes)
{
	FILE *file;
	unsigned int i;
	static const struct {
		const char *text;
		int status;
		const char *words;
	} cases[] = {
		{ "window = 4G\n", 0, "" },
		{ "window = 1024G\nwindow-user = root\n", 0, "" },
		{ "window = 8K\n", 0, "" },
		{ "window = 4K\n", 3, "test.conf:4: [a]: window: '4K': the size of a window must be a power of two from 8 KiB to 1 TiB" },
		{ "window = 2048G\n", 3, "8 KiB to 1 TiB" },
		{ "window = 0\n", 3, "8 KiB to 1 TiB" },
		{ "\n\nwindow = 3G\n", 3, "test.conf:6: [a]: window: '3G': the size of a window must be a power of two" },
		{ "window = 1048577\n", 3, "power of two" },
		{ "window = -1\n", 3, "is not a size" },
		{ "window = 4GB\n", 3, "is not a size" },
		{ "window = 99999999999999999999G\n", 3, "is not a size" },
		{ "window =\n", 3, "is not a size" },
		{ "window-user = root\n", 3, "test.conf:4: [a]: window-user= needs window=" },
		{ "window = 4G\nwindow-user = nobody-at-all\n", 0,
		  "test.conf:5: [a]: window-user: there is no user 'nobody-at-all' in /etc/passwd: give its UID" },
		{ "window = 4G\nwindow-user = 4294967295\n", 3,
		  "test.conf:5: [a]: window-user: there is no user '4294967295'" },
		{ "window = 4G\nwindow-user =\n", 3, "no user" },
		{ "windows = 4G\n", 3, "test.conf:4: [a]: windows: there is no such setting" },
		{ "window = 1G\n[b]\npath = /dev/zero\nto = 4, 3\nwindow = 1G\n", 0, "" },
		{ "window = 1G\n[b]\npath = /dev/zero\nto = 4, 3\nwindow = 2G\n", 3,
		  "test.conf:8: [b]: guest 3:22586 gets a different window by [a]" },
		{ "window = 1G\n[b]\npath = /dev/zero\nto = 3\nwindow = 1G\nwindow-user = root\n", 3,
		  "a different window" },
		{ "window = 1G\n[b]\npath = /dev/zero\nto = 3:5\nwindow = 2G\n", 0, "" },
		{ "submit-ioctls = 0x4e03, 0x4e04\nsubmit-ioctls = 0x4e05\n", 0, "" },
		{ "submit-ioctls =\n", 3, "test.conf:4: [a]: submit-ioctls:" },
		{ "submit-ioctls = 3, 3\n", 3, "submit-ioctls: 3 is named twice" },
		{ "submit-ioctls = DRM_IOCTL_XE_EXEC\n", 3, "an ioctl of xe" },
		{ "deny-ioctls = 1\nallow-ioctls = 2\n", 3, "test.conf:5: [a]: allow-ioctls: this section already has a list of the other kind" },
		{ "[b]\npath = /dev/zero\n", 3, "test.conf:4: [b]: needs path= or nvidia=, and to=" },
		{ "nvidia = 0\n", 3, "test.conf:1: [a]: nvidia= can be combined only with to=" },
		{ "nvidia = 248\n", 3, "test.conf:4: [a]: nvidia: '248' is not the number of a card" },
		{ "[b\n", 3, "test.conf:4: not understood" },
		{ "[b c]\nto = 3\n", 3, "test.conf:4: [b c]: a name has" },
		/* A line may be longer than what is read at once. */
		{ "# ........................................................................"
		  "..........................................................................."
		  "...........................................................................\n"
		  "window = 5\n", 3, "test.conf:5: [a]: window:" },
	};

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, tool_run("mkdir -p /tmp/vgpud-test.d")->status);
		file = fopen("/tmp/vgpud-test.d/test.conf", "w");
		ASSERT_NE(NULL, file);
		fprintf(file, "[a]\npath = /dev/null\nto = 3\n%s", cases[i].text);
		fclose(file);
		EXPECT_RUN(cases[i].status, cases[i].words,
			   "vgpud --check --exports-dir /tmp/vgpud-test.d");
	}
	tool_run("rm -r /tmp/vgpud-test.d");
}

#define SOCKETS		"/tmp/vgpud-sockets"
#define SOCKET_NAME	SOCKETS "/guest_22588"
/* This command runs a second vgpud with settings of its own. */
#define SOCKETS_RUN	"vgpud --config " SOCKETS "/conf --exports-dir " SOCKETS " --socket " SOCKETS "/control"

FIXTURE(sockets) {
	bool ended;
};

/* Only one vgpud can run with engines, so the other one is ended. */
FIXTURE_SETUP(sockets)
{
	FILE *file;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	if (tool_user_engine()) {
		ASSERT_TRUE(agent_keep_exports());
		self->ended = true;
		ASSERT_TRUE(agent_end(getenv("VGPU_NAME"), SIGTERM));
	}
	tool_run("rm -rf " SOCKETS "; mkdir " SOCKETS);
	file = fopen(SOCKETS "/conf", "w");
	ASSERT_NE(NULL, file);
	fputs("[agent]\nengine = user\nvsock = no\nport = 22588\n[shadow]\ncgroups = no\n"
	      "[sockets]\n3 = " SOCKETS "/guest\n", file);
	fclose(file);
}

FIXTURE_TEARDOWN(sockets)
{
	tool_run("rm -r " SOCKETS);
	if (!self->ended)
		return;
	EXPECT_LE(0, agent_start(getenv("VGPU_NAME")));
	EXPECT_TRUE(agent_write_env());
}

/* A socket that a killed vgpud has left behind is replaced. */
TEST_F_TIMEOUT(sockets, one_of_before, 120)
{
	struct stat before, after;
	int i;

	for (i = 0; i < 2; i++) {
		/*
		 * The next vgpud can start once this one has ended, so the command waits for
		 * its end.
		 */
		EXPECT_RUN(0, "listening on sockets", "rm -f " SOCKETS "/log; "
			   SOCKETS_RUN " >" SOCKETS "/log 2>&1 & pid=$!; n=0; "
			   "while ! grep -q 'listening on' " SOCKETS "/log && [ $((n += 1)) -lt 300 ]; do "
			   "sleep 0.1; done; kill -9 $pid; wait $pid; cat " SOCKETS "/log");
		ASSERT_EQ(0, stat(SOCKET_NAME, i ? &after : &before));
	}
	EXPECT_NE(before.st_ino, after.st_ino);
}

/*
 * A user who can write to the directory can make vgpud neither connect to another user's socket
 * nor remove it.
 */
TEST_F_TIMEOUT(sockets, one_of_somebody, 120)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = SOCKETS "/other" };
	struct pollfd poll_fd = { .events = POLLIN };

	poll_fd.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, poll_fd.fd);
	ASSERT_EQ(0, bind(poll_fd.fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(poll_fd.fd, 1));
	ASSERT_EQ(0, chown(SOCKETS "/other", 65534, 65534));
	ASSERT_EQ(0, link(SOCKETS "/other", SOCKET_NAME));
	EXPECT_RUN(1, "a file of that name exists, or a process listens", "timeout 60 " SOCKETS_RUN);
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	/*
	 * The same holds if the socket has another name, or if no process listens on it any
	 * more.
	 */
	ASSERT_EQ(0, unlink(SOCKET_NAME));
	ASSERT_EQ(0, symlink(SOCKETS "/other", SOCKET_NAME));
	EXPECT_RUN(1, "a file of that name exists, or a process listens", "timeout 60 " SOCKETS_RUN);
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	close(poll_fd.fd);
	ASSERT_EQ(0, rename(SOCKETS "/other", SOCKET_NAME));
	EXPECT_RUN(1, "a file of that name exists, or a process listens", "timeout 60 " SOCKETS_RUN);
	EXPECT_EQ(0, access(SOCKET_NAME, F_OK));
}

/* The agent refuses passed files, as closing one could make the agent wait. */
TEST(files_are_refused)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "/run/vgpu/vgpud.sock" };
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .hdr.cmsg_len = CMSG_LEN(sizeof(int)) };
	struct iovec iov = { .iov_base = "{", .iov_len = 1 };
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int sock, yes = 1;

	if (!tool_has_host())
		SKIP(return, "the agent is elsewhere");
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, sock);
	if (setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes)) && errno == ENOPROTOOPT) {
		close(sock);
		SKIP(return, "the kernel cannot refuse files");
	}
	ASSERT_EQ(0, connect(sock, (struct sockaddr *)&addr, sizeof(addr)));
	control.hdr.cmsg_level = SOL_SOCKET;
	control.hdr.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.hdr), &sock, sizeof(sock));
	EXPECT_EQ(-1, sendmsg(sock, &header, MSG_NOSIGNAL));
	EXPECT_EQ(EPERM, errno);
	header.msg_controllen = 0;
	EXPECT_EQ(1, sendmsg(sock, &header, MSG_NOSIGNAL));
	close(sock);
}

/* bench compares a call with the transport alone, and says what it could not measure. */
TEST(bench)
{
	const char *fwd = getenv("VGPU_FWD");

	if (!tool_run("test -d /sys/module/vgpu_guest")->status) {
		EXPECT_RUN(5, "vgpuctl list", "vgpuctl bench no-such-device --seconds 1");
		EXPECT_RUN(0, "call of the device", "vgpuctl bench %s --seconds 1", fwd);
		EXPECT_RUN(0, "\"median_us\":", "vgpuctl bench %s --seconds 1 --json", fwd);
	}
}

TEST(guest_side)
{
	const char *node = getenv("VGPU_FWD"), *tier = getenv("VGPU_TIER");

	if (!node || !tier || !strcmp(tier, "native"))
		SKIP(return, "nothing is forwarded");
	EXPECT_RUN(0, node, "vgpuctl list");
	EXPECT_RUN(0, "connected", "vgpuctl list");
	EXPECT_RUN(0, "\"driver\":\"vgpu-mock\"", "vgpuctl list --json");
	EXPECT_RUN(0, "\"round_trips\":", "vgpuctl status --json");
	if (getenv("VGPU_FWD_VGEM_CARD"))
		EXPECT_RUN(0, getenv("VGPU_FWD_VGEM_CARD"), "vgpuctl list");
	/* The driver of the device is shown, and not that of the virtio transport. */
	if (getenv("VGPU_CHAR_GPU_CARD")) {
		EXPECT_RUN(0, "virtio_gpu\n", "cat /sys/class/vgpu/%s/driver",
			   strrchr(getenv("VGPU_CHAR_GPU_CARD"), '/') + 1);
		EXPECT_RUN(1, "", "vgpuctl list | grep virtio-pci");
	}
}

TEST_HARNESS_MAIN
