// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show that the counters of vgpuctl metrics and vgpuctl top are exact: a guest that the
 * test plays makes a known number of calls, with known lengths and results, and connects anew.
 */
#include "hostile_host.h"

#include "kselftest_harness.h"

#define NAME	"metrics"
#define CALLS	40
#define EVERY	5
#define ERRORS	(CALLS / EVERY)

FIXTURE(metrics) {
	struct peer peer;
};

FIXTURE_SETUP(metrics)
{
	NEEDS_HOST();
	ASSERT_EQ(0, export_as(NAME, NULL, LOOPBACK, PORT, false));
	self->peer.control = -1;
}

FIXTURE_TEARDOWN(metrics)
{
	if (!real_path)
		return;
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	unexport(NAME);
}

/**
 * struct figures - counters of the guest and of its export
 * @connected: 1 if the guest is connected
 * @connections: number of its connections
 * @all: number of all of its calls
 * @calls: number of its calls on files of the export
 * @errors: number of these that failed
 * @in: length of their messages in bytes
 * @out: length of the replies in bytes
 * @count: number of calls in the histogram
 * @inf: number of calls in the histogram's last bucket, which has all of them
 * @sum: time of all calls in the histogram, in seconds
 */
struct figures {
	double connected, connections, all, calls, errors, in, out, count, inf, sum;
};

/* Returns a number of vgpuctl's output; -1: it is not there. */
static double figure(const char *text, const char *name, const char *labels)
{
	char line[160];
	const char *at;

	snprintf(line, sizeof(line), "\n%s{guest=\"%d:%d\"%s} ", name, LOOPBACK, PORT, labels);
	at = strstr(text, line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}

static struct figures figures(void)
{
	static const char of[] = ",export=\"" NAME "\"";
	const struct tool_run *run = tool_run("echo; vgpuctl metrics | grep 'guest=\"%d:%d\"'",
					      LOOPBACK, PORT);

	return (struct figures) {
		.connected = figure(run->out, "vgpu_guest_connected", ""),
		.connections = figure(run->out, "vgpu_guest_connections_total", ""),
		.all = figure(run->out, "vgpu_guest_calls_total", ""),
		.calls = figure(run->out, "vgpu_export_calls_total", of),
		.errors = figure(run->out, "vgpu_export_errors_total", of),
		.in = figure(run->out, "vgpu_export_received_bytes_total", of),
		.out = figure(run->out, "vgpu_export_sent_bytes_total", of),
		.count = figure(run->out, "vgpu_export_call_duration_seconds_count", of),
		.inf = figure(run->out, "vgpu_export_call_duration_seconds_bucket",
			      ",export=\"" NAME "\",le=\"+Inf\""),
		.sum = figure(run->out, "vgpu_export_call_duration_seconds_sum", of),
	};
}

/* Makes calls, of which each @every-th fails. Return: the number that failed; -1: no reply came. */
static int make_calls(int lane, uint32_t object, uint64_t seq, int nr, int every)
{
	struct vgpu_reply reply;
	int i, failed = 0;
	int64_t result;
	bool fails;

	for (i = 1; i <= nr; i++) {
		fails = every && !(i % every);
		if (!peer_ioctl_send(lane, object, seq + i, fails ? _IO(VGPU_MOCK_IOC_TYPE, 0xff) :
				     VGPU_MOCK_IOC_INTEGER, NULL, 1, 0))
			return -1;
		result = peer_reply(lane, &reply, sizeof(reply), SLACK_MS);
		if (result == INT64_MIN || fails != (result < 0))
			return -1;
		failed += fails;
	}
	return failed;
}

/* A known number of calls, errors and bytes is counted, no more and no less. */
TEST_F_TIMEOUT(metrics, exact, 120)
{
	struct figures before, after;
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	before = figures();
	EXPECT_EQ(1, before.connected);
	ASSERT_EQ(ERRORS, make_calls(lane, object, 1, CALLS, EVERY));
	after = figures();
	EXPECT_EQ(CALLS, after.calls - before.calls);
	EXPECT_EQ(CALLS, after.all - before.all);
	EXPECT_EQ(ERRORS, after.errors - before.errors);
	EXPECT_EQ(CALLS * sizeof(struct vgpu_call), after.in - before.in);
	EXPECT_EQ(CALLS * sizeof(struct vgpu_reply), after.out - before.out);
	EXPECT_EQ(CALLS, after.count - before.count);
	EXPECT_EQ(after.count, after.inf);
	EXPECT_GT(after.sum, before.sum);
	close(lane);
}

/* Totals stay when the guest goes, and go on when it connects again. */
TEST_F_TIMEOUT(metrics, connects_anew, 120)
{
	struct figures before, gone, after;
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(0, make_calls(lane, object, 1, CALLS, 0));
	before = figures();
	EXPECT_GE(before.calls, CALLS);
	close(lane);
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	gone = figures();
	EXPECT_EQ(0, gone.connected);
	EXPECT_EQ(before.connections, gone.connections);
	EXPECT_EQ(before.all, gone.all);
	EXPECT_EQ(before.calls, gone.calls);
	EXPECT_EQ(before.in, gone.in);
	EXPECT_EQ(before.count, gone.count);

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(0, make_calls(lane, object, 1, CALLS, 0));
	after = figures();
	EXPECT_EQ(1, after.connected);
	EXPECT_EQ(before.connections + 1, after.connections);
	EXPECT_EQ(before.calls + CALLS, after.calls);
	EXPECT_EQ(before.count + CALLS, after.count);
	/* The OPEN is no call on a file of the export. */
	EXPECT_EQ(before.all + CALLS + 1, after.all);
	close(lane);
}

/* Programs of a guest are shown by top, to those who may see them, with their calls. */
TEST_F_TIMEOUT(metrics, programs, 120)
{
	const struct tool_run *run;
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(0, make_calls(lane, object, 1, CALLS, 0));
	run = tool_run("vgpuctl top --batch --count 2 --delay 0.2 --sort p99");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "sorted by p99")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\n1:22600 ")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\nPROGRAM ")) TH_LOG("%s", run->out);
	run = tool_run("setpriv --reuid 65534 --clear-groups vgpuctl top -b -n 1 -d 0.2");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_EQ(NULL, strstr(run->out, "\nPROGRAM ")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "may see them")) TH_LOG("%s", run->out);
	run = tool_run("vgpuctl top --json --count 1 --delay 0.2");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\"guest_pid\":")) TH_LOG("%s", run->out);
	close(lane);
}

/* Returns the sum of a counter over all guests. */
static double sum_of(const char *name)
{
	return strtod(tool_run("vgpuctl metrics | awk '/^%s{/ { n += $2 } END { print n }'",
			       name)->out, NULL);
}

/* Pages that a driver asks for, and bytes that it writes, are counted in pages. */
TEST_F_TIMEOUT(metrics, pages, 120)
{
	static unsigned char bytes[8 * 4096];
	struct vgpu_mock_large large = { .ptr = (uintptr_t)bytes, .length = sizeof(bytes) };
	double fetched = sum_of("vgpu_guest_fetched_pages_total"), written;
	int fd = open(fwd_path, O_RDWR);

	ASSERT_GE(fd, 0);
	memset(bytes, 1, sizeof(bytes));
	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	EXPECT_GE(sum_of("vgpu_guest_fetched_pages_total"), fetched + 8);
	written = sum_of("vgpu_guest_written_pages_total");
	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_OUT), &large));
	EXPECT_GE(sum_of("vgpu_guest_written_pages_total"), written + 8);
	close(fd);
}

/* Prometheus gets its metrics by a file, and by HTTP, also from a user without rights. */
TEST_F_TIMEOUT(metrics, for_prometheus, 120)
{
	const struct tool_run *run;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	run = tool_run("vgpuctl metrics openmetrics | tail -n 1");
	EXPECT_STREQ("# EOF\n", run->out);
	run = tool_run("printf 'GET /metrics HTTP/1.1\\r\\n%s\\r\\n\\r\\n' | %s | tr -d '\\r' | sed -n '1,2p; $p'",
		       "Accept: application/openmetrics-text",
		       "setpriv --reuid 65534 --clear-groups vgpuctl metrics --http");
	EXPECT_STREQ("HTTP/1.1 200 OK\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\n# EOF\n",
		     run->out);
	run = tool_run("vgpuctl metrics --textfile /tmp/vgpu.prom && vgpuctl metrics | diff - /tmp/vgpu.prom | grep -v patience; ls %s*; rm %s",
		       "/tmp/vgpu.prom", "/tmp/vgpu.prom");
	EXPECT_NE(NULL, strstr(run->out, "/tmp/vgpu.prom\n")) TH_LOG("%s", run->out);
	EXPECT_EQ(NULL, strstr(run->out, "vgpu_export")) TH_LOG("%s", run->out);
	EXPECT_EQ(5, tool_run("vgpuctl metrics --textfile /nonexistent/vgpu.prom")->status);
}

TEST_HARNESS_MAIN
