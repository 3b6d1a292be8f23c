// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show which users may change what vgpud exports, and what the log says of those who
 * asked. They need the host in the same machine: the tiers loopback and user.
 */
#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent_exports.h"

#define SOCKET		"/run/vgpu/vgpud.sock"
#define GROUP		"vgpu-test"
#define GROUP_ID	4711
/* Users of test machines. Neither of them is a member of GROUP at first. */
#define TESTER		1000
#define OTHER		1001
#define SETTINGS	"[agent]\ncontrol-group = " GROUP "\n"

/* Sets the members of GROUP in /etc/group; NULL: removes the group. */
static bool set_group(const char *members)
{
	return !tool_run("sed -i '/^" GROUP ":/d' /etc/group%s%s%s", members ?
			 " && echo " GROUP ":x:4711:" : "", members ? members : "",
			 members ? " >>/etc/group" : "")->status;
}

/* Returns the status of a command of a user of test machines, with the groups of /etc/group. */
static int as(const char *user, const char *command)
{
	return tool_run("setpriv --reuid=%s --regid=%s --init-groups --inh-caps=-all %s", user, user,
			command)->status;
}

/* Returns the number of lines with this pattern after the first @from lines of the log. */
static int lines_since(int from, const char *pattern)
{
	return atoi(tool_run("tail -n +%d " LOG " | grep -c -e '%s'", from + 1, pattern)->out);
}

static int log_length(void)
{
	return atoi(tool_run("wc -l <" LOG)->out);
}

static bool socket_is(const char *words)
{
	return !tool_run("stat -c '%%a %%U %%G' " SOCKET " | grep -x '%s'", words)->status;
}

FIXTURE(users) {
	const char *name;
	bool any;
};

FIXTURE_SETUP(users)
{
	self->name = getenv("VGPU_NAME");
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_TRUE(agent_keep_exports());
	self->any = true;
}

FIXTURE_TEARDOWN(users)
{
	if (!self->any)
		return;
	EXPECT_TRUE(set_group(NULL));
	EXPECT_TRUE(agent_start_with(self->name, ""));
	EXPECT_TRUE(agent_write_env());
}

/* Members of a group may change exports, and no other users can connect. */
TEST_F_TIMEOUT(users, members_change, 180)
{
	int from = log_length();

	ASSERT_TRUE(set_group("tester"));
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	EXPECT_TRUE(socket_is("660 root " GROUP));
	EXPECT_EQ(0, as("tester", "vgpuctl export /dev/null --to 77 --name users-a"));
	EXPECT_EQ(0, as("tester", "vgpuctl reload"));
	EXPECT_EQ(0, as("tester", "vgpuctl status --json | grep '\"programs\":\\['"));
	EXPECT_EQ(0, as("tester", "vgpuctl unexport users-a"));
	EXPECT_EQ(4, as("other", "vgpuctl list"));
	EXPECT_EQ(4, as("other", "vgpuctl export /dev/null --to 77 --name users-b"));
	EXPECT_EQ(1, lines_since(from, "export users-a: guest 77:22586 may use it, by vgpuctl (tester, uid 1000, pid [0-9]*)$"));
	EXPECT_EQ(1, lines_since(from, "reading the exports again, by vgpuctl (tester, uid 1000, pid [0-9]*)$"));
	EXPECT_EQ(1, lines_since(from, "export users-a: is taken back, by vgpuctl (tester, uid 1000, pid [0-9]*)$"));
}

/*
 * While the group has no members, every user can ask for the list. A process that has the group all
 * the same may change exports, be it by its main group or by another one.
 */
TEST_F_TIMEOUT(users, group_of_a_process, 180)
{
	static const char *const groups[] = { "--regid=4711 --clear-groups", "--regid=1001 --groups=4711",
					      "--regid=1001 --groups=1,2,4711" };
	struct tool_run *run;
	unsigned int i;

	ASSERT_TRUE(set_group(""));
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	EXPECT_TRUE(socket_is("666 root " GROUP));
	EXPECT_EQ(0, as("other", "vgpuctl list"));
	EXPECT_NE(0, as("other", "vgpuctl status --json | grep '\"programs\":\\['"));
	EXPECT_EQ(4, as("other", "vgpuctl diff"));
	EXPECT_EQ(4, as("other", "vgpuctl reload"));
	run = tool_run("setpriv --reuid=1001 --regid=1001 --groups=4712,4710 vgpuctl export /dev/null --to 77 --name users-a");
	EXPECT_EQ(4, run->status);
	EXPECT_NE(NULL, strstr(run->out, "only root and members of the group '" GROUP "' may change"))
		TH_LOG("%s", run->out);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		run = tool_run("setpriv --reuid=1001 %s vgpuctl export /dev/null --to 77 --name users-a",
			       groups[i]);
		EXPECT_EQ(0, run->status) TH_LOG("%s: %s", groups[i], run->out);
		EXPECT_EQ(0, tool_run("vgpuctl unexport users-a")->status);
	}
}

/* Without the group, only root may change exports; a group that a setting names has to exist. */
TEST_F_TIMEOUT(users, no_group, 180)
{
	struct tool_run *run;

	ASSERT_TRUE(set_group(NULL));
	run = tool_run("printf '" SETTINGS "' >/run/users.conf; vgpud --config /run/users.conf --check");
	EXPECT_EQ(3, run->status);
	EXPECT_NE(NULL, strstr(run->out, "control-group = " GROUP ": there is no such group")) TH_LOG("%s", run->out);
	ASSERT_TRUE(agent_start_with(self->name, "[agent]\ncontrol-group =\n"));
	EXPECT_TRUE(socket_is("666 root root"));
	EXPECT_EQ(0, as("other", "vgpuctl list"));
	EXPECT_EQ(4, as("tester", "vgpuctl export /dev/null --to 77 --name users-a"));
}

/* A reload finds the group and its members again, and a missing group changes nothing. */
TEST_F_TIMEOUT(users, group_at_reload, 180)
{
	struct tool_run *run;

	ASSERT_TRUE(set_group(""));
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	EXPECT_TRUE(socket_is("666 root " GROUP));
	ASSERT_TRUE(set_group("tester"));
	EXPECT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(socket_is("660 root " GROUP));
	EXPECT_EQ(4, as("other", "vgpuctl list"));
	EXPECT_EQ(0, as("tester", "vgpuctl reload"));
	/* The group gets another ID. */
	EXPECT_EQ(0, tool_run("sed -i 's/^" GROUP ":x:4711:/" GROUP ":x:4712:/' /etc/group")->status);
	EXPECT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(socket_is("660 root " GROUP));
	EXPECT_EQ(0, as("tester", "vgpuctl reload"));
	EXPECT_NE(0, tool_run("setpriv --reuid=1001 --regid=4711 --clear-groups vgpuctl list")->status);

	ASSERT_TRUE(set_group(NULL));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "control-group = " GROUP ": there is no such group")) TH_LOG("%s", run->out);
	EXPECT_EQ(0, tool_run("setpriv --reuid=1001 --regid=4712 --clear-groups vgpuctl list")->status);
	ASSERT_TRUE(set_group(""));
	/* A signal has the same effect. */
	ASSERT_TRUE(reload());
	EXPECT_TRUE(socket_is("666 root " GROUP));
}

/* Forks a user with @nr connections to the control socket, who keeps them until the pipe ends. */
static pid_t idle_user(uid_t uid, int nr, int ready, const int end[2])
{
	const struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	pid_t pid = fork();
	char byte = 0;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(end[1]);
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		_exit(1);
	while (nr--)
		if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
			    (const struct sockaddr *)&addr, sizeof(addr)))
			_exit(1);
	if (write(ready, &byte, 1) != 1 || read(end[0], &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* However many connections other users have, members of the group can connect. */
TEST_F_TIMEOUT(users, crowd_of_others, 180)
{
	int ready[2], end[2], i;
	pid_t users[5];
	char byte;

	ASSERT_TRUE(set_group(""));
	ASSERT_TRUE(agent_start_with(self->name, SETTINGS));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(end));
	for (i = 0; i < 5; i++) {
		users[i] = idle_user(65530 - i, 40, ready[1], end);
		ASSERT_GT(users[i], 0);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	}
	/* The others have taken all that others may have. */
	EXPECT_EQ(1, as("other", "vgpuctl list"));
	EXPECT_EQ(0, tool_run("setpriv --reuid=1001 --regid=1001 --groups=4711 vgpuctl list")->status);
	EXPECT_EQ(0, tool_run("vgpuctl list")->status);
	close(end[0]);
	close(end[1]);
	/* vgpud is a child as well, and is not waited for. */
	for (i = 0; i < 5; i++)
		EXPECT_EQ(users[i], waitpid(users[i], NULL, 0));
	close(ready[0]);
	close(ready[1]);
	EXPECT_EQ(0, as("other", "vgpuctl list"));
}

/* Has a user send @line, @nr times, each time by a connection of its own. */
static bool user_sends(uid_t uid, const char *line, int nr)
{
	const struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	pid_t pid = fork();
	int status, fd;
	char answer[512];

	if (!pid) {
		if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
			_exit(1);
		while (nr--) {
			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ||
			    write(fd, line, strlen(line)) != (ssize_t)strlen(line) ||
			    read(fd, answer, sizeof(answer)) <= 0)
				_exit(1);
			close(fd);
		}
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* Refused requests are logged, too, and a user can neither fill the log nor forge its lines. */
TEST_F_TIMEOUT(users, refused_are_logged, 120)
{
	int from = log_length();

	ASSERT_TRUE(agent_start_with(self->name, "[agent]\ncontrol-group =\n"));
	EXPECT_EQ(4, as("tester", "vgpuctl export /dev/null --to 77 --name users-a"));
	EXPECT_EQ(4, as("tester", "vgpuctl window create --to 77 --size 1M"));
	EXPECT_EQ(4, as("tester", "vgpuctl reload"));
	EXPECT_NE(0, tool_run("vgpuctl unexport users-nobody-has")->status);
	EXPECT_EQ(1, lines_since(from, "refused: {\"op\":\"export\",.*dev.*null.*, by vgpuctl (tester, uid 1000, pid [0-9]*): only root may "));
	EXPECT_EQ(1, lines_since(from, "refused: {\"op\":\"window-create\",.*77.*, by vgpuctl (tester, uid 1000, pid [0-9]*): only root may "));
	EXPECT_EQ(1, lines_since(from, "refused: {\"op\":\"reload\"}, by vgpuctl (tester, uid 1000, pid [0-9]*): only root may "));
	/* A name of a member's may be any text. */
	EXPECT_TRUE(user_sends(0, "{\"op\":\"unexport\",\"name\":\"a\\nvgpud: forged\\u001b[2J\"}\n", 1));
	EXPECT_EQ(1, lines_since(from, "failed: unexport a vgpud: forged?\\[2J, by vgpuctl (root, uid 0, "));
	EXPECT_EQ(1, lines_since(from, "failed: unexport users-nobody-has.*, by vgpuctl (root, uid 0, pid [0-9]*): "));

	EXPECT_TRUE(user_sends(OTHER, "{\"op\":\"export\",\"path\":\"\rvgpud: forged\033[2J\"}\n", 1));
	EXPECT_EQ(0, lines_since(from, "^vgpud: forged"));
	EXPECT_EQ(1, lines_since(from, "refused: {.*?vgpud: forged?.*}, by vgpuctl (other, uid 1001, "));
	EXPECT_TRUE(user_sends(OTHER, "{\"op\":\"reload\"}\n", 100));
	EXPECT_GE(10, lines_since(from, "refused: .*(other, uid 1001,"));
	/* The lines of one user take no room of another's. */
	EXPECT_TRUE(user_sends(65530, "{\"op\":\"reload\"}\n", 1));
	EXPECT_EQ(1, lines_since(from, "refused: {\"op\":\"reload\"}, by vgpuctl (.*, uid 65530, pid "));
}

TEST_HARNESS_MAIN
