// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups of guests: where they are, their limits, and what vgpud says if it cannot make
 * them. The tests need the host in the same machine, without systemd: the tiers loopback and user.
 */
#include <errno.h>
#include <sys/stat.h>

#include "agent.h"

#include "kselftest_harness.h"

#define ROOT		"/sys/fs/cgroup"
#define ALL		ROOT "/vgpu/guests"
#define GUEST		"/vgpu-guest-1-22586"
/* A group of its own, in which a test starts vgpud. */
#define OWN		ROOT "/test-vgpud"

/* Reads the group of a process: its path in the hierarchy. */
static void group_of(pid_t pid, char group[128])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	tool_read_line(path, group, 128);
	memmove(group, group + strcspn(group, "/"), strlen(group + strcspn(group, "/")) + 1);
}

/* Reads a limit; -1: there is no such file, or it says "max". */
static long long limit(const char *group, const char *name)
{
	char path[256], line[64];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	tool_read_line(path, line, sizeof(line));
	return *line >= '0' && *line <= '9' ? atoll(line) : -1;
}

static bool has(const char *group, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	return !access(path, F_OK);
}

/* Returns the machine's memory in bytes, without huge pages. */
static long long memory(void)
{
	long long total = 0, huge = 0;
	FILE *stream = fopen("/proc/meminfo", "r");
	char line[128];

	while (stream && fgets(line, sizeof(line), stream)) {
		sscanf(line, "MemTotal: %lld kB", &total);
		sscanf(line, "Hugetlb: %lld kB", &huge);
	}
	if (stream)
		fclose(stream);
	return (total - huge) * 1024;
}

static bool about(long long value, long long expected)
{
	return value >= expected - expected / 50 && value <= expected + expected / 50;
}

FIXTURE(groups) {
	const char *name;
};

FIXTURE_SETUP(groups)
{
	char group[128];

	self->name = getenv("VGPU_NAME");
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	group_of(getpid(), group);
	if (strcmp(group, "/") || !has(ROOT, "cgroup.controllers"))
		SKIP(return, "needs the test in the root group");
	ASSERT_TRUE(agent_keep_exports());
}

FIXTURE_TEARDOWN(groups)
{
	EXPECT_TRUE(agent_start_with(self->name, ""));
	EXPECT_TRUE(agent_write_env());
}

/* Without any setting, a guest has a group with limits, in a group with higher limits. */
TEST_F_TIMEOUT(groups, by_default, 120)
{
	char group[128];
	pid_t shadow = 0;
	int fd;

	fd = agent_open(self->name);
	ASSERT_GE(fd, 0);
	ASSERT_GT(tool_processes(tool_shadow(), &shadow), 0);
	group_of(shadow, group);
	EXPECT_STREQ("/vgpu/guests" GUEST, group);
	EXPECT_TRUE(about(limit(ALL GUEST, "memory.max"), memory() / 4));
	EXPECT_TRUE(about(limit(ALL, "memory.max"), memory() / 2));
	if (has(ALL, "memory.swap.max"))
		EXPECT_EQ(0, limit(ALL, "memory.swap.max"));
	EXPECT_LT(0, limit(ALL GUEST, "pids.max"));
	EXPECT_LT(limit(ALL GUEST, "pids.max"), limit(ALL, "pids.max"));
	EXPECT_LT(limit(ALL, "pids.max"), limit("/proc/sys/kernel", "threads-max"));
	EXPECT_EQ(0, limit(ALL GUEST, "memory.oom.group"));
	/* The debug kernel does not have these controllers. */
	if (has(ROOT "/vgpu", "cpu.weight")) {
		EXPECT_EQ(100, limit(ALL GUEST, "cpu.weight"));
		EXPECT_EQ(100, limit(ALL, "cpu.weight"));
		EXPECT_EQ(100 * sysconf(_SC_NPROCESSORS_ONLN), limit(ROOT "/vgpu", "cpu.weight"));
	}
	EXPECT_EQ(0, tool_run("vgpuctl status | grep -q '^host: ' && "
			      "! vgpuctl status | grep 'no control groups'")->status);
	close(fd);
}

static int oom_score_adj(pid_t pid)
{
	char path[64], line[16];

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	tool_read_line(path, line, sizeof(line));
	return atoi(line);
}

/* The kernel prefers a shadow, which is one program, to an engine, and both to vgpud. */
TEST_F(groups, oom_score_adj)
{
	pid_t shadow = 0, engine = 0;
	int fd;

	fd = agent_open(self->name);
	ASSERT_GE(fd, 0);
	ASSERT_GT(tool_processes(tool_shadow(), &shadow), 0);
	EXPECT_EQ(-500, oom_score_adj(agent_pid()));
	EXPECT_EQ(0, oom_score_adj(shadow));
	if (tool_user_engine()) {
		ASSERT_EQ(1, tool_processes("/vgpu-engine", &engine));
		EXPECT_EQ(-250, oom_score_adj(engine));
	}
	close(fd);
}

/*
 * The group of a guest stays when vgpud is killed. The next vgpud gives it and the group of all
 * guests the limits of its own settings.
 */
TEST_F_TIMEOUT(groups, left_over, 180)
{
	int fd;

	ASSERT_TRUE(agent_start_with(self->name, "[limits]\nmemory = 200M\ntasks = 1000\n"
				     "cpu-weight = 50\nio-weight = 60\n"
				     "[all-guests]\nmemory = 40%%\nswap = 1M\ntasks = 2000\n"));
	fd = agent_open(self->name);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(200 << 20, limit(ALL GUEST, "memory.max"));
	EXPECT_EQ(1000, limit(ALL GUEST, "pids.max"));
	EXPECT_TRUE(about(limit(ALL, "memory.max"), memory() / 10 * 4));
	EXPECT_EQ(2000, limit(ALL, "pids.max"));
	if (has(ALL, "memory.swap.max"))
		EXPECT_EQ(1 << 20, limit(ALL, "memory.swap.max"));
	if (has(ALL GUEST, "cpu.weight"))
		EXPECT_EQ(50, limit(ALL GUEST, "cpu.weight"));
	if (has(ALL GUEST, "io.weight"))
		EXPECT_EQ(0, tool_run("grep -qx 'default 60' " ALL GUEST "/io.weight")->status);
	close(fd);
	ASSERT_TRUE(agent_end(self->name, SIGKILL));
	ASSERT_TRUE(has(ALL, GUEST + 1));
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_start_with(self->name, "[limits]\nmemory = 0\n[all-guests]\nmemory = 0\n"));
	fd = agent_open(self->name);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(-1, limit(ALL GUEST, "memory.max"));
	EXPECT_EQ(-1, limit(ALL, "memory.max"));
	EXPECT_NE(1000, limit(ALL GUEST, "pids.max"));
	EXPECT_NE(2000, limit(ALL, "pids.max"));
	if (has(ALL GUEST, "cpu.weight"))
		EXPECT_EQ(100, limit(ALL GUEST, "cpu.weight"));
	close(fd);
}

/* A guest has limits of its own, which change while it runs programs. */
TEST_F_TIMEOUT(groups, of_one_guest, 180)
{
	long long tasks;
	int fd;

	ASSERT_TRUE(agent_start_with(self->name, "[limits]\nmemory = 400M\n[guest self]\ncid = 1\n"
				     "memory = 300M\ncpu-weight = 70\n"));
	fd = agent_open(self->name);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(300 << 20, limit(ALL GUEST, "memory.max"));
	if (has(ALL GUEST, "cpu.weight"))
		EXPECT_EQ(70, limit(ALL GUEST, "cpu.weight"));
	tasks = limit(ALL GUEST, "pids.max");
	EXPECT_EQ(0, tool_run("vgpuctl limit self memory=250M sessions=4 lanes=4")->status);
	EXPECT_EQ(250 << 20, limit(ALL GUEST, "memory.max"));
	/* Fewer programs need fewer threads. */
	EXPECT_GT(tasks, limit(ALL GUEST, "pids.max"));
	EXPECT_EQ(0, tool_run("vgpuctl limit self tasks=900")->status);
	EXPECT_EQ(900, limit(ALL GUEST, "pids.max"));
	EXPECT_EQ(0, tool_run("vgpuctl limit self memory= tasks= sessions= lanes=")->status);
	EXPECT_EQ(300 << 20, limit(ALL GUEST, "memory.max"));
	EXPECT_EQ(tasks, limit(ALL GUEST, "pids.max"));
	close(fd);
}

/* Opens the device in a process that stays. Return: its pid; or 0, and the process has ended. */
static pid_t open_and_stay(const char *node)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (open(node, O_RDWR) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status))
		return pid;
	return 0;
}

/* A guest does not get more threads than its group may have, and has them again later. */
TEST_F_TIMEOUT(groups, tasks, 180)
{
	pid_t pids[40], again;
	char node[64];
	int nr = 0, i;

	ASSERT_TRUE(agent_start_with(self->name, "[limits]\ntasks = 40\n"));
	ASSERT_TRUE(agent_node(self->name, node));
	while (nr < 40 && (pids[nr] = open_and_stay(node)))
		nr++;
	/* Each session has a process with at least two threads. */
	EXPECT_LT(1, nr);
	EXPECT_GT(20, nr);
	EXPECT_GE(40, limit(ALL GUEST, "pids.current"));
	EXPECT_EQ(1, tool_run("grep -qx 'max 0' " ALL GUEST "/pids.events")->status);
	for (i = 0; i < nr; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (i = 0; i < 500 && !(again = open_and_stay(node)); i++)
		usleep(20000);
	EXPECT_LT(i, 500);
	kill(again, SIGKILL);
	waitpid(again, NULL, 0);
}

/* Without groups, programs of guests are in vgpud's group, and vgpuctl says so. */
TEST_F_TIMEOUT(groups, not_wanted, 120)
{
	char group[128];
	pid_t shadow = 0;
	int fd;

	ASSERT_TRUE(agent_start_with(self->name, "[shadow]\ncgroups = no\n"));
	fd = agent_open(self->name);
	ASSERT_GE(fd, 0);
	ASSERT_GT(tool_processes(tool_shadow(), &shadow), 0);
	group_of(shadow, group);
	EXPECT_STREQ("/", group);
	EXPECT_EQ(0, tool_run("vgpuctl status | grep -q 'no control groups'")->status);
	close(fd);
}

/* Starts vgpud in the group OWN, in which no other process is. */
static void agent_run_in_own(void)
{
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	if (!tool_write(OWN "/cgroup.procs", "0"))
		_exit(1);
	agent_run(NULL);
	_exit(0);
}

/* A group that has no other process is vgpud's own. vgpud moves to a child of the group. */
TEST_F_TIMEOUT(groups, in_a_group_of_its_own, 120)
{
	pid_t vgpud = 0, shadow = 0;
	char group[128];
	int fd;

	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	ASSERT_EQ(0, mkdir(OWN, 0755));
	agent_run_in_own();
	fd = agent_await(self->name);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(1, tool_processes("/vgpud", &vgpud));
	EXPECT_GT(tool_processes(tool_shadow(), &shadow), 0);
	group_of(vgpud, group);
	EXPECT_STREQ("/test-vgpud/agent", group);
	group_of(shadow, group);
	EXPECT_STREQ("/test-vgpud/guests" GUEST, group);
	close(fd);
	EXPECT_TRUE(agent_end(self->name, SIGTERM));
	EXPECT_EQ(0, tool_run("for i in $(seq 100); do rmdir " OWN "/guests/* " OWN "/* " OWN "; "
			      "[ ! -d " OWN " ] && exit 0; busybox usleep 100000; done; exit 1")->status);
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
}

/*
 * Runs vgpud for some seconds in a group that another process is in, with these settings. The
 * shells end together.
 */
#define IN_A_SHARED_GROUP						\
	"exec 2>&1; mkdir " OWN "; sh -c 'echo 0 >" OWN "/cgroup.procs; sleep 100 & "	\
	"printf \"[shadow]\\ncgroups = %s\\n\" >/run/vgpud-own.conf; "		\
	"timeout 5 vgpud --config /run/vgpud-own.conf; said=$?; kill $!; wait $! 2>/dev/null; " \
	"echo 0 >" ROOT "/cgroup.procs; exit $said'; said=$?; rmdir " OWN "/* " OWN " 2>/dev/null; exit $said"

/* vgpud does not start where its group is not its own, unless the settings allow it. */
TEST_F_TIMEOUT(groups, beside_others, 120)
{
	struct tool_run *run;
	int fd;

	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	run = tool_run(IN_A_SHARED_GROUP, "yes");
	EXPECT_EQ(3, run->status);
	EXPECT_NE(NULL, strstr(run->out, "other processes are in the group that vgpud runs in: start vgpud in a group of its own, or set 'cgroups = no'"))
		TH_LOG("%s", run->out);
	run = tool_run(IN_A_SHARED_GROUP, "auto");
	EXPECT_NE(3, run->status);
	EXPECT_NE(NULL, strstr(run->out, "guests have no control groups, so a guest could use up"))
		TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "listening on")) TH_LOG("%s", run->out);
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
}

TEST_HARNESS_MAIN
