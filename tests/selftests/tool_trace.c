// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpuctl trace prints what a program does with forwarded devices, as strace does, in the guest.
 * tests/unit/test_trace.c tests how each kind of call is printed.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define INSTANCES	"/sys/kernel/tracing/instances"
/* Tracepoint of each module. */
#define EVENT		"events/vgpu_guest/vgpu_file_call"
#define HOST_EVENT	"events/vgpu_host/vgpu_host_file_call"
#define OUT		"/tmp/tool_trace.out"
#define UNKNOWN		(VGPU_MOCK_IOC_INOUT | VGPU_MOCK_UNDESCRIBED_BIT)

FIXTURE(trace) {
	int fd;
	pid_t tracers[2];
};

FIXTURE_SETUP(trace)
{
	const char *tier = getenv("VGPU_TIER");

	self->fd = -1;
	if (!tier || !strcmp(tier, "native") || !getenv("VGPU_FWD"))
		SKIP(return, "nothing is forwarded");
	if (geteuid())
		SKIP(return, "needs root");
	if (access(INSTANCES, F_OK))
		SKIP(return, "this kernel has no tracing");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(trace)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (self->tracers[i] > 0) {
			kill(self->tracers[i], SIGKILL);
			waitpid(self->tracers[i], NULL, 0);
		}
	unlink(OUT);
	if (self->fd >= 0)
		close(self->fd);
}

static bool is_on(const char *instance, const char *event)
{
	char path[400];
	FILE *file;
	bool on;

	snprintf(path, sizeof(path), INSTANCES "/%s/%s/enable", instance, event);
	file = fopen(path, "r");
	on = file && fgetc(file) == '1';
	if (file)
		fclose(file);
	return on;
}

/* Return: number of instances of vgpuctl, or only of those that are switched on. */
static unsigned int instances(bool on)
{
	DIR *dir = opendir(INSTANCES);
	const struct dirent *entry;
	unsigned int nr = 0;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "vgpuctl-", 8))
			continue;
		nr += !on || is_on(entry->d_name, EVENT) || is_on(entry->d_name, HOST_EVENT);
	}
	if (dir)
		closedir(dir);
	return nr;
}

/* Start vgpuctl with these arguments, and wait until it traces. Return: its process, or -1. */
static pid_t tracer(unsigned int others, const char *const *args)
{
	uint64_t end = tool_now_ms() + 60000;
	pid_t pid = fork();

	if (!pid) {
		execvp("vgpuctl", (char *const *)args);
		_exit(1);
	}
	while (pid > 0 && instances(true) <= others) {
		if (tool_now_ms() > end || waitpid(pid, NULL, WNOHANG)) {
			fprintf(stderr, "# vgpuctl does not trace\n");
			return -1;
		}
		usleep(20000);
	}
	return pid;
}

#define TRACER(others, ...) \
	tracer(others, (const char *const []){ "vgpuctl", "trace", __VA_ARGS__, NULL })

/* End a tracer as a terminal does. Return: its exit status. */
static int end_tracer(pid_t *pid)
{
	int status = -1;

	kill(*pid, SIGINT);
	if (waitpid(*pid, &status, 0) != *pid)
		return -1;
	*pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *output(void)
{
	return tool_run("cat " OUT)->out;
}

static const char *self_pid(void)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	return text;
}

#define EXPECT_HAS(text, ...) do { \
	char want_[400]; \
	snprintf(want_, sizeof(want_), __VA_ARGS__); \
	EXPECT_NE(NULL, strstr(text, want_)) TH_LOG("'%s' is not in:\n%s", want_, text); \
} while (0)

/* Names, files, bytes before and after, errnos, cost; and calls that are no ioctls. */
TEST_F(trace, calls)
{
	const char *node = getenv("VGPU_FWD");
	struct vgpu_mock_inout inout = { .value = 5, .keep = 0x01020304 };
	struct vgpu_mock_error error = { .error = ENOSPC };
	struct vgpu_mock_buf_create create = { .size = 4096 };
	char before[64], after[64];
	const char *text;
	void *map;

	self->tracers[0] = TRACER(0, "-o", OUT, self_pid());
	ASSERT_LT(0, self->tracers[0]);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, &inout));
	ASSERT_EQ(-1, ioctl(self->fd, VGPU_MOCK_IOC_ERROR, &error));
	ASSERT_EQ(-1, ioctl(self->fd, _IO('y', 0), 7));
	EXPECT_EQ(0x5a5a5a5a ^ 0x11, ioctl(self->fd, VGPU_MOCK_IOC_INTEGER, 0x11));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	ASSERT_NE(MAP_FAILED, map);
	/* A program that the filter leaves out. */
	EXPECT_EQ(0, tool_run("head -c 4 %s", node)->status);
	EXPECT_EQ(0, end_tracer(&self->tracers[0]));
	munmap(map, 4096);

	text = output();
	snprintf(before, sizeof(before), "05000000 00000000 04030201 00000000 00000000 00000000");
	snprintf(after, sizeof(after), "%08x %08x 04030201 00000000 05000000 00000000",
		 __builtin_bswap32(inout.value), __builtin_bswap32(inout.value >> 32));
	EXPECT_HAS(text, "ioctl(%d<%s>, VGPU_MOCK_IOC_INOUT, {%s => %s}) = 0 <0.", self->fd, node,
		   before, after);
	EXPECT_HAS(text, "> [1 round trip, 0 pages]\n");
	EXPECT_HAS(text, "VGPU_MOCK_IOC_ERROR, {1c000000 00000000");
	EXPECT_HAS(text, ") = -1 ENOSPC (No space left on device) <0.");
	EXPECT_HAS(text, "ioctl(%d<%s>, _IOC(_IOC_NONE, 0x79, 0x0, 0x0), 0x7) = -1 ENOTTY (",
		   self->fd, node);
	EXPECT_HAS(text, "VGPU_MOCK_IOC_INTEGER, 0x11) = %d <", 0x5a5a5a5a ^ 0x11);
	EXPECT_HAS(text, "mmap(0x%lx, 4096, PROT_READ, MAP_SHARED, %d<%s>, 0x%llx) = 0 <",
		   (unsigned long)map, self->fd, node, (unsigned long long)create.out_offset);
	EXPECT_EQ(NULL, strstr(text, "open(")) TH_LOG("%s", text);
	EXPECT_EQ(NULL, strstr(text, "[pid ")) TH_LOG("%s", text);
	EXPECT_EQ(0, instances(false));
}

/* Ioctls without a schema, and the summary, as text and as JSON. */
TEST_F(trace, sums)
{
	struct vgpu_mock_array array = { .count = 2 };
	struct vgpu_mock_inout inout = { 0 };
	uint32_t elems[2] = { 1, 2 };
	const char *text;
	unsigned int i;

	array.ptr = (uintptr_t)elems;
	self->tracers[0] = TRACER(0, "--unknown", "-o", OUT, self_pid());
	ASSERT_LT(0, self->tracers[0]);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, ioctl(self->fd, UNKNOWN, &inout));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, &inout));
	EXPECT_EQ(0, end_tracer(&self->tracers[0]));
	text = output();
	EXPECT_HAS(text, "        3         0         3         0 %#010x ", (unsigned int)UNKNOWN);
	EXPECT_HAS(text, " _IOC(_IOC_READ|_IOC_WRITE, 0xb5, 0x83, 0x18)\n");
	EXPECT_EQ(NULL, strstr(text, "VGPU_MOCK")) TH_LOG("%s", text);

	self->tracers[0] = TRACER(0, "-c", "--json", "--output", OUT, "-e", "VGPU_MOCK_*", self_pid());
	ASSERT_LT(0, self->tracers[0]);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, &inout));
	ASSERT_EQ(-1, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, NULL));
	ASSERT_EQ(0, ioctl(self->fd, UNKNOWN, &inout));
	EXPECT_EQ(0, end_tracer(&self->tracers[0]));
	text = output();
	EXPECT_HAS(text, "{\"schema\":1,\"type\":\"summary\",\"calls\":[{\"name\":\"VGPU_MOCK_IOC_INOUT\",");
	EXPECT_HAS(text, "\"calls\":2,\"errors\":1,");
	EXPECT_HAS(text, "}],\"lost\":0}\n");

	/* The driver reads memory behind a pointer that nothing describes: it is fetched. */
	self->tracers[0] = TRACER(0, "-o", OUT, self_pid());
	ASSERT_LT(0, self->tracers[0]);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_IN), &array));
	EXPECT_EQ(0, end_tracer(&self->tracers[0]));
	text = output();
	EXPECT_HAS(text, "> [2 round trips, 1 page] no schema\n");
}

/* Each tracer has an instance of its own. One that was killed leaves nothing for long. */
TEST_F(trace, tracers)
{
	struct vgpu_mock_inout inout = { 0 };
	const char *text;

	self->tracers[0] = TRACER(0, "-o", OUT ".all");
	ASSERT_LT(0, self->tracers[0]);
	self->tracers[1] = TRACER(1, "-e", "!VGPU_MOCK_IOC_IN*", "-o", OUT, self_pid());
	ASSERT_LT(0, self->tracers[1]);
	EXPECT_EQ(2, instances(true));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, &inout));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(0, end_tracer(&self->tracers[1]));
	EXPECT_EQ(1, instances(true));
	EXPECT_EQ(NULL, strstr(output(), "INOUT")) TH_LOG("%s", output());
	EXPECT_HAS(output(), "VGPU_MOCK_IOC_NOOP, 0) = 0");

	kill(self->tracers[0], SIGKILL);
	ASSERT_EQ(self->tracers[0], waitpid(self->tracers[0], NULL, 0));
	self->tracers[0] = 0;
	EXPECT_EQ(1, instances(true));
	text = tool_run("vgpuctl trace -o /dev/null -- true")->out;
	EXPECT_STREQ("", text);
	EXPECT_EQ(0, instances(false));
	text = tool_run("cat " OUT ".all; rm " OUT ".all")->out;
	EXPECT_HAS(text, "[pid %d<", getpid());
	EXPECT_HAS(text, "VGPU_MOCK_IOC_INOUT, {");
}

/* A command is traced from its first call to its end, and its status is the one of vgpuctl. */
TEST_F(trace, command)
{
	const char *node = getenv("VGPU_FWD"), *card = getenv("VGPU_FWD_VGEM_CARD");
	struct tool_run *run;
	const char *text;

	run = tool_run("vgpuctl trace -o " OUT " -- dd if=%s of=/dev/null bs=8 count=1 status=none", node);
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	text = output();
	EXPECT_HAS(text, "open(\"%s\", O_RDONLY", node);
	EXPECT_HAS(text, "read(0<%s>, 8) = 8 <", node);
	EXPECT_EQ(7, tool_run("vgpuctl trace -- sh -c 'exit 7'")->status);
	EXPECT_EQ(127, tool_run("vgpuctl trace -- /nonexistent")->status);
	/* Its children are traced with -f only, and then lines say which thread made the call. */
	run = tool_run("vgpuctl trace -e open -- sh -c 'head -c 8 %s >/dev/null; true'", node);
	EXPECT_EQ(NULL, strstr(run->out, "open(")) TH_LOG("%s", run->out);
	run = tool_run("vgpuctl trace -f -e open -- sh -c 'head -c 8 %s >/dev/null; true'", node);
	EXPECT_HAS(run->out, "<head>] open(\"%s\", O_RDONLY", node);
	if (!card)
		return;
	run = tool_run("vgpuctl trace -o " OUT " -- drm_info %s", card);
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	text = output();
	EXPECT_HAS(text, "<%s>, DRM_IOCTL_VERSION, {version_major=0 => 1, ", card);
	EXPECT_HAS(text, "DRM_IOCTL_GET_CAP, {capability=5, value=0 => 3}) = 0 <0.");
}

static void expect_failed(struct __test_metadata *_metadata, int status, const char *words,
			  const char *command)
{
	struct tool_run *run = tool_run("%s", command);

	EXPECT_EQ(status, run->status) TH_LOG("%s", run->out);
	EXPECT_HAS(run->out, "%s", words);
	EXPECT_EQ(0, instances(false));
}

/* The host's module reports the calls of a guest, and vgpud knows the program. */
TEST_F(trace, host)
{
	struct vgpu_mock_inout inout = { .value = 5 };
	struct tool_run *run;
	char after[24];

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	if (tool_user_engine()) {
		run = tool_run("vgpuctl trace --to 1");
		EXPECT_NE(0, run->status);
		EXPECT_HAS(run->out, "in the guest");
		return;
	}
	self->tracers[0] = TRACER(0, "--to", "1", "-o", OUT);
	ASSERT_LT(0, self->tracers[0]);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_INOUT, &inout));
	EXPECT_EQ(0, end_tracer(&self->tracers[0]));
	snprintf(after, sizeof(after), "%08x %08x", __builtin_bswap32(inout.value),
		 __builtin_bswap32(inout.value >> 32));
	EXPECT_HAS(output(), "[pid %d<tool_trace>] ioctl(\"%s\", _IOC(_IOC_READ|_IOC_WRITE, 0xb5, 0x3, 0x18), {05000000 00000000",
		   getpid(), getenv("VGPU_REAL"));
	EXPECT_HAS(output(), " => %s ", after);
	run = tool_run("vgpuctl trace --to 77");
	EXPECT_EQ(5, run->status) TH_LOG("%s", run->out);
	EXPECT_HAS(run->out, "the guest 77 is not connected");
	EXPECT_EQ(0, instances(false));
}

/* The command says why it cannot work, and what to do. */
TEST_F(trace, failures)
{
	expect_failed(_metadata, 4, "only root may trace",
		      "su -s /bin/sh nobody -c 'vgpuctl trace'");
	expect_failed(_metadata, 5, "there is no process 4194303", "vgpuctl trace 4194303");
	expect_failed(_metadata, 2, "is no process: in a guest trace takes a PID", "vgpuctl trace web");
	expect_failed(_metadata, 2, "--follow needs a PID", "vgpuctl trace -f");
	expect_failed(_metadata, 2, "too many arguments", "vgpuctl trace 1 2");
	expect_failed(_metadata, 5, "/nonexistent/file", "vgpuctl trace -o /nonexistent/file");
	expect_failed(_metadata, 2, "--output needs", "vgpuctl trace -o");
	expect_failed(_metadata, 1, "is not mounted: 'mount -t tracefs",
		      "unshare -m sh -c 'umount /sys/kernel/tracing && vgpuctl trace'");
}

TEST_HARNESS_MAIN
