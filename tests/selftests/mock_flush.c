// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs write to device memory reaches the device, whatever becomes of other
 * memory meanwhile, and of other programs.
 *
 * The device is made to misbehave by its real node, past the forwarded one: a forwarded
 * ioctl would flush first. So the two have to be one device, as in one machine.
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
/* Longer than any of the tests, which end it. */
#define STUCK_MS	60000
/* Less than a fault of the kernel has beside two seconds. */
#define SHORT_MS	300
/* What takes longer has waited for that. */
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

/* Else there is no real node of the same device. */
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

/* Memory that its driver has taken away costs no other memory its bytes. */
DIFF_TEST(beside_revoked)
{
	struct buffer first, revoked, last;
	struct vgpu_mock_buf_range range = { };

	need_one_machine();
	first = make_buffer();
	revoked = make_buffer();
	last = make_buffer();
	/* All are here: to fetch one would send what was written to those before it. */
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

/* How many faults the driver has heard of. */
static __u32 device_faults(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);

	MUST(fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	close(fd);
	return info.out_faults;
}

/* The process's bytes wait for a driver that takes its time. */
static void get_stuck(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .delay_ms = STUCK_MS };

	*(volatile __u64 *)buffer->memory = 1;
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	range = (struct vgpu_mock_buf_range) { };
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, &range);
}

/* Nothing is left of it, which the next tests count. */
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
 * A process that is stuck on the forwarded device, by @get, in @stuck, and makes a call. @ready:
 * gives a byte when that call is through.
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
		/* Its own call waits for them. */
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

	/* On the real device it is not stuck, and on the forwarded one it was. */
	if (!forwarded)
		CHECK(read(ready, &byte, 1) == 1);
	MUST(!kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(read(ready, &byte, 1) == 0);
	end_stuck(stuck, 1);
}

/* A process whose bytes cannot be sent stops nobody else. */
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

/* The same, behind other bytes that are on their way, and that take SHORT_MS. */
static void get_stuck_behind(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .delay_ms = SHORT_MS };
	struct buffer first = make_buffer(), other = make_buffer();
	__u32 faults;
	pthread_t thread;
	__u64 start;

	touch(buffer);
	*(volatile __u64 *)first.memory = 1;
	real_ioctl(&first, VGPU_MOCK_IOC_BUF_SLOW, &range);
	range = (struct vgpu_mock_buf_range) { };
	real_ioctl(&first, VGPU_MOCK_IOC_BUF_INVALIDATE, &range);
	range.delay_ms = STUCK_MS;
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	range = (struct vgpu_mock_buf_range) { };
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, &range);
	faults = device_faults(&first);
	/* A fault sends them, and leaves the buffer's page here, which a call would not. */
	MUST(!pthread_create(&thread, NULL, touch_first, &other));
	start = now_ms();
	while (device_faults(&first) == faults && now_ms() - start < PATIENCE_MS)
		sleep_ms(1);
	*(volatile __u64 *)buffer->memory = 1;
}

/*
 * A fault of the kernel does not end without its page because of such bytes, whose run begins when
 * the fault waits already. It has three seconds, and waits for two of these at least.
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
	/* A slow machine may need the rest of its time for something else. */
	for (rounds = 0; rounds < 8 && !done; rounds++) {
		/* No page of the buffer is cached after it. */
		MUST(!ioctl(buffer.fd, VGPU_MOCK_IOC_BUF_FILL, &fill));
		pid = start_stuck_program(&stuck, &ready, get_stuck_behind);
		/* One access of the kernel, and so one fault. */
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

/* Receives all of it. */
static void vsock_receive(int fd, char *memory, size_t len)
{
	ssize_t got;

	for (; len; len -= got, memory += got) {
		got = recv(fd, memory, len, 0);
		MUST(got > 0);
	}
}

/*
 * A fault in the middle of send() is not stopped either: the socket is locked then, and one of the
 * family by which the fault's answer comes.
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
	 * The first fault waits for the stuck program's bytes for most of its time: where a slow
	 * machine has none left for its own, the next one knows that they are late.
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

/* The other process: it writes to the first page, and its bytes are stuck. */
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
	/* The call waits for it. */
	device_has(&own, 8, 1);
}

/*
 * Another process writes to the buffer's first page, and on the forwarded device its bytes are on
 * their way and stuck.
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
	/* The page is here, and in the shadow of this process, not of the other. */
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

/* Nor one that writes to the same page. */
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
	/* The other's come when they come. */
	end_stuck_beside(&buffer, pid);
	CHECK(device_has(&buffer, 8, 1));
	CHECK(device_has(&buffer, 16, 2));
}

static void *end_later(void *buffer)
{
	struct vgpu_mock_buf_range range = { .seed = VGPU_MOCK_SLOW_END };

	/* The debugger's thread has begun; how far it is does not matter. */
	sleep_ms(300);
	real_ioctl(buffer, VGPU_MOCK_IOC_BUF_SLOW, &range);
	return NULL;
}

/* A debugger's bytes are not replaced by what was written before, and is on its way. */
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

/* A fault in a system call, which may hold locks, waits for its own process's bytes but a while. */
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
	/* A page that is not there yet, of the forwarded device. */
	done = write(pipes[1], (char *)buffer.memory + PAGE, 8);
	CHECK(done == (forwarded ? -1 : 8));
	CHECK(!forwarded || errno == EFAULT);
	CHECK(now_ms() - start < PATIENCE_MS);
	end_stuck(&buffer, 1);
	CHECK(!forwarded || device_has(&buffer, 0, 1));
}

/* Pages that may be dirty, and those of one message that is on its way. */
#define DIRTY_PAGES	4096
#define FLIGHT_PAGES	256
#define MORE_PAGES	(2 * FLIGHT_PAGES)

/* So does one that writes where no more may be written, until some of it went back. */
static void write_beyond_limit(__u32 flavour)
{
	const unsigned long pages = DIRTY_PAGES + FLIGHT_PAGES + MORE_PAGES;
	struct buffer buffer = make_large(pages, flavour);
	char *memory = (char *)buffer.memory;
	unsigned long i, failed;
	int pipes[2];
	__u64 start;

	MUST(!pipe2(pipes, O_CLOEXEC));
	/* All of it is here, and stays: nothing has to be fetched later. */
	for (i = 0; i < pages; i++)
		(void)*(volatile char *)(memory + i * PAGE);
	get_stuck(&buffer);
	for (i = 1; i < DIRTY_PAGES; i++)
		memory[i * PAGE] = 1;
	/* As many as are in the message that is stuck are not counted any more. */
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

/* More than the host has room for that is there already. */
#define FAIL_PAGES	16

static void touch_all(const struct buffer *buffer)
{
	unsigned int i;

	for (i = 0; i < FAIL_PAGES; i++)
		(void)*(volatile char *)((char *)buffer->memory + i * PAGE);
}

/* The device has got all bytes, each of them @byte, with no call on the forwarded device. */
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
 * The program has written to two buffers, and the message which brings that to the host fails once,
 * as @function does. Its process lives, and so do its bytes. @error: of the call that they were
 * sent for, or 0: they are sent again before it.
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
	/* All are here, so that the next message is that of a flush. */
	touch_all(&first);
	touch_all(&last);
	range.id = first.id;
	/* Another process, which ends late, may have had the failure. */
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

/* A host without memory for the message refuses it. */
DIFF_TEST_LIMIT(message_refused, 120)
{
	need_module();
	fail_once("vgpu_host:vgpu_session_charge", "null=1 go=1", ENOMEM);
}

/* The message cannot be sent: the host has no lane for the process now. */
DIFF_TEST_LIMIT(message_without_lane, 120)
{
	fail_once("vgpu_guest:vgpu_lane_get", "error=16 go=1", EBUSY);
}

/* A lane cannot be connected in time. */
DIFF_TEST_LIMIT(message_without_answer, 120)
{
	fail_once("vgpu_guest:vgpu_lane_get", "error=19 go=1", 0);
}

/* The host lets go of the lane on which the message came, and of no other. */
DIFF_TEST_LIMIT(message_lost, 120)
{
	need_module();
	fail_once("vgpu_host:vgpu_arena_may_recv", "null=1 go=1", 0);
}

KEEP_MAIN
