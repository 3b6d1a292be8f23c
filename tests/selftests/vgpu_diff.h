/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differential tests: one function runs on the real device and on the forwarded
 * one, each time in a process of its own. Each run writes an account of the
 * results. Both accounts must be equal.
 *
 *	DIFF_TEST(name) { ... }		a test of the device's behaviour
 *	DIFF_TEST_LIMIT(name, seconds)	DIFF_TEST with a time limit, see kselftest_harness.h
 *	DIFF_TEST_TWINS(name)		a test that runs twice, with the commands that
 *					schemas describe and with their undescribed twins
 *	DIFF_TEST_TWINS_LIMIT(name, seconds)	DIFF_TEST_TWINS with a time limit
 *
 * The body uses LOG_CALL(), log_line() and log_bytes() for results that must be
 * equal, and CHECK() for conditions that must hold on each device by itself. A
 * body that cannot run on a device calls diff_skip(). The body can use:
 *
 *	path		path of the device
 *	forwarded	true if the device is the forwarded one
 *	CMD(name)	the mock's command, or its twin
 *
 * The environment variables VGPU_REAL and VGPU_FWD name the devices. When both
 * name one device, or VGPU_TIER is "native", nothing is forwarded. A test that
 * needs another device than the mock uses DIFF_TEST_NODE(name, "STREAM", seconds),
 * which reads VGPU_REAL_STREAM and VGPU_FWD_STREAM.
 *
 * With two machines the real device is on the host, and a device of the guest's
 * own may have another version or be missing. So the host runs the test program
 * first, natively, and VGPU_RECORD=FOLDER makes it save its accounts. The guest
 * compares with these accounts when VGPU_RECORDED=FOLDER is set.
 */
#ifndef VGPU_DIFF_H
#define VGPU_DIFF_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "vgpu_mock.h"
#include "vgpu_mock_pattern.h"

#define DIFF_SECONDS		40
#define DIFF_ACCOUNT_BYTES	(256 * 1024)

/* The account of one run, in memory shared with the test. */
struct diff_account {
	unsigned int used;
	unsigned int failed;		/* number of failed CHECKs */
	char reason[80];		/* reason of diff_skip() */
	char text[DIFF_ACCOUNT_BYTES];
};

static struct diff_account *diff_now;	/* account of this run */
static const char *path;
static bool forwarded;
static unsigned int twin;

#define CMD(name)	(VGPU_MOCK_IOC_ ## name | twin)

static inline void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	unsigned int room = sizeof(diff_now->text) - diff_now->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(diff_now->text + diff_now->used, room, format, args);
	va_end(args);
	if (n < 0 || (unsigned int)n + 2 > room)
		_exit(99);
	diff_now->used += n;
	diff_now->text[diff_now->used++] = '\n';
}

/* Logs the length, the hash and the first bytes. */
static inline void log_bytes(const char *label, const void *data, size_t length)
{
	const unsigned char *p = data;
	char hex[3 * 32 + 1] = "";
	size_t i;

	for (i = 0; i < length && i < 32; i++)
		sprintf(hex + 3 * i, " %02x", p[i]);
	log_line("%s: %zu bytes, hash %016llx:%s", label, length,
		 (unsigned long long)vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, length), hex);
}

/* Evaluates @expr, logs its value and errno, and gives both to the caller. */
#define LOG_CALL(expr) ({						\
	long long diff_value;						\
	int diff_errno;							\
									\
	errno = 0;							\
	diff_value = (expr);						\
	diff_errno = diff_value == -1 ? errno : 0;			\
	log_line("%s = %lld%s%s", #expr, diff_value,			\
		 diff_errno ? " " : "",					\
		 diff_errno ? strerrorname_np(diff_errno) : "");	\
	errno = diff_errno;						\
	diff_value;							\
})

#define CHECK(condition) ({						\
	bool diff_ok = (condition);					\
									\
	if (!diff_ok) {							\
		int diff_saved = errno;					\
									\
		__atomic_add_fetch(&diff_now->failed, 1, __ATOMIC_SEQ_CST); \
		log_line("%s:%d: check failed: %s (errno %d)",		\
			 __FILE__, __LINE__, #condition, diff_saved);	\
	}								\
	diff_ok;							\
})

/* Ends the run when a condition fails without which the test cannot go on. */
#define MUST(condition) do {						\
	if (!CHECK(condition))						\
		_exit(1);						\
} while (0)

/* Ends the run, because the device or the kernel lacks the subject of the test. */
static inline void diff_skip(const char *reason)
{
	snprintf(diff_now->reason, sizeof(diff_now->reason), "%s", reason);
	log_line("skipped: %s", reason);
	_exit(0);
}

/* Returns the number of repetitions: @times, or fewer if VGPU_TIMES says so. */
static inline int diff_times(int times)
{
	const char *limit = getenv("VGPU_TIMES");

	return limit && atoi(limit) < times ? atoi(limit) : times;
}

/* Returns the duration of a race in milliseconds: less if VGPU_TIMES is set. */
static inline unsigned int diff_race_ms(void)
{
	return getenv("VGPU_TIMES") ? 500 : 1500;
}

static inline int open_device(int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		log_line("open %s: %s", forwarded ? "forwarded" : "real", strerror(errno));
	MUST(fd >= 0);
	return fd;
}

static inline __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec delay = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&delay, &delay) && errno == EINTR)
		;
}

/* Returns pages whose neighbours cannot be accessed. */
static inline void *alloc_pages(size_t pages)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (pages + 2) * page, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED);
	MUST(!mprotect(memory + page, pages * page, PROT_READ | PROT_WRITE));
	return memory + page;
}

/* Returns memory that is filled with a pattern and ends at an inaccessible page. */
static inline void *alloc_bytes(size_t length, __u64 seed)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t pages = (length + page - 1) / page;
	char *memory = alloc_pages(pages ? pages : 1);

	memory += (pages ? pages : 1) * page - length;
	vgpu_mock_pattern(memory, length, seed, 0);
	return memory;
}

/* Reads a counter of the forwarded device from the guest's sysfs. Return: -1 on errors. */
static inline long long forward_counter(int fd, const char *name)
{
	long long value = -1;
	struct stat st;
	char file[128];
	FILE *stream;

	if (fstat(fd, &st))
		return -1;
	snprintf(file, sizeof(file), "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	stream = fopen(file, "r");
	if (!stream)
		return -1;
	if (fscanf(stream, "%lld", &value) != 1)
		value = -1;
	fclose(stream);
	return value;
}

/*
 * Calls an ioctl. An ioctl that a schema describes must take one round trip and
 * fetch no page; its twin only has to give the same result.
 */
static inline int diff_ioctl(int fd, unsigned long cmd, void *arg)
{
	bool counted = forwarded && !(cmd & VGPU_MOCK_UNDESCRIBED_BIT);
	long long trips = 0, pages = 0;
	int saved;
	int ret;

	if (counted) {
		trips = forward_counter(fd, "round_trips");
		pages = forward_counter(fd, "fetched_pages");
		CHECK(trips >= 0 && pages >= 0);
	}
	ret = ioctl(fd, cmd, arg);
	saved = errno;
	if (counted) {
		CHECK(forward_counter(fd, "round_trips") - trips == 1);
		CHECK(forward_counter(fd, "fetched_pages") - pages == 0);
	}
	errno = saved;
	return ret;
}

typedef void (*diff_body)(void);

struct diff_side {
	const char *name;
	const char *path;
	bool forwarded;
};

static inline const char *diff_node(const char *side, const char *node)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s", side, node ? "_" : "", node ? node : "");
	return getenv(name);
}

static inline bool diff_forwarded(const char *real, const char *fwd)
{
	const char *tier = getenv("VGPU_TIER");

	return strcmp(real, fwd) && (!tier || strcmp(tier, "native"));
}

/* Return: the host's engine is the user-space program and not the module. */
static inline bool diff_user_engine(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && !strcmp(tier, "user");
}

/* Return: the real device is in this machine, and is the one that is forwarded. */
static inline bool diff_one_machine(void)
{
	const char *tier = getenv("VGPU_TIER");

	return !tier || !strcmp(tier, "native") || !strcmp(tier, "loopback") ||
	       diff_user_engine();
}

/* Runs the body in a process group of its own, and kills that group afterwards. */
static inline void diff_run(struct diff_account *account, const struct diff_side *side,
			    unsigned int with_twin, diff_body body, unsigned int seconds)
{
	__u64 deadline = now_ms() + KSELFTEST_PATIENCE * seconds * 1000ULL;
	int status = 0, tries;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		diff_now = account;
		path = side->path;
		forwarded = side->forwarded;
		twin = with_twin;
		body();
		_exit(0);
	}
	diff_now = account;
	if (pid < 0) {
		account->failed++;
		log_line("fork failed: %s", strerror(errno));
		return;
	}
	setpgid(pid, pid);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ms() > deadline) {
			account->failed++;
			log_line("no end after %u s", KSELFTEST_PATIENCE * seconds);
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return;
		}
		sleep_ms(5);
	}
	kill(-pid, SIGKILL);
	/* Killed processes may still be in a call, which must not disturb the next test. */
	for (tries = 0; !kill(-pid, 0) && tries < 1000; tries++)
		sleep_ms(5);
	if (WIFSIGNALED(status))
		log_line("died of signal %d", WTERMSIG(status));
	else
		log_line("exit status %d", WEXITSTATUS(status));
	if (status)
		account->failed++;
}

static inline void diff_print(const struct diff_side *side, const struct diff_account *account)
{
	const char *line = account->text;
	const char *end = account->text + account->used;
	const char *next;

	printf("# --- %s (%s), %u failed checks\n", side->name, side->path, account->failed);
	for (; line < end; line = next + 1) {
		next = memchr(line, '\n', end - line);
		printf("#   %.*s\n", (int)(next - line), line);
	}
}

/* Prints the line of an account that begins at @start. */
static inline void diff_line(const char *side, const struct diff_account *account,
			     unsigned int start)
{
	unsigned int end = start;

	while (end < account->used && account->text[end] != '\n')
		end++;
	printf("#   %s: %.*s\n", side, (int)(end - start), account->text + start);
}

/* Prints the first line that differs, of both accounts. */
static inline void diff_point(const struct diff_account *real, const struct diff_account *fwd)
{
	unsigned int line = 1, start = 0;
	unsigned int i;

	for (i = 0; i < real->used && i < fwd->used && real->text[i] == fwd->text[i]; i++) {
		if (real->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	printf("# accounts differ from line %u on\n", line);
	diff_line("real", real, start);
	diff_line("forwarded", fwd, start);
}

enum diff_result { DIFF_SAME, DIFF_DIFFERENT, DIFF_NO_DEVICE, DIFF_SKIPPED };

static char diff_reason[80];	/* reason of DIFF_SKIPPED */

/* Opens the recorded account of a test, for writing or reading. */
static inline FILE *diff_record(const char *folder, const char *test, const char *mode)
{
	char file[256];
	FILE *stream;

	snprintf(file, sizeof(file), "%s/%s.%s", folder, program_invocation_short_name, test);
	stream = fopen(file, mode);
	if (!stream)
		printf("# %s: %s\n", file, strerror(errno));
	return stream;
}

static inline bool diff_save(const char *folder, const char *test,
			     const struct diff_account *account)
{
	FILE *stream = diff_record(folder, test, "w");
	size_t written;

	if (!stream)
		return false;
	written = fwrite(account->text, 1, account->used, stream);
	return !fclose(stream) && written == account->used;
}

static inline bool diff_load(const char *folder, const char *test, struct diff_account *account)
{
	FILE *stream = diff_record(folder, test, "r");

	if (!stream)
		return false;
	account->used = fread(account->text, 1, sizeof(account->text), stream);
	fclose(stream);
	return account->used;
}

static inline enum diff_result diff_compare(const char *test, const char *node,
					    unsigned int with_twin, diff_body body,
					    unsigned int seconds)
{
	const char *record = getenv("VGPU_RECORD"), *recorded = getenv("VGPU_RECORDED");
	struct diff_side real = { "real", diff_node("VGPU_REAL", node), false };
	struct diff_side fwd = { "forwarded", diff_node("VGPU_FWD", node), true };
	struct diff_account *accounts;
	enum diff_result result = DIFF_SAME;
	bool differ;

	if (recorded)
		real.path = "recorded";
	if (!real.path || !fwd.path)
		return DIFF_NO_DEVICE;
	fwd.forwarded = diff_forwarded(real.path, fwd.path);
	accounts = mmap(NULL, 2 * sizeof(*accounts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (accounts == MAP_FAILED)
		return DIFF_DIFFERENT;

	if (!recorded)
		diff_run(&accounts[0], &real, with_twin, body, seconds);
	else if (!diff_load(recorded, test, &accounts[0]))
		accounts[0].failed++;
	if (record && !diff_save(record, test, &accounts[0]))
		accounts[0].failed++;
	diff_run(&accounts[1], &fwd, with_twin, body, seconds);
	differ = accounts[0].used != accounts[1].used ||
		 memcmp(accounts[0].text, accounts[1].text, accounts[0].used);
	if (differ || accounts[0].failed || accounts[1].failed)
		result = DIFF_DIFFERENT;
	else if (accounts[1].reason[0])
		result = DIFF_SKIPPED;
	memcpy(diff_reason, accounts[1].reason, sizeof(diff_reason));
	if (result == DIFF_DIFFERENT || getenv("VGPU_VERBOSE")) {
		diff_print(&real, &accounts[0]);
		diff_print(&fwd, &accounts[1]);
	}
	/* The difference comes last, as a long output is cut at its beginning. */
	if (differ)
		diff_point(&accounts[0], &accounts[1]);
	munmap(accounts, 2 * sizeof(*accounts));
	return result;
}

/* Sends an fd by SCM_RIGHTS, with one byte of data. */
static inline void send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { "x", 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	MUST(sendmsg(socket, &message, 0) == 1);
}

static inline int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	MUST(recvmsg(socket, &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

/* The fixture's name makes test names read "same.array_in": the same on both devices. */
FIXTURE(same) {
};

FIXTURE_SETUP(same)
{
}

FIXTURE_TEARDOWN(same)
{
}

#define DIFF_TEST_ONE(name, body, with_twin, node, seconds)		\
TEST_F_TIMEOUT(same, name, 2 * (seconds) + 10)				\
{									\
	enum diff_result result = diff_compare(#name, node, with_twin, body, seconds); \
									\
	if (result == DIFF_NO_DEVICE)					\
		SKIP(return, "no %s here, real and forwarded (VGPU_REAL, VGPU_FWD)", \
		     (node) ? (const char *)(node) : "device");		\
	if (result == DIFF_SKIPPED)					\
		SKIP(return, "%s", diff_reason);			\
	ASSERT_TRUE(result == DIFF_SAME);				\
}

#define DIFF_TEST_NODE(name, node, seconds)				\
static void diff_body_ ## name(void);					\
DIFF_TEST_ONE(name, diff_body_ ## name, 0, node, seconds)		\
static void diff_body_ ## name(void)

#define DIFF_TEST_LIMIT(name, seconds)	DIFF_TEST_NODE(name, NULL, seconds)
#define DIFF_TEST(name)			DIFF_TEST_NODE(name, NULL, DIFF_SECONDS)

#define DIFF_TEST_TWINS_LIMIT(name, seconds)				\
static void diff_body_ ## name(void);					\
DIFF_TEST_ONE(name, diff_body_ ## name, 0, NULL, seconds)		\
DIFF_TEST_ONE(name ## _undescribed, diff_body_ ## name,			\
	      VGPU_MOCK_UNDESCRIBED_BIT, NULL, seconds)			\
static void diff_body_ ## name(void)

#define DIFF_TEST_TWINS(name)	DIFF_TEST_TWINS_LIMIT(name, DIFF_SECONDS)

#endif /* VGPU_DIFF_H */
