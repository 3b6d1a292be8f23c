// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes that programs write to device memory reach the device, whatever happens meanwhile to
 * other memory and to other programs. The test makes the device misbehave by ioctls on the
 * device's real node, as an ioctl on the forwarded node would flush first. So both nodes must
 * belong to one device in one machine.
 */
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include "keep.h"
#include "slow.h"
#include "vgpu_diff.h"

#define PAGE		4096UL
/* The delay is longer than each of the tests, which end it. */
#define STUCK_MS	60000
/* A fault of the kernel has three seconds: this is less than what is left after two of them. */
#define SHORT_MS	300
/* A call that takes longer has waited for stuck bytes. */
#define PATIENCE_MS	25000

struct buffer {
	int fd;
	__u32 id;
	__u64 offset;
	__u64 *memory;
};

static struct buffer make_large(unsigned long pages, __u32 flavour)
{
	struct vgpu_mock_buf_create create = { .size = pages * PAGE, .flavour = flavour };
	struct buffer buffer = { .fd = open_device(O_RDWR) };

	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buffer.id = create.out_id;
	buffer.offset = create.out_offset;
	buffer.memory = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd,
			     create.out_offset);
	MUST(buffer.memory != MAP_FAILED);
	return buffer;
}

static struct buffer make_buffer(void)
{
	return make_large(2, VGPU_MOCK_BUF_PFN);
}

/* The test needs the real node of the device in this machine. */
static void need_one_machine(void)
{
	if (!diff_one_machine())
		diff_skip("the real device is in another machine");
}

static void real_ioctl(const struct buffer *buffer, unsigned long cmd,
		       struct vgpu_mock_buf_range *range)
{
	const char *real = getenv("VGPU_REAL");
	int fd = open(real, O_RDWR | O_CLOEXEC);

	range->id = buffer->id;
	MUST(fd >= 0 && !ioctl(fd, cmd, range));
	close(fd);
}

static bool device_has(const struct buffer *buffer, __u64 offset, __u64 word)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id, .offset = offset, .length = sizeof(word),
	};

	MUST(!ioctl(buffer->fd, VGPU_MOCK_IOC_BUF_SUM, &range));
	return range.out_sum == vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &word, sizeof(word));
}

static void touch(const struct buffer *buffer)
{
	(void)*(volatile __u64 *)buffer->memory;
}

/* Memory that its driver has revoked does not cost other memory its bytes. */
DIFF_TEST(beside_revoked)
{
	struct buffer first, revoked, last;
	struct vgpu_mock_buf_range range = { };

	need_one_machine();
	first = make_buffer();
	revoked = make_buffer();
	last = make_buffer();
	/* All pages are cached first, as fetching one would send the bytes written before. */
	touch(&first);
	touch(&revoked);
	touch(&last);
	first.memory[0] = 1;
	revoked.memory[0] = 2;
	last.memory[0] = 3;
	real_ioctl(&revoked, VGPU_MOCK_IOC_BUF_REVOKE, &range);
	CHECK(device_has(&first, 0, 1));
	CHECK(device_has(&last, 0, 3));
}

/* Returns the number of faults that the driver has had. */
static __u32 device_faults(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);

	MUST(fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	close(fd);
	return info.out_faults;
}

/* Makes the device resolve each further fault in the buffer only after a time in ms. */
static void slow_down(const struct buffer *buffer, __u32 delay_ms)
{
	struct vgpu_mock_buf_range range = { .delay_ms = delay_ms };

	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	range = (struct vgpu_mock_buf_range) { };
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, &range);
}

/* Makes the process's dirty bytes wait for a slow driver. */
static void get_stuck(const struct buffer *buffer)
{
	*(volatile __u64 *)buffer->memory = 1;
	slow_down(buffer, STUCK_MS);
}

/*
 * Ends the delay, and waits until the stuck program's mappings are gone: the next tests count
 * mappings.
 */
static void end_stuck(const struct buffer *buffer, int own_mappings)
{
	struct vgpu_mock_buf_range range = { .seed = VGPU_MOCK_SLOW_END };
	__u64 start = now_ms();

	if (!forwarded)
		return;
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	while (forward_counter(buffer->fd, "copy_mappings") > own_mappings &&
	       now_ms() - start < PATIENCE_MS)
		sleep_ms(10);
	CHECK(forward_counter(buffer->fd, "copy_mappings") <= own_mappings);
}

/*
 * Starts a process that makes a call. On the forwarded device @get first makes the process's bytes
 * in the buffer *@stuck get stuck. The pipe *@ready gives a byte when the call has returned.
 */
static pid_t start_stuck_program(struct buffer *stuck, int *ready,
				 void (*get)(const struct buffer *buffer))
{
	int pipes[2];
	pid_t pid;

	MUST(!pipe2(pipes, O_CLOEXEC));
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		struct buffer other = make_buffer();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (forwarded)
			get(&other);
		MUST(write(pipes[1], &other.id, sizeof(other.id)) == sizeof(other.id));
		/* The process's own call waits for its bytes. */
		device_has(&other, 0, 1);
		MUST(write(pipes[1], "", 1) == 1);
		pause();
	}
	close(pipes[1]);
	MUST(read(pipes[0], &stuck->id, sizeof(stuck->id)) == sizeof(stuck->id));
	*ready = pipes[0];
	return pid;
}

static void end_stuck_program(const struct buffer *stuck, int ready, pid_t pid)
{
	int status;
	char byte;

	/* The process is stuck on the forwarded device, and is not on the real one. */
	if (!forwarded)
		CHECK(read(ready, &byte, 1) == 1);
	MUST(!kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(read(ready, &byte, 1) == 0);
	end_stuck(stuck, 1);
}

/* A process whose bytes cannot be sent delays no other process. */
DIFF_TEST_LIMIT(beside_a_stuck_program, 120)
{
	struct buffer buffer, stuck;
	int ready, i;
	__u64 start;
	pid_t pid;

	need_one_machine();
	buffer = make_buffer();
	stuck = buffer;
	pid = start_stuck_program(&stuck, &ready, get_stuck);
	start = now_ms();
	for (i = 1; i <= 20; i++) {
		buffer.memory[0] = i;
		CHECK(device_has(&buffer, 0, i));
		CHECK(buffer.memory[1] == 0);
	}
	CHECK(now_ms() - start < PATIENCE_MS);
	end_stuck_program(&stuck, ready, pid);
}

static void *touch_first(void *buffer)
{
	touch(buffer);
	return NULL;
}

/*
 * Makes bytes wait for a slow driver as get_stuck() does, but behind other bytes that are on
 * their way and take SHORT_MS.
 */
static void get_stuck_behind(const struct buffer *buffer)
{
	struct buffer first = make_buffer(), other = make_buffer();
	__u32 faults;
	pthread_t thread;
	__u64 start;

	touch(buffer);
	*(volatile __u64 *)first.memory = 1;
	slow_down(&first, SHORT_MS);
	slow_down(buffer, STUCK_MS);
	faults = device_faults(&first);
	/* A fault sends the bytes and leaves the buffer's page cached, which a call would not. */
	MUST(!pthread_create(&thread, NULL, touch_first, &other));
	start = now_ms();
	while (device_faults(&first) == faults && now_ms() - start < PATIENCE_MS)
		sleep_ms(1);
	*(volatile __u64 *)buffer->memory = 1;
}

/*
 * A fault of the kernel gets its page, although the bytes of another process are stuck in a run
 * that begins while the fault waits. The fault has three seconds, and waits for the bytes for at
 * least two.
 */
DIFF_TEST_LIMIT(fault_beside_a_stuck_run, 120)
{
	struct vgpu_mock_buf_range fill = { .length = PAGE };
	struct buffer buffer, stuck;
	int pipes[2], ready, rounds;
	bool done = false;
	pid_t pid;

	need_one_machine();
	buffer = make_buffer();
	stuck = buffer;
	fill.id = buffer.id;
	MUST(!pipe2(pipes, O_CLOEXEC));
	/* A slow machine may need the rest of the three seconds for something else. */
	for (rounds = 0; rounds < 8 && !done; rounds++) {
		/* The call makes the guest drop the buffer's cached pages. */
		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_FILL, &fill));
		pid = start_stuck_program(&stuck, &ready, get_stuck_behind);
		/* The kernel accesses the memory once, and so has one fault. */
		done = !ioctl(pipes[0], FIONBIO, buffer.memory);
		CHECK(done || errno == EFAULT);
		end_stuck_program(&stuck, ready, pid);
	}
	CHECK(done);
}

/* Gets both ends of a connection in this machine. */
static void vsock_connect(int ends[2])
{
	struct sockaddr_vm name = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = VMADDR_PORT_ANY,
	};
	int listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(name);

	MUST(listener >= 0 && !bind(listener, (struct sockaddr *)&name, len));
	MUST(!listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&name, &len));
	ends[0] = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(ends[0] >= 0 && !connect(ends[0], (struct sockaddr *)&name, len));
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	MUST(ends[1] >= 0);
	close(listener);
}

/* Receives @len bytes. */
static void vsock_receive(int fd, char *memory, size_t len)
{
	ssize_t got;

	for (; len; len -= got, memory += got) {
		got = recv(fd, memory, len, 0);
		MUST(got > 0);
	}
}

/*
 * Stuck bytes do not stop a fault in the middle of send() either. The socket that is locked then
 * is of the family by which the answer to the fault comes.
 */
DIFF_TEST_LIMIT(send_beside_a_stuck_program, 120)
{
	struct vgpu_mock_buf_range fill = { .length = 2 * PAGE, .seed = 5 };
	char seen[2 * PAGE], expected[2 * PAGE];
	struct buffer buffer, stuck;
	int ready, ends[2], tries;
	ssize_t done = -1;
	__u64 start;
	pid_t pid;

	need_one_machine();
	buffer = make_buffer();
	stuck = buffer;
	fill.id = buffer.id;
	MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_FILL, &fill));
	vgpu_mock_pattern(expected, sizeof(expected), 5, 0);
	vsock_connect(ends);
	pid = start_stuck_program(&stuck, &ready, get_stuck);
	start = now_ms();
	/*
	 * The first fault waits most of its time for the stuck program's bytes. If a slow
	 * machine has no time left for the fault's own page, the next fault knows that the bytes
	 * are late.
	 */
	for (tries = 0; done < 0 && tries < 5; tries++)
		done = send(ends[0], buffer.memory, 2 * PAGE, MSG_NOSIGNAL);
	if (CHECK(done == 2 * PAGE)) {
		vsock_receive(ends[1], seen, done);
		CHECK(!memcmp(seen, expected, done));
	}
	CHECK(now_ms() - start < PATIENCE_MS);
	end_stuck_program(&stuck, ready, pid);
}

/* Runs another process: it writes to the first page, and its bytes are stuck. */
static void write_beside(const struct buffer *buffer, int ready, int go)
{
	struct buffer own = { .fd = open_device(O_RDWR), .id = buffer->id };
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	own.memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, own.fd,
			  buffer->offset);
	MUST(own.memory != MAP_FAILED);
	MUST(write(ready, "", 1) == 1);
	MUST(read(go, &byte, 1) == 1);
	own.memory[1] = 1;
	/* The call waits for the stuck bytes. */
	device_has(&own, 8, 1);
}

/*
 * Starts another process that writes to the buffer's first page. On the forwarded device the
 * process's bytes are on their way and stuck.
 */
static pid_t get_stuck_beside(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .delay_ms = STUCK_MS };
	int ready[2], go[2];
	__u32 faults;
	__u64 start;
	char byte;
	pid_t pid;

	MUST(!pipe2(ready, O_CLOEXEC) && !pipe2(go, O_CLOEXEC));
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		write_beside(buffer, ready[1], go[0]);
		_exit(0);
	}
	MUST(read(ready[0], &byte, 1) == 1);
	/*
	 * The guest caches the page, which is mapped in this process's shadow and not in the
	 * other's.
	 */
	touch(buffer);
	if (forwarded)
		real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	faults = device_faults(buffer);
	MUST(write(go[1], "", 1) == 1);
	start = now_ms();
	while (forwarded && device_faults(buffer) == faults && now_ms() - start < PATIENCE_MS)
		sleep_ms(5);
	CHECK(!forwarded || device_faults(buffer) > faults);
	return pid;
}

static void end_stuck_beside(const struct buffer *buffer, pid_t pid)
{
	struct vgpu_mock_buf_range range = { .seed = VGPU_MOCK_SLOW_END };
	int status;

	if (forwarded)
		real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(!status);
	end_stuck(buffer, 1);
}

/* A process whose bytes are stuck does not delay another one that writes to the same page. */
DIFF_TEST_LIMIT(beside_a_stuck_page, 120)
{
	struct buffer buffer;
	__u64 start;
	pid_t pid;

	need_one_machine();
	buffer = make_buffer();
	pid = get_stuck_beside(&buffer);
	start = now_ms();
	buffer.memory[2] = 2;
	CHECK(device_has(&buffer, 16, 2));
	CHECK(buffer.memory[2] == 2);
	CHECK(now_ms() - start < PATIENCE_MS);
	/* The other process's bytes arrive when the driver lets its shadow go on. */
	end_stuck_beside(&buffer, pid);
	CHECK(device_has(&buffer, 8, 1));
	CHECK(device_has(&buffer, 16, 2));
}

static void *end_later(void *buffer)
{
	struct vgpu_mock_buf_range range = { .seed = VGPU_MOCK_SLOW_END };

	/* The debugger's thread has begun by then. The test does not depend on how far it is. */
	sleep_ms(300);
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	return NULL;
}

/* Bytes that a debugger writes are not replaced by older bytes that are on their way. */
DIFF_TEST_LIMIT(debugger_beside_a_stuck_page, 120)
{
	struct buffer buffer;
	pthread_t thread;
	__u64 word = 7;
	pid_t pid;
	int fd;

	need_one_machine();
	buffer = make_large(2, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ACCESS);
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	MUST(fd >= 0);
	pid = get_stuck_beside(&buffer);
	if (forwarded)
		MUST(!pthread_create(&thread, NULL, end_later, &buffer));
	else
		while (*(volatile __u64 *)&buffer.memory[1] != 1)
			sleep_ms(1);
	CHECK(pwrite(fd, &word, sizeof(word), (uintptr_t)&buffer.memory[1]) == sizeof(word));
	if (forwarded)
		pthread_join(thread, NULL);
	end_stuck_beside(&buffer, pid);
	CHECK(device_has(&buffer, 8, 7));
	CHECK(buffer.memory[1] == 7);
	close(fd);
}

/*
 * A fault in a system call, which may hold locks, waits for its own process's bytes for a
 * limited time.
 */
DIFF_TEST_LIMIT(fault_of_the_kernel, 120)
{
	struct buffer buffer;
	int pipes[2];
	ssize_t done;
	__u64 start;

	need_one_machine();
	buffer = make_buffer();
	MUST(!pipe2(pipes, O_CLOEXEC));
	if (forwarded)
		get_stuck(&buffer);
	start = now_ms();
	/* The access is to a page of the forwarded device that is not cached. */
	done = write(pipes[1], (char *)buffer.memory + PAGE, 8);
	CHECK(done == (forwarded ? -1 : 8));
	CHECK(!forwarded || errno == EFAULT);
	CHECK(now_ms() - start < PATIENCE_MS);
	end_stuck(&buffer, 1);
	CHECK(!forwarded || device_has(&buffer, 0, 1));
}

/*
 * DIRTY_PAGES: pages that may be dirty; FLIGHT_PAGES: pages of one message that is on its way
 */
#define DIRTY_PAGES	4096
#define FLIGHT_PAGES	256
#define MORE_PAGES	(2 * FLIGHT_PAGES)

/*
 * A write of the kernel beyond the limit of dirty pages waits for a limited time, until some
 * pages were sent.
 */
static void write_beyond_limit(__u32 flavour)
{
	const unsigned long pages = DIRTY_PAGES + FLIGHT_PAGES + MORE_PAGES;
	struct buffer buffer = make_large(pages, flavour);
	char *memory = (char *)buffer.memory;
	unsigned long i, failed;
	int pipes[2];
	__u64 start;

	MUST(!pipe2(pipes, O_CLOEXEC));
	/* All pages are cached and stay so: nothing has to be fetched later. */
	for (i = 0; i < pages; i++)
		(void)*(volatile char *)(memory + i * PAGE);
	get_stuck(&buffer);
	for (i = 1; i < DIRTY_PAGES; i++)
		memory[i * PAGE] = 1;
	/* The pages of the message that is stuck do not count as dirty any more. */
	for (failed = 0, start = now_ms(); !failed && i < pages; i++) {
		MUST(write(pipes[1], "1", 1) == 1);
		if (read(pipes[0], memory + i * PAGE, 1) == 1)
			continue;
		CHECK(errno == EFAULT);
		failed = i;
	}
	CHECK(failed >= DIRTY_PAGES);
	CHECK(now_ms() - start < PATIENCE_MS);
	end_stuck(&buffer, 1);
	CHECK(device_has(&buffer, 0, 1));
	CHECK(device_has(&buffer, (failed - 1) * PAGE, '1'));
	memory[failed * PAGE] = 2;
	CHECK(device_has(&buffer, failed * PAGE, 2));
	munmap(memory, pages * PAGE);
	close(buffer.fd);
}

DIFF_TEST_LIMIT(write_of_the_kernel, 180)
{
	need_one_machine();
	if (!forwarded)
		return;
	write_beyond_limit(VGPU_MOCK_BUF_PFN);
	write_beyond_limit(VGPU_MOCK_BUF_PAGE);
}

/* --- messages that fail ----------------------------------------------------- */

/* A message with so many pages is longer than the memory that a lane of the host has anyway. */
#define FAIL_PAGES	16

static void touch_all(const struct buffer *buffer)
{
	unsigned int i;

	for (i = 0; i < FAIL_PAGES; i++)
		(void)*(volatile char *)((char *)buffer->memory + i * PAGE);
}

/*
 * Waits until the device has all bytes of the buffer, each of them @byte, without a call on the
 * forwarded device.
 */
static bool await_bytes(const struct buffer *buffer, unsigned char byte)
{
	static unsigned char want[FAIL_PAGES * PAGE];
	struct vgpu_mock_buf_range range;
	__u64 start = now_ms();
	__u64 sum;

	memset(want, byte, sizeof(want));
	sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, want, sizeof(want));
	do {
		range = (struct vgpu_mock_buf_range) { .length = sizeof(want) };
		real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SUM, &range);
		if (range.out_sum != sum)
			sleep_ms(10);
	} while (range.out_sum != sum && now_ms() - start < PATIENCE_MS);
	return range.out_sum == sum;
}

/*
 * The program has written to two buffers, and the message that brings the bytes to the host
 * fails once, as @function does. The program's process lives on, and so do its bytes. @error:
 * errno of the call for which the bytes were sent; 0: they are sent again before the call.
 */
static void fail_once(const char *function, const char *how, int error)
{
	struct vgpu_mock_buf_range range = { .length = sizeof(__u64) };
	struct buffer first, last;
	int ret, try = 0;
	char byte;

	need_one_machine();
	if (!slow_can())
		diff_skip("needs a kernel with kprobes");
	first = make_large(FAIL_PAGES, VGPU_MOCK_BUF_PFN);
	last = make_large(FAIL_PAGES, VGPU_MOCK_BUF_PFN);
	/* All pages are cached, so that the next message is that of a flush. */
	touch_all(&first);
	touch_all(&last);
	range.id = first.id;
	/* Another process, which ends late, may have got the failure instead. */
	do {
		byte = 2 * ++try;
		if (forwarded)
			MUST(slow_start_with(function, how));
		memset(first.memory, byte, FAIL_PAGES * PAGE);
		memset(last.memory, byte + 1, FAIL_PAGES * PAGE);
		ret = ioctl(first.fd, VGPU_MOCK_IOC_BUF_SUM, &range) ? errno : 0;
		if (forwarded) {
			CHECK(slow_waits());
			MUST(slow_stop());
		}
		CHECK(await_bytes(&first, byte));
		CHECK(await_bytes(&last, byte + 1));
	} while (forwarded && ret != error && try < 3);
	if (forwarded && !CHECK(ret == error))
		log_line("%s", strerror(ret));
	CHECK(device_has(&first, 0, byte * 0x0101010101010101));
	CHECK(device_has(&last, 0, (byte + 1) * 0x0101010101010101));
}

static void need_module(void)
{
	if (tool_user_engine())
		diff_skip("needs the host's module");
}

/* The host has no memory for the message, and fails it. */
DIFF_TEST_LIMIT(message_refused, 120)
{
	need_module();
	fail_once("vgpu_host:vgpuh_session_charge", "null=1 go=1", ENOMEM);
}

/* The message cannot be sent, as the host has no lane for the process at that time. */
DIFF_TEST_LIMIT(message_without_lane, 120)
{
	fail_once("vgpu_guest:vgpu_lane_get", "error=16 go=1", EBUSY);
}

/* A lane cannot be connected in time, and the message is sent again. */
DIFF_TEST_LIMIT(message_without_answer, 120)
{
	fail_once("vgpu_guest:vgpu_lane_get", "error=19 go=1", 0);
}

/* The host closes the lane on which the message came, and no other lane. */
DIFF_TEST_LIMIT(message_lost, 120)
{
	need_module();
	fail_once("vgpu_host:vgpu_wire_call_check", "error=71 go=1", 0);
}

KEEP_MAIN
