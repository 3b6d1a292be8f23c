// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM devices share these objects by fds: dma-bufs and their fences, sync_files, syncobjs, and
 * eventfds that are signalled for them.
 */
#include <drm.h>
#include <drm_mode.h>

#include "drm_dumb.h"
#include "drm_node.h"
#include "tool.h"

#include <linux/kcmp.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

/* --- identity of files ------------------------------------------------------ */

/*
 * Compares two open files. Return: 0 if they are one, 1 if they are two, -1 if the kernel does
 * not say.
 */
static int compare(pid_t pid, int fd, pid_t pid2, int fd2)
{
	long ret = syscall(SYS_kcmp, pid, pid2, KCMP_FILE, fd, fd2);

	return ret > 0 ? 1 : ret;
}

static ino_t inode(int fd)
{
	struct stat st;

	MUST(!fstat(fd, &st));
	return st.st_ino;
}

/*
 * A host file that is exported twice is one file in the guest, also if another process exports
 * it.
 */
DIFF_TEST_NODE(one_file, "VGEM_CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR);
	__u32 handle = create_dumb(fd), other_handle = create_dumb(fd);
	int one = export_fd(fd, handle), two = export_fd(fd, handle);
	int other = export_fd(fd, other_handle), copy = dup(one), again;
	pid_t self = getpid();
	int status;

	log_line("again %d", compare(self, one, self, two));
	log_line("dup %d", compare(self, one, self, copy));
	log_line("another %d", compare(self, one, self, other));
	CHECK(inode(one) == inode(two) && inode(one) == inode(copy));
	CHECK(inode(one) != inode(other));
	fflush(NULL);
	if (!fork()) {
		again = export_fd(fd, handle);
		log_line("by a child %d", compare(self, one, getpid(), again));
		CHECK(inode(again) == inode(one));
		_exit(0);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	/* One of the fds is closed: the next export gives the file that the others have. */
	close(two);
	two = export_fd(fd, handle);
	log_line("later %d", compare(self, one, self, two));
	/* All fds are closed, so the next export may make a new file, but two make only one. */
	close(one);
	close(two);
	close(copy);
	one = export_fd(fd, handle);
	two = export_fd(fd, handle);
	log_line("anew %d, %d", compare(self, one, self, two), inode(one) == inode(two));
}

static __u32 import_fd(int fd, int buf)
{
	struct drm_prime_handle prime = { .fd = buf };

	MUST(!ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	return prime.handle;
}

static void fill_words(__u32 *words, __u32 value)
{
	unsigned int i;

	for (i = 0; i < DUMB_WORDS; i++)
		words[i] = value + i;
}

static bool words_are(const __u32 *words, __u32 value)
{
	unsigned int i;

	for (i = 0; i < DUMB_WORDS; i++)
		if (words[i] != value + i)
			return false;
	return true;
}

/* Plays a process that opened the device itself, and gets another process's buffer. */
static void show_buffer(int socket)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	int fd = open_device(O_RDWR), buf = receive_fd(socket);
	__u32 handle = import_fd(fd, buf), *memory;

	log_line("imported as %u, again as %u", handle, import_fd(fd, buf));
	memory = map_dumb(fd, handle);
	log_line("its bytes %d", words_are(memory, 100));
	fill_words(memory, 200);
	/* An exported buffer is the file that was received. */
	close(buf);
	send_fd(socket, export_fd(fd, handle));
	/* The buffer lives as long as any process has it. */
	buf = receive_fd(socket);
	LOG_CALL(ioctl(buf, DMA_BUF_IOCTL_SYNC, &sync));
	log_line("after the other's end %d", words_are(memory, 300));
}

/* A process draws to a buffer and another one shows it, as with DRI3 and Wayland. */
DIFF_TEST_NODE(over_a_socket, "VGEM_CARD", 60)
{
	struct drm_gem_close gem_close;
	int fd, buf, back, sockets[2];
	__u32 handle, *memory;
	int status;
	pid_t self;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	fflush(NULL);
	if (!fork()) {
		show_buffer(sockets[0]);
		_exit(0);
	}
	self = getpid();
	fd = open_device(O_RDWR);
	handle = create_dumb(fd);
	memory = map_dumb(fd, handle);
	fill_words(memory, 100);
	buf = export_fd(fd, handle);
	send_fd(sockets[1], buf);
	back = receive_fd(sockets[1]);
	log_line("came back as the same %d, %d", compare(self, buf, self, back),
		 inode(buf) == inode(back));
	/* Both files are the process's own buffer. */
	CHECK(import_fd(fd, buf) == handle && import_fd(fd, back) == handle);
	log_line("the other's bytes %d", words_are(memory, 200));
	fill_words(memory, 300);
	MUST(!munmap(memory, DUMB_WORDS * sizeof(__u32)));
	gem_close = (struct drm_gem_close){ .handle = handle };
	LOG_CALL(ioctl(fd, DRM_IOCTL_GEM_CLOSE, &gem_close));
	close(buf);
	close(fd);
	send_fd(sockets[1], back);
	close(back);
	LOG_CALL(wait(&status) > 0 && !status);
}

/* Logs what procfs shows of a file, without lines that differ between machines. */
static void log_fdinfo(int fd)
{
	static const char * const own[] = {
		"pos:", "flags:", "mnt_id:", "ino:", "count:", "drm-client-id:", "drm-pdev:",
	};
	char file[64], line[256];
	unsigned int i;
	FILE *stream;

	snprintf(file, sizeof(file), "/proc/self/fdinfo/%d", fd);
	stream = fopen(file, "r");
	MUST(stream);
	while (fgets(line, sizeof(line), stream)) {
		for (i = 0; i < ARRAY_SIZE(own); i++)
			if (!strncmp(line, own[i], strlen(own[i])))
				break;
		if (i == ARRAY_SIZE(own))
			log_line("%.*s", (int)strcspn(line, "\n"), line);
	}
	fclose(stream);
}

/*
 * A host that was late is not asked again for half a minute, and procfs has only its own lines
 * then.
 */
#define FDINFO_SECONDS	100

/* Runs @command until its output has the driver's part, and stores the output. */
static void await_fdinfo(const char *command, char *text, size_t size)
{
	__u64 deadline = now_ms() + (FDINFO_SECONDS - 10) * 1000ULL;
	size_t len;

	for (;;) {
		FILE *stream = popen(command, "r");

		MUST(stream);
		len = fread(text, 1, size - 1, stream);
		text[len] = '\0';
		MUST(!pclose(stream));
		if (strstr(text, "exp_name:") || now_ms() >= deadline)
			break;
		/* A loop without pauses would take processor time from the late host. */
		sleep_ms(200);
	}
}

DIFF_TEST_NODE(fdinfo, "VGEM_CARD", FDINFO_SECONDS)
{
	int fd = open_device(O_RDWR);
	int buf = export_fd(fd, create_dumb(fd));
	char command[128], text[2048];

	LOG_CALL(ioctl(buf, DMA_BUF_SET_NAME, "a buffer"));
	snprintf(command, sizeof(command), "cat /proc/%d/fdinfo/%d", getpid(), buf);
	await_fdinfo(command, text, sizeof(text));
	log_fdinfo(buf);
	log_fdinfo(fd);
}

DIFF_TEST_NODE(fdinfo_of_others, "VGEM_CARD", FDINFO_SECONDS)
{
	int fd = open_device(O_RDWR);
	int buf = export_fd(fd, create_dumb(fd));
	char command[128], text[2048];
	const char *line;
	int lines = 0;

	/* A program that does not use the device reads the file. */
	snprintf(command, sizeof(command), "cat /proc/%d/fdinfo/%d", getpid(), buf);
	await_fdinfo(command, text, sizeof(text));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
		if (!strncmp(line, "size:", 5) || !strncmp(line, "exp_name:", 9))
			log_line("%s", line);
	log_line("%d lines", lines);
}

/* --- process ids ---------------------------------------------------------- */

/* Asks for the client. The driver's answer has the thread's id in its own pid namespace. */
static void *ask_client(void *data)
{
	struct drm_client client = { 0 };
	int fd = *(int *)data;

	LOG_CALL(drm_counted(fd, DRM_IOCTL_GET_CLIENT, &client, "GET_CLIENT", 1));
	CHECK(client.pid == (unsigned long)gettid());
	log_line("auth %d uid %lu", client.auth, client.uid);
	/* There is only one client, so the call fails and the argument stays as it is. */
	client.idx = 1;
	client.pid = 4711;
	LOG_CALL(ioctl(fd, DRM_IOCTL_GET_CLIENT, &client));
	CHECK(client.pid == 4711);
	return NULL;
}

DIFF_TEST_NODE(client_pid, "VGEM_CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR), status;
	pthread_t thread;

	drm_node = "VGEM_CARD";
	ask_client(&fd);
	MUST(!pthread_create(&thread, NULL, ask_client, &fd));
	pthread_join(thread, NULL);
	/* The first process of another pid namespace uses the same file. */
	MUST(!unshare(CLONE_NEWPID));
	if (!fork()) {
		CHECK(getpid() == 1);
		ask_client(&fd);
		_exit(0);
	}
	MUST(wait(&status) > 0 && !status);
}

/* --- fences --------------------------------------------------------------- */

static int export_fence(int buf, __u32 flags)
{
	struct dma_buf_export_sync_file argument = { .flags = flags, .fd = -1 };

	LOG_CALL(ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &argument));
	return argument.fd;
}

static void log_fence(int fence)
{
	struct sync_fence_info fences[8] = { };
	struct sync_file_info info = {
		.num_fences = 8, .sync_fence_info = (__u64)(uintptr_t)fences,
	};
	struct pollfd pollfd = { .fd = fence, .events = POLLIN };
	unsigned int i;

	LOG_CALL(ioctl(fence, SYNC_IOC_FILE_INFO, &info));
	log_line("status %d, %u fences", info.status, info.num_fences);
	for (i = 0; i < info.num_fences && i < 8; i++)
		log_line("  of '%s', status %d", fences[i].driver_name, fences[i].status);
	LOG_CALL(poll(&pollfd, 1, 0));
	log_line("revents %x", pollfd.revents);
}

static void signal_later(int fd, __u32 fence)
{
	__u32 signal[2] = { fence };

	fflush(NULL);
	if (!fork()) {
		sleep_ms(300);
		_exit(!!ioctl(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, signal));
	}
}

DIFF_TEST_NODE(sync_files, "VGEM_CARD", 60)
{
	int fd = open_device(O_RDWR);
	__u32 one = create_dumb(fd), two = create_dumb(fd);
	__u32 attach[4] = { one, 1 /* write */ }, attach2[4] = { two, 1 };
	int buf = export_fd(fd, one), buf2 = export_fd(fd, two);
	struct sync_merge_data merge = { .name = "both" };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	struct pollfd pollfd = { .events = POLLIN };
	int idle, busy, busy2, status;
	__u64 start;

	idle = export_fence(buf, DMA_BUF_SYNC_READ);
	if (idle < 0)
		return;
	log_fence(idle);
	LOG_CALL(ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
	LOG_CALL(ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, attach2));
	busy = export_fence(buf, DMA_BUF_SYNC_READ);
	busy2 = export_fence(buf2, DMA_BUF_SYNC_RW);
	log_fence(busy);
	merge.fd2 = busy2;
	LOG_CALL(ioctl(busy, SYNC_IOC_MERGE, &merge) ?: (merge.fence > busy2 ? 0 : -1));
	log_fence(merge.fence);
	/* A fence is imported again. */
	import.fd = busy2;
	LOG_CALL(ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	import.fd = buf;
	LOG_CALL(ioctl(buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	pollfd.fd = busy;
	start = now_ms();
	signal_later(fd, attach[2]);
	LOG_CALL(poll(&pollfd, 1, 15000));
	CHECK(now_ms() - start >= 200);
	LOG_CALL(wait(&status) > 0 && !status);
	log_fence(busy);
	log_fence(merge.fence);
	pollfd.fd = merge.fence;
	signal_later(fd, attach2[2]);
	LOG_CALL(poll(&pollfd, 1, 15000));
	LOG_CALL(wait(&status) > 0 && !status);
	log_fence(merge.fence);
}

/*
 * A program makes a fence for each frame. Their closes do not wait, and the host drops the
 * fences.
 */
DIFF_TEST_NODE(fences_that_end, "VGEM_CARD", 60)
{
	int fd = open_device(O_RDWR);
	int buf = export_fd(fd, create_dumb(fd));
	long objects = tool_counter("objects");
	long long trips, calls;
	unsigned int i;

	drm_node = "VGEM_CARD";
	trips = drm_counter("round_trips");
	calls = drm_counter("calls");
	for (i = 0; i < 100; i++)
		LOG_CALL(close(export_fence(buf, DMA_BUF_SYNC_READ)));
	if (!forwarded)
		return;
	CHECK(trips >= 0 && drm_counter("round_trips") == trips + 100);
	CHECK(calls >= 0 && drm_counter("calls") == calls + 200);
	/* The counter of the host is missing in a pair, where the host is another machine. */
	if (objects < 0)
		return;
	/* Objects of an earlier test may go meanwhile. */
	for (i = 0; i < 1000 && tool_counter("objects") > objects; i++)
		sleep_ms(10);
	CHECK(i < 1000);
}

/* The host notifies waiting programs unasked when a fence is signalled. */
DIFF_TEST_NODE(fences_that_are_polled, "VGEM_CARD", 60)
{
	int fd = open_device(O_RDWR);
	__u32 attach[4] = { create_dumb(fd), 1 };
	int buf = export_fd(fd, attach[0]);
	struct pollfd pollfd = { .events = POLLIN };
	unsigned int i, spared = 0;
	long long trips, calls;
	int status;

	drm_node = "VGEM_CARD";
	for (i = 0; i < 10; i++) {
		LOG_CALL(ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
		pollfd.fd = export_fence(buf, DMA_BUF_SYNC_READ);
		trips = drm_counter("round_trips");
		calls = drm_counter("calls");
		LOG_CALL(poll(&pollfd, 1, 0));
		signal_later(fd, attach[2]);
		LOG_CALL(poll(&pollfd, 1, 15000));
		LOG_CALL(poll(&pollfd, 1, 0));
		LOG_CALL(wait(&status) > 0 && !status);
		trips = drm_counter("round_trips") - trips;
		calls = drm_counter("calls") - calls;
		/*
		 * The host watches fences after the first one; then only the child's ioctl
		 * makes a round trip.
		 */
		spared += i && trips == 1 && calls == 3;
		close(pollfd.fd);
		/* The fence is signalled from the beginning. */
		pollfd.fd = export_fence(buf, DMA_BUF_SYNC_READ);
		trips = drm_counter("round_trips");
		LOG_CALL(poll(&pollfd, 1, 0));
		CHECK(!forwarded || drm_counter("round_trips") == trips);
		close(pollfd.fd);
	}
	/* The guest asks once more if the event comes late on a slow machine. */
	CHECK(!forwarded || spared >= 2);
	/* The host stops watching fences when none is polled. */
	for (i = 0; i < 20; i++)
		close(export_fence(buf, DMA_BUF_SYNC_READ));
	pollfd.fd = export_fence(buf, DMA_BUF_SYNC_READ);
	trips = drm_counter("round_trips");
	LOG_CALL(poll(&pollfd, 1, 0));
	CHECK(!forwarded || drm_counter("round_trips") == trips + 1);
}

/* --- syncobjs ------------------------------------------------------------- */

static __s64 from_now(long ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec * 1000LL + ms) * 1000000LL + now.tv_nsec;
}

/* Skips a test of syncobjs, which virtio-gpu lacks in Linux 6.1 and has completely in 6.12. */
static void skip_on_old_kernels(const char *reason)
{
	/* A forwarded device behaves as the real one, whose kernel is not known here. */
	MUST(forwarded || tool_kernel_before(6, 12));
	diff_skip(reason);
}

static __u32 create_syncobj(int fd, __u32 flags)
{
	struct drm_syncobj_create create = { .flags = flags };

	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	if (!create.handle)
		skip_on_old_kernels("this device has no syncobjs");
	return create.handle;
}

static int syncobj_fd(int fd, __u32 handle, __u32 flags)
{
	struct drm_syncobj_handle argument = { .handle = handle, .flags = flags, .fd = -1 };

	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &argument));
	return argument.fd;
}

static __u32 syncobj_handle(int fd, int from, __u32 flags, __u32 into)
{
	struct drm_syncobj_handle argument = { .handle = into, .flags = flags, .fd = from };

	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &argument));
	return argument.handle;
}

static int syncobj_signal(int fd, __u32 handle)
{
	struct drm_syncobj_array array = {
		.handles = (__u64)(uintptr_t)&handle, .count_handles = 1,
	};

	return ioctl(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array);
}

static int syncobj_signal_point(int fd, __u32 handle, __u64 point)
{
	struct drm_syncobj_timeline_array array = {
		.handles = (__u64)(uintptr_t)&handle, .points = (__u64)(uintptr_t)&point,
		.count_handles = 1,
	};

	return ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &array);
}

static int syncobj_wait(int fd, __u32 handle, __s64 timeout)
{
	struct drm_syncobj_wait wait = {
		.handles = (__u64)(uintptr_t)&handle, .count_handles = 1, .timeout_nsec = timeout,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	int ret = ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);

	/* The program's timeout stays as it was. */
	CHECK(wait.timeout_nsec == timeout);
	return ret;
}

/* A timeout is a time of the caller's clock, whatever the host's clock shows. */
DIFF_TEST_NODE(syncobj_timeouts, "GPU_CARD", 60)
{
	int fd = open_device(O_RDWR);
	__u32 handle;
	__u64 start;

	handle = create_syncobj(fd, 0);
	LOG_CALL(syncobj_wait(fd, handle, 0));
	LOG_CALL(syncobj_wait(fd, handle, 1));
	LOG_CALL(syncobj_wait(fd, handle, -1));
	LOG_CALL(syncobj_wait(fd, handle, from_now(-10)));
	start = now_ms();
	LOG_CALL(syncobj_wait(fd, handle, from_now(400)));
	CHECK(now_ms() - start >= 200);
	fflush(NULL);
	start = now_ms();
	if (!fork()) {
		sleep_ms(300);
		_exit(!!syncobj_signal(fd, handle));
	}
	LOG_CALL(syncobj_wait(fd, handle, from_now(10000)));
	CHECK(now_ms() - start >= 200);
	LOG_CALL(syncobj_wait(fd, handle, INT64_MAX));
	LOG_CALL(syncobj_wait(fd, handle, 0));
}

/* A fence is signalled when an ioctl that signals it on another file has returned. */
DIFF_TEST_NODE(signalled_fence, "VGEM_CARD", 120)
{
	int fd = open_device(O_RDWR), i, stale = 0, times = diff_times(200);
	__u32 handle = create_dumb(fd);
	int buf = export_fd(fd, handle);

	for (i = 0; i < times; i++) {
		__u32 attach[4] = { handle, 1 /* write */ }, signal[2];
		struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
		struct pollfd pollfd = { .events = POLLIN };

		MUST(!ioctl(fd, DRM_IOCTL_VGEM_FENCE_ATTACH, attach));
		MUST(!ioctl(buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
		pollfd.fd = export.fd;
		MUST(!poll(&pollfd, 1, 0));
		signal[0] = attach[2];
		signal[1] = 0;
		MUST(!ioctl(fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, signal));
		stale += poll(&pollfd, 1, 0) != 1;
		close(export.fd);
	}
	CHECK(!stale);
	if (stale)
		log_line("%d of %d were busy", stale, times);
}

/* Syncobjs are passed from one opened device to another, as fds and as sync_files. */
DIFF_TEST_NODE(syncobj_fds, "GPU_CARD", 60)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR);
	__u32 handle, again, signalled;
	int as_fd, as_file, status;

	handle = create_syncobj(fd, 0);
	signalled = create_syncobj(fd, DRM_SYNCOBJ_CREATE_SIGNALED);
	as_fd = syncobj_fd(fd, handle, 0);
	LOG_CALL(fcntl(as_fd, F_GETFD));
	LOG_CALL(ioctl(as_fd, 0x1234, 0));
	again = syncobj_handle(other, as_fd, 0, 0);
	/* There is no fence yet, and so no sync_file. */
	syncobj_fd(fd, handle, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE);
	LOG_CALL(syncobj_wait(other, again, from_now(50)));
	as_file = syncobj_fd(fd, signalled, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE);
	log_fence(as_file);
	/* The fence of one syncobj becomes that of the other, in both files. */
	syncobj_handle(fd, as_file, DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE, handle);
	LOG_CALL(syncobj_wait(other, again, from_now(5000)));
	/* A process that has only the fd can use the syncobj. */
	close(fd);
	fflush(NULL);
	if (!fork()) {
		fd = open_device(O_RDWR);
		handle = syncobj_handle(fd, as_fd, 0, 0);
		LOG_CALL(syncobj_wait(fd, handle, from_now(5000)));
		_exit(0);
	}
	LOG_CALL(wait(&status) > 0 && !status);
	/* These fds are of other kinds. */
	syncobj_handle(other, as_file, 0, 0);
	syncobj_handle(other, as_fd, DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE, again);
	syncobj_handle(other, other, 0, 0);
	close(as_fd);
	syncobj_handle(other, as_fd, 0, 0);
}

DIFF_TEST_NODE(syncobj_timeline, "GPU_CARD", 60)
{
	int fd = open_device(O_RDWR);
	__u32 handle;
	__u64 point = 5;
	struct drm_syncobj_timeline_wait wait = {
		.points = (__u64)(uintptr_t)&point, .count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	__u64 start;

	handle = create_syncobj(fd, 0);
	wait.handles = (__u64)(uintptr_t)&handle;
	start = now_ms();
	wait.timeout_nsec = from_now(300);
	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait));
	if (errno != ETIME)
		skip_on_old_kernels("this device has no timelines");
	CHECK(now_ms() - start >= 150);
	LOG_CALL(syncobj_signal_point(fd, handle, 4));
	wait.timeout_nsec = from_now(100);
	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait));
	LOG_CALL(syncobj_signal_point(fd, handle, 5));
	wait.timeout_nsec = from_now(5000);
	LOG_CALL(ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait));
}

/* --- eventfds ------------------------------------------------------------- */

static int watch(int fd, __u32 handle, __u64 point, int event)
{
	struct syncobj_eventfd argument = { .handle = handle, .point = point, .fd = event };

	return ioctl(fd, IOCTL_SYNCOBJ_EVENTFD, &argument);
}

static __u64 taken(int event)
{
	__u64 value = 0;

	return read(event, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

/* Logs how often an eventfd was signalled: waits until it was, or for @ms. */
static void log_event(int event, int ms)
{
	struct pollfd pollfd = { .fd = event, .events = POLLIN };
	int ret = poll(&pollfd, 1, ms);

	log_line("poll %d, revents %x, value %llu", ret, pollfd.revents,
		 (unsigned long long)taken(event));
}

DIFF_TEST_NODE(syncobj_eventfd, "GPU_CARD", 60)
{
	int fd = open_device(O_RDWR);
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	__u32 handle, other;
	int i;

	handle = create_syncobj(fd, 0);
	if (LOG_CALL(watch(fd, handle, 0, event)))
		skip_on_old_kernels("this kernel has no eventfds of syncobjs");
	log_event(event, 100);
	LOG_CALL(syncobj_signal(fd, handle));
	log_event(event, 5000);
	/* The syncobj is signalled already. */
	LOG_CALL(watch(fd, handle, 0, event));
	log_event(event, 5000);
	/* An eventfd is used for several points, which are signalled one by one. */
	other = create_syncobj(fd, 0);
	for (i = 1; i <= 3; i++)
		LOG_CALL(watch(fd, other, i, event));
	log_event(event, 100);
	for (i = 1; i <= 3; i++) {
		LOG_CALL(syncobj_signal_point(fd, other, i));
		log_event(event, 5000);
	}
	/* No event comes twice. */
	log_event(event, 200);
	/* The fd is no eventfd, or the handle is no syncobj. */
	LOG_CALL(watch(fd, handle, 0, fd));
	LOG_CALL(watch(fd, handle, 0, -1));
	LOG_CALL(watch(fd, handle, 0, 500));
	LOG_CALL(watch(fd, 4711, 0, event));
	log_event(event, 100);
}

/* The eventfd or the device is closed before the syncobj is signalled. */
DIFF_TEST_NODE(syncobj_eventfd_closed, "GPU_CARD", DIFF_SECONDS)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR);
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	__u32 handle, again;
	int i;

	handle = create_syncobj(fd, 0);
	if (LOG_CALL(watch(fd, handle, 0, event)))
		skip_on_old_kernels("this kernel has no eventfds of syncobjs");
	close(event);
	LOG_CALL(syncobj_signal(fd, handle));
	/* Many eventfds are added, none of which is ever signalled. */
	again = create_syncobj(other, 0);
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (i = 0; i < 100; i++)
		MUST(!watch(other, again, i + 1, event));
	close(other);
	log_event(event, 200);
	LOG_CALL(watch(fd, handle, 0, event));
	log_event(event, 5000);
}

/*
 * This is more than the number of unsignalled events that a guest may have, which is vgpud's
 * limit of objects of a peer.
 */
#define MANY_EVENTS	17500
#define EVENTS_EACH	25	/* for a syncobj; 1 where time is short */

/* Returns the number of files that this machine has open. */
static long files_open(void)
{
	char line[64];

	tool_read_line("/proc/sys/fs/file-nr", line, sizeof(line));
	return atol(line);
}

/*
 * The host drops a destroyed syncobj's eventfds, and no others, for which a program still
 * waits.
 */
DIFF_TEST_NODE(syncobj_eventfd_destroyed, "GPU_CARD", 120)
{
	const int times = diff_times(MANY_EVENTS / EVENTS_EACH);
	const int each = getenv("VGPU_TIMES") ? 1 : EVENTS_EACH;
	int fd = open_device(O_RDWR);
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int kept_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct drm_syncobj_destroy destroy = { };
	struct drm_syncobj_create create = { };
	long files;
	__u32 kept;
	int i, j;

	kept = create_syncobj(fd, 0);
	if (LOG_CALL(watch(fd, kept, 0, kept_event)))
		skip_on_old_kernels("this kernel has no eventfds of syncobjs");
	files = files_open();
	for (i = 0; i < times; i++) {
		MUST(!ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
		destroy.handle = create.handle;
		for (j = 0; j < each; j++)
			MUST(!watch(fd, destroy.handle, 0, event));
		MUST(!ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy));
	}
	/*
	 * The host has a file for each eventfd that it has not dropped. The kernel's count may
	 * be inexact by some hundreds, so this is checked for many only.
	 */
	for (i = 0; forwarded && tool_has_host() && times > 500 && files_open() > files + times / 2; i++) {
		if (!CHECK(i < 1000))
			break;
		sleep_ms(20);
	}
	log_event(event, 0);
	log_event(kept_event, 0);
	LOG_CALL(syncobj_signal(fd, kept));
	log_event(kept_event, 5000);
}

/* --- other drivers -------------------------------------------------------- */

/*
 * A dma-buf of one driver can natively be imported into another. A forwarded driver and a
 * driver of this machine cannot import each other's.
 */
TEST(between_machines)
{
	const char *real = getenv("VGPU_REAL_VGEM_CARD"), *fwd = getenv("VGPU_FWD_VGEM_CARD");
	struct drm_mode_create_dumb create = { .width = 64, .height = 32, .bpp = 32 };
	struct drm_prime_handle prime;
	int fds[2], i;

	if (!tool_has_host() || !real || !fwd)
		SKIP(return, "needs a driver of this machine beside a forwarded one");
	fds[0] = open(real, O_RDWR);
	fds[1] = open(fwd, O_RDWR);
	ASSERT_GE(fds[0], 0);
	ASSERT_GE(fds[1], 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ioctl(fds[i], DRM_IOCTL_MODE_CREATE_DUMB, &create));
		prime = (struct drm_prime_handle) { .handle = create.handle, .flags = DRM_CLOEXEC };
		ASSERT_EQ(0, ioctl(fds[i], DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
		EXPECT_EQ(-1, ioctl(fds[!i], DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
		EXPECT_EQ(EINVAL, errno);
		/* The fd still works for its own driver. */
		EXPECT_EQ(0, ioctl(fds[i], DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
		EXPECT_EQ(create.handle, prime.handle);
		close(prime.fd);
	}
	close(fds[0]);
	close(fds[1]);
}

TEST_HARNESS_MAIN
