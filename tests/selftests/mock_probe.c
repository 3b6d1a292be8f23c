// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test what a driver sees of its caller and of the caller's memory.
 */
#include <sys/syscall.h>

#include "vgpu_diff.h"

/* A driver that pins memory gets the pages, or an errno. */
DIFF_TEST_TWINS(pin)
{
	struct vgpu_mock_pin pin = { .length = 10000 };
	int fd = open_device(O_RDWR);
	unsigned char *data = alloc_pages(4);
	unsigned char *before = alloc_pages(4);
	unsigned int i;
	int ret;

	vgpu_mock_pattern(data, 16384, 4, 0);
	memcpy(before, data, 16384);
	pin.ptr = (uintptr_t)data + 100;
	ret = ioctl(fd, CMD(PIN), &pin);
	if (forwarded && ret) {
		CHECK(errno == EFAULT || errno == EOPNOTSUPP || errno == ENOMEM);
		CHECK(!memcmp(data, before, 16384));
	} else {
		CHECK(!ret && pin.out_pages == 3);
		for (i = 100; i < 10100; i++)
			before[i] ^= 0xff;
		CHECK(!memcmp(data, before, 16384));
	}
	/* Other calls work afterwards. */
	LOG_CALL(ioctl(fd, CMD(NOOP), 0));
}

static int atomic_read(int fd, void *data, unsigned int mode, struct vgpu_mock_atomic *atomic)
{
	*atomic = (struct vgpu_mock_atomic) {
		.ptr = (uintptr_t)data, .length = 1000, .mode = mode,
	};
	return ioctl(fd, CMD(ATOMIC), atomic);
}

/* A fault that may not wait fails at once with EFAULT. */
DIFF_TEST_TWINS(atomic)
{
	struct vgpu_mock_atomic atomic;
	int fd = open_device(O_RDWR);
	void *data = alloc_pages(1);
	__u64 start = now_ms();
	unsigned int i;
	__u64 sum;
	int ret;

	vgpu_mock_pattern(data, 4096, 5, 0);
	sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, 1000);
	for (i = 0; i < 10; i++) {
		ret = atomic_read(fd, data, VGPU_MOCK_ATOMIC_ONLY, &atomic);
		if (forwarded && ret)
			CHECK(errno == EFAULT && atomic.out_missed);
		else
			CHECK(!ret && atomic.out_sum == sum);
		ret = atomic_read(fd, data, VGPU_MOCK_ATOMIC_NO_RETRY, &atomic);
		if (forwarded && ret)
			CHECK(errno == EFAULT && atomic.out_error == -EFAULT);
		else
			CHECK(!ret && atomic.out_sum == sum);
		/* A driver that copies again with faults enabled gets the bytes. */
		ret = atomic_read(fd, data, VGPU_MOCK_ATOMIC_FALLBACK, &atomic);
		CHECK(!ret && atomic.out_sum == sum);
	}
	/*
	 * The time is less than that of one fetch that gets no answer (VGPU_FETCH_MS).
	 */
	CHECK(now_ms() - start < 5000);
}

/* Calls of one process run in one process of the host, and those of another process in another. */
DIFF_TEST(caller)
{
	struct vgpu_mock_info first, second, child, *shared;
	int fd = open_device(O_RDWR);
	int fd2 = open_device(O_RDWR);
	int status;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &first));
	LOG_CALL(ioctl(fd2, VGPU_MOCK_IOC_INFO, &second));
	CHECK(first.out_tgid == second.out_tgid && first.out_mm == second.out_mm);
	CHECK(first.out_mm == first.out_opener_mm);
	pid = fork();
	if (!pid)
		_exit(ioctl(fd, VGPU_MOCK_IOC_INFO, shared) ? 1 : 0);
	LOG_CALL(waitpid(pid, &status, 0) == pid && !status);
	child = *shared;
	CHECK(child.out_tgid != first.out_tgid && child.out_mm != first.out_mm);
	CHECK(child.out_opener_mm == first.out_mm);
}

/* The driver sees the file's flags, also when they change later. */
DIFF_TEST(file_flags)
{
	static const int changes[] = { O_NONBLOCK, O_NONBLOCK | O_APPEND, O_APPEND, 0 };
	struct vgpu_mock_info info;
	unsigned int i;
	int fd;

	fd = open_device(O_RDWR | O_NONBLOCK | O_CLOEXEC);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
	log_line("flags %o, mode %x", info.out_f_flags & (O_ACCMODE | O_NONBLOCK | O_APPEND),
		 info.out_f_mode);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		LOG_CALL(fcntl(fd, F_SETFL, changes[i]));
		LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
		log_line("flags %o", info.out_f_flags & (O_ACCMODE | O_NONBLOCK | O_APPEND));
	}
	close(fd);
	fd = open_device(O_RDONLY);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
	log_line("flags %o, mode %x", info.out_f_flags & (O_ACCMODE | O_NONBLOCK | O_APPEND),
		 info.out_f_mode);
	close(fd);
	fd = open_device(O_WRONLY);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_INFO, &info));
	log_line("flags %o, mode %x", info.out_f_flags & (O_ACCMODE | O_NONBLOCK | O_APPEND),
		 info.out_f_mode);
}

#ifdef __x86_64__
/* Makes an ioctl as a 32-bit program does. The argument needs an address below 4 GiB. */
static int ioctl32(int fd, unsigned int cmd, void *argument)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (54), "b" (fd), "c" (cmd), "d" ((unsigned int)(uintptr_t)argument)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static bool has_32_bit_calls(void)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(ioctl32(-1, 0, NULL) != -EBADF);
	return waitpid(pid, &status, 0) == pid && !status;
}

static void *low_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	MUST(page != MAP_FAILED);
	memset(page, 0, 4096);
	return page;
}

/*
 * A 32-bit call reaches the driver as a 32-bit call, or the forwarder fails it with EOPNOTSUPP.
 * Data is never wrong.
 */
static void log_ioctl32(int fd, unsigned int cmd, void *argument, const void *shown, size_t length)
{
	int ret = ioctl32(fd, cmd, argument);

	if (forwarded && ret == -EOPNOTSUPP) {
		log_line("32-bit calls are refused");
		_exit(0);
	}
	log_line("32-bit %x = %d", cmd, ret);
	log_bytes("shown", shown, length);
}

static void calls_of_32_bits(void)
{
	struct vgpu_mock_compat32 *compat = low_page();
	struct vgpu_mock_inout *io = low_page();
	struct vgpu_mock_array *array = low_page();
	struct vgpu_mock_info *info = low_page();
	void *data = low_page();
	int fd = open_device(O_RDWR);

	vgpu_mock_pattern(data, 4096, 1, 0);
	*io = (struct vgpu_mock_inout) { 1, 2, 3 };
	log_ioctl32(fd, CMD(INOUT), io, io, sizeof(*io));
	log_ioctl32(fd, CMD(INTEGER), (void *)0xfffffff0, io, 0);
	*array = (struct vgpu_mock_array) { .ptr = (uintptr_t)data, .count = 1000 };
	log_ioctl32(fd, CMD(ARRAY_INOUT), array, data, 4000);
	*compat = (struct vgpu_mock_compat32) { (uintptr_t)data, 5, 4000, 6, 7 };
	log_ioctl32(fd, VGPU_MOCK_IOC_COMPAT32 | twin, compat, data, 4000);
	log_line("tag %u, value %x %x", compat->tag, compat->value_lo, compat->value_hi);
	log_ioctl32(fd, CMD(COMPAT), compat, data, 0);
	log_ioctl32(fd, CMD(INFO), info, &info->out_compat, sizeof(info->out_compat));
	CHECK(info->out_compat == 1);
	/* A 64-bit call in between is a 64-bit call for the driver. */
	CHECK(!ioctl(fd, CMD(INFO), info) && info->out_compat == 0);
}

/* A forwarder may fail 32-bit calls, and then the accounts need not be equal. */
static void compat_test(struct __test_metadata *_metadata, unsigned int with_twin)
{
	struct diff_account *accounts;
	struct diff_side real = { "real", getenv("VGPU_REAL"), false };
	struct diff_side fwd = { "forwarded", getenv("VGPU_FWD"), true };
	bool refused;

	if (!real.path || !fwd.path)
		SKIP(return, "no device here, real and forwarded (VGPU_REAL, VGPU_FWD)");
	if (!has_32_bit_calls())
		SKIP(return, "this kernel has no 32-bit system calls");
	fwd.forwarded = diff_forwarded(real.path, fwd.path);
	accounts = mmap(NULL, 2 * sizeof(*accounts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(accounts != MAP_FAILED);
	diff_run(&accounts[0], &real, with_twin, calls_of_32_bits, DIFF_SECONDS);
	diff_run(&accounts[1], &fwd, with_twin, calls_of_32_bits, DIFF_SECONDS);
	refused = !strncmp(accounts[1].text, "32-bit calls are refused\n", 25);
	if (accounts[0].failed || accounts[1].failed ||
	    (!refused && strcmp(accounts[0].text, accounts[1].text))) {
		diff_print(&real, &accounts[0]);
		diff_print(&fwd, &accounts[1]);
		ASSERT_TRUE(false);
	}
	if (refused)
		TH_LOG("32-bit calls are refused with EOPNOTSUPP");
}

TEST(compat)
{
	compat_test(_metadata, 0);
}

TEST(compat_undescribed)
{
	compat_test(_metadata, VGPU_MOCK_UNDESCRIBED_BIT);
}

/* A 64-bit program uses the struct of 64-bit programs. */
DIFF_TEST_TWINS(native_layout)
{
	void *data = alloc_bytes(4000, 2);
	struct vgpu_mock_compat argument = {
		.ptr = (uintptr_t)data, .tag = 5, .length = 4000, .value = 6,
	};
	int fd = open_device(O_RDWR);

	LOG_CALL(diff_ioctl(fd, CMD(COMPAT), &argument));
	CHECK(argument.ptr == (uintptr_t)data && argument.value == vgpu_mock_mix64(6));
	log_bytes("data", data, 4000);
}
#endif

TEST_HARNESS_MAIN
