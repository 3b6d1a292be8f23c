// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and limits of guests that change while the guest runs programs: by vgpuctl, by files of
 * guests.d, and by files that vgpuctl writes. The guest is the kernel of this machine.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "agent_limits.h"

/* This name of a directory is that of a file of guests.d, which cannot be read. */
#define UNREADABLE	DIR_GUESTS "/limits-2.conf"
#define SETTINGS	"/run/agent-limits.conf"

/* Opens the node until that fails, or @most times, and closes it. Return: the number of opens. */
static int opens(const char *node, int most)
{
	int fds[16], nr = 0, i, error;

	while (nr < most && (fds[nr] = open(node, O_RDWR)) >= 0)
		nr++;
	error = errno;
	for (i = 0; i < nr; i++)
		close(fds[i]);
	errno = error;
	return nr;
}

/* Opens the node once. Return: 0, or the errno. The file is closed. */
static int open_once(const char *node)
{
	int fd = open(node, O_RDWR), error = errno;

	if (fd < 0)
		return error;
	close(fd);
	return 0;
}

/* More files than a new limit allows stay open, and no others are opened until some are closed. */
TEST_F_TIMEOUT(limits, objects, 120)
{
	int fds[5], i;

	for (i = 0; i < 5; i++) {
		fds[i] = open(self->node, O_RDWR);
		ASSERT_GE(fds[i], 0);
	}
	ASSERT_TRUE(limit("objects=3"));
	EXPECT_EQ(EMFILE, open_once(self->node));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, ioctl(fds[i], VGPU_MOCK_IOC_NOOP, 0));
	for (i = 0; i < 3; i++)
		close(fds[i]);
	/* The test has three files now, which is the limit. */
	EXPECT_EQ(EMFILE, open_once(self->node));
	close(fds[3]);
	EXPECT_EQ(0, open_once(self->node));
	ASSERT_TRUE(limit("objects=2"));
	EXPECT_EQ(EMFILE, open_once(self->node));
	ASSERT_TRUE(limit("objects=4"));
	EXPECT_EQ(0, open_once(self->node));
	close(fds[4]);
	EXPECT_GE(shown("objects", "most"), 6);
	EXPECT_EQ(4, shown("objects", "value"));
	EXPECT_EQ(1, shown("objects", "use"));
}

TEST_F_TIMEOUT(limits, files_of_a_call, 60)
{
	int numbers[3];
	struct vgpu_mock_fds fds = { .ptr = (uintptr_t)numbers, .count = 3 };
	int i;

	ASSERT_TRUE(limit("fds-per-call=2"));
	EXPECT_EQ(-1, ioctl(self->fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	EXPECT_EQ(EMFILE, errno);
	ASSERT_TRUE(limit("fds-per-call=3"));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	for (i = 0; i < 3; i++)
		close(numbers[i]);
}

TEST_F_TIMEOUT(limits, pages, 60)
{
	static unsigned char bytes[40 * PAGE];
	struct vgpu_mock_large large = { .ptr = (uintptr_t)bytes, .length = sizeof(bytes) };

	memset(bytes, 1, sizeof(bytes));
	ASSERT_TRUE(limit("pages=16"));
	EXPECT_EQ(-1, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	EXPECT_EQ(ENOBUFS, errno);
	ASSERT_TRUE(limit("pages=64"));
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	EXPECT_GE(shown("pages", "most"), 16);
}

TEST_F_TIMEOUT(limits, mappings, 60)
{
	struct vgpu_mock_buf_create create = { .size = 16 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	volatile char *first, *second;

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	first = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	ASSERT_NE(MAP_FAILED, first);
	ASSERT_TRUE(limit("mappings=1"));
	second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	EXPECT_EQ(MAP_FAILED, second);
	EXPECT_EQ(ENOMEM, errno);
	/* The mapping that is there can be used. */
	(void)first[0];
	ASSERT_TRUE(limit("mappings=2 mapped-bytes=4K"));
	second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	EXPECT_EQ(MAP_FAILED, second);
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_TRUE(limit("mapped-bytes=8K"));
	second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	ASSERT_NE(MAP_FAILED, second);
	EXPECT_GE(shown("mapped-bytes", "use"), 8192);
	EXPECT_GE(shown("mappings", "most"), 2);
	munmap((void *)first, PAGE);
	munmap((void *)second, PAGE);
}

/* Runs a program that opens the node and stays. Return: its pid, or 0 if the open fails. */
static pid_t program(const char *node)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		if (open(node, O_RDWR) < 0)
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

static void program_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_F_TIMEOUT(limits, sessions, 120)
{
	pid_t first, second;

	first = program(self->node);
	ASSERT_NE(0, first);
	ASSERT_TRUE(limit("sessions=1"));
	EXPECT_EQ(0, program(self->node));
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	ASSERT_TRUE(limit("sessions=3"));
	second = program(self->node);
	EXPECT_NE(0, second);
	EXPECT_GE(shown("sessions", "use"), 3);
	if (second)
		program_end(second);
	program_end(first);
}

TEST_F_TIMEOUT(limits, patience, 60)
{
	long before = tool_counter("patience_ms");

	ASSERT_GT(before, 100);
	ASSERT_TRUE(limit("patience-ms=100"));
	EXPECT_LE(tool_counter("patience_ms"), 100);
	ASSERT_TRUE(limit("patience-ms="));
	EXPECT_GT(tool_counter("patience_ms"), 100);
}

/* A limit that the guest was told when it connected does not change before it connects again. */
TEST_F_TIMEOUT(limits, told, 60)
{
	const struct tool_run *run = tool_run("vgpuctl limit 1 call-bytes=1M objects=100");

	EXPECT_EQ(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, "call-bytes: applies when the guest connects anew"));
	EXPECT_EQ(NULL, strstr(run->out, "objects"));
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
}

/* Either all limits of a command are changed, or none. */
TEST_F_TIMEOUT(limits, mistakes, 60)
{
	static const char *const mistakes[] = {
		"objects=0", "objects=x", "objects=9 foo=1", "objects=9 pages=1", "objects",
		"objects=9 sessions=99999999", "objects=9 --save",
	};
	const long before = shown("objects", "value");
	unsigned int i;

	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		EXPECT_EQ(2, tool_run("vgpuctl limit 1 %s", mistakes[i])->status)
			TH_LOG("%s", mistakes[i]);
		EXPECT_EQ(before, shown("objects", "value")) TH_LOG("%s", mistakes[i]);
	}
	EXPECT_EQ(5, tool_run("vgpuctl limit nobody")->status);
	EXPECT_EQ(5, tool_run("vgpuctl limit nobody objects=9")->status);
	EXPECT_EQ(4, tool_run("setpriv --reuid 65534 --clear-groups vgpuctl limit 1 objects=9")->status);
	EXPECT_EQ(before, shown("objects", "value"));
}

/* Files give the guest a name and limits, and a reload changes both without a new connection. */
TEST_F_TIMEOUT(limits, reload, 120)
{
	const long before = shown("objects", "value");
	const struct tool_run *run;

	ASSERT_TRUE(write_file(GUEST_CONF, "[guest self]\ncid = 1\nobjects = 3\n"));
	run = tool_run("vgpuctl reload");
	ASSERT_EQ(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, "guest self: is new: 1:"));
	EXPECT_NE(NULL, strstr(run->out, "guest self: objects is 3, not"));
	EXPECT_EQ(2, opens(self->node, 10));
	EXPECT_EQ(EMFILE, errno);
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_TRUE(listed(" self (connected)"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, "guest self, 1:"));
	/* A limit that vgpuctl sets goes before the files, until vgpuctl lets it go. */
	EXPECT_EQ(0, tool_run("vgpuctl limit self objects=5")->status);
	EXPECT_EQ(4, opens(self->node, 10));
	EXPECT_EQ(0, tool_run("vgpuctl limit self objects=")->status);
	EXPECT_EQ(2, opens(self->node, 10));
	/* A mistake changes nothing. */
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest self]\ncid = 1\nobjects = 0\n"));
	EXPECT_EQ(1, tool_run("vgpuctl reload")->status);
	EXPECT_EQ(2, opens(self->node, 10));
	ASSERT_EQ(0, unlink(GUEST_CONF));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_EQ(before, shown("objects", "value"));
	EXPECT_EQ(10, opens(self->node, 10));
}

/* Exports name guests, in files and in commands. */
TEST_F_TIMEOUT(limits, names, 120)
{
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest other]\ncid = 66\n[guest third]\ncid = 67:22612\n"));
	ASSERT_TRUE(write_export(CONF, "config-a", "other, 68", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(listed("^config-a .* other, 68$"));
	EXPECT_EQ(0, tool_run("vgpuctl export /dev/zero --to third --to other --name config-b")->status);
	EXPECT_TRUE(listed("^config-b .* third, other$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-b --to 66")->status);
	EXPECT_TRUE(listed("^config-b .* third$"));
	EXPECT_EQ(5, tool_run("vgpuctl unexport config-b --to nobody")->status);
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-b --to third")->status);
	/* A name that exports use must not go. */
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67:22612\n"));
	EXPECT_EQ(1, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(listed("^config-a .* other, 68$"));
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_FALSE(listed("^config-"));
}

/* Limits that are saved survive vgpud, and the other lines of the file stay. */
TEST_F_TIMEOUT(limits, saved, 240)
{
	static const char conf[] = "# Written by hand.\n[guest third]\ncid = 67\n"
		"[guest self]\ncid = 1\n; A comment.\nobjects = 9\nsessions = 20\n";
	char text[512] = "";
	FILE *file;
	int fd;

	ASSERT_TRUE(write_file(GUEST_CONF, conf));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, tool_run("vgpuctl limit self objects=3 pages=100 sessions= --save")->status);
	EXPECT_EQ(2, opens(self->node, 10));
	file = fopen(GUEST_CONF, "r");
	ASSERT_NE(NULL, file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	EXPECT_EQ(0, strcmp("# Written by hand.\n[guest third]\ncid = 67\n"
			    "[guest self]\ncid = 1\n; A comment.\nobjects = 3\npages = 100\n", text))
		TH_LOG("%s", text);
	/* A guest whose name is in no file of guests.d yet gets a file. */
	EXPECT_EQ(5, tool_run("vgpuctl limit fourth objects=3 --save")->status);
	EXPECT_EQ(0, tool_run("vgpuctl limit third objects=7 --save; cat " GUEST_CONF)->status);

	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	fd = agent_start(self->name);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(3, shown("objects", "value"));
	EXPECT_EQ(100, shown("pages", "value"));
	EXPECT_TRUE(agent_node(self->name, self->node));
	EXPECT_EQ(2, opens(self->node, 10));
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

/* Starts vgpud, which is to refuse. Return: vgpud says @words, and ends with status 3. */
static bool start_fails(const char *options, const char *words)
{
	const struct tool_run *run = tool_run("timeout 60 vgpud %s", options);
	const bool said = strstr(run->out, words);

	if (run->status != 3 || !said)
		fprintf(stderr, "# status %d: %s\n", run->status, run->out);
	return run->status == 3 && said;
}

/*
 * A guest whose section is not understood would have the limits of all guests, so vgpud does not
 * start then. A vgpud that runs keeps what it has.
 */
TEST_F_TIMEOUT(limits, mistake_at_start, 300)
{
	int fd;

	ASSERT_TRUE(write_file(GUEST_CONF, "[guest self]\ncid = 1\nobjects = 3\n"));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, mkdir(UNREADABLE, 0755));
	EXPECT_EQ(1, tool_run("vgpuctl reload")->status);
	EXPECT_EQ(3, shown("objects", "value"));

	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	EXPECT_TRUE(start_fails("", UNREADABLE ": Is a directory"));
	EXPECT_EQ(0, rmdir(UNREADABLE));
	EXPECT_TRUE(write_file(GUEST_CONF, "[guest self]\ncid = 1\nobjects = 0\n"));
	EXPECT_TRUE(start_fails("", GUEST_CONF ":3: [guest self]: objects: "));
	EXPECT_TRUE(write_file(GUEST_CONF, "[guest self]\nobjects = 3\n"));
	EXPECT_TRUE(start_fails("", GUEST_CONF ":1: [guest self]: needs cid="));
	EXPECT_EQ(0, unlink(GUEST_CONF));
	/* A directory that the settings name has to exist. */
	EXPECT_EQ(0, tool_run("cat /etc/vgpu/vgpud.conf >" SETTINGS "; echo '[agent]' >>" SETTINGS "; "
			      "echo 'guests-dir = " DIR_GUESTS ".nowhere' >>" SETTINGS)->status);
	EXPECT_TRUE(start_fails("--config " SETTINGS, DIR_GUESTS ".nowhere: No such file or directory"));
	unlink(SETTINGS);
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_node(self->name, self->node));
	EXPECT_TRUE(agent_write_env());
}

/*
 * Starts a vgpud beside the one that runs, with few open files. It ends after it has looked at its
 * limits. Return: it says that these are too low.
 */
static bool too_few_files(void)
{
	const struct tool_run *run = tool_run("prlimit --nofile=6000 timeout 60 vgpud --exports-dir /nonexistent --socket /run/agent-limits.sock");

	if (!strstr(run->out, "another vgpud is running"))
		fprintf(stderr, "# %s\n", run->out);
	return strstr(run->out, "a limit of 6000 open files is too low");
}

/* vgpud has an open file for each session, so the limits of each guest count. */
TEST_F_TIMEOUT(limits, files_of_sessions, 120)
{
	EXPECT_FALSE(too_few_files());
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67\nsessions = 5000\n"));
	EXPECT_TRUE(too_few_files());
}

/*
 * Returns the pid of vgpud; -1: there is none. Before vgpud's child runs a program, the child is a
 * vgpud as well.
 */
static pid_t pid_of_vgpud(void)
{
	const uint64_t end = tool_now_ms() + 10000;
	pid_t pid;

	while (tool_processes("/vgpud", &pid) != 1) {
		if (tool_now_ms() >= end)
			return -1;
		usleep(20000);
	}
	return pid;
}

/* vgpud tries whether the programs of a guest could have a limit, and keeps its own limits. */
TEST_F_TIMEOUT(limits, tried_and_put_back, 120)
{
	const struct rlimit fewer = { 65536, 65536 };
	const pid_t pid = pid_of_vgpud();
	struct rlimit after = {};

	ASSERT_GT(pid, 0);
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67\nobjects = 20\n"));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, prlimit(pid, RLIMIT_NOFILE, &fewer, &self->files));
	self->agent = pid;
	EXPECT_EQ(0, tool_run("vgpuctl limit third objects=200000")->status);
	EXPECT_EQ(0, prlimit(pid, RLIMIT_NOFILE, NULL, &after));
	EXPECT_EQ(fewer.rlim_max, after.rlim_max);
	EXPECT_EQ(0, tool_run("vgpuctl limit third objects=")->status);
}

/* Starts a vgpud that may not raise limits, in place of the one that was ended. */
#define WITHOUT_RIGHT	"prlimit --nofile=65536 --memlock=unlimited --nproc=unlimited " \
			"setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource"
#define TOO_MANY	"programs of guest third need "
#define ADVICE		"or lower 'objects' in [guest third]"

/* The programs of each guest have to be able to have the limits of that guest. */
TEST_F_TIMEOUT(limits, files_of_named_guests, 300)
{
	const struct tool_run *run;
	int fd;

	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	EXPECT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67\nobjects = 200000\n"));
	run = tool_run("timeout 60 " WITHOUT_RIGHT " vgpud");
	EXPECT_EQ(3, run->status);
	EXPECT_NE(NULL, strstr(run->out, TOO_MANY)) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);
	/* A check warns, as vgpud may start with other resource limits. */
	run = tool_run(WITHOUT_RIGHT " vgpud --check");
	EXPECT_EQ(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);

	/* A vgpud that runs refuses such limits. */
	EXPECT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67\nobjects = 20\n"));
	ASSERT_EQ(0, tool_run("setsid " WITHOUT_RIGHT " vgpud >>" LOG " 2>&1 </dev/null &")->status);
	fd = agent_await(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	run = tool_run("vgpuctl limit third objects=200000");
	EXPECT_EQ(2, run->status);
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);
	EXPECT_TRUE(write_file(GUEST_CONF, "[guest third]\ncid = 67\nobjects = 200000\n"));
	run = tool_run("vgpuctl diff");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, ADVICE)) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl limit third")->out, " 20 ")) TH_LOG("%s", tool_run("vgpuctl limit third")->out);
	EXPECT_EQ(0, unlink(GUEST_CONF));
	EXPECT_TRUE(agent_end(self->name, SIGTERM));
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_node(self->name, self->node));
	EXPECT_TRUE(agent_write_env());
}

TEST_HARNESS_MAIN
