// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that each allocation of memory may fail. For each operation a first run has its first
 * allocation fail, the next run its second one, and so on until no allocation fails any more. Each
 * run does what it should or fails with an errno that a driver without memory has; it leaves
 * nothing behind, and the operation works again afterwards.
 *
 * Each operation is tested twice: with the allocations of the program's task (the guest's module,
 * and the core that calls it), and with those of the threads of its shadow (the host's module and
 * the driver). The test needs the host in the same machine, and a kernel with CONFIG_FAILSLAB and
 * CONFIG_FAIL_PAGE_ALLOC (the debug kernel has them).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <glob.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "kernel_log.h"
#include "window_program.h"

#define NAME		"mock_alloc"
#define SECONDS		600
/* No operation makes so many allocations. */
#define MOST		4000
#define REPORT		"WARNING: \\|BUG: \\|KASAN: \\|UBSAN: \\|INFO: \\|Oops: \\|refcount_t: "
#define PAGES		16
#define PATIENCE_MS	20000
#define PAGES_FAIL	"/sys/kernel/debug/fail_page_alloc/"
#define SLAB_FAIL	"/sys/kernel/debug/failslab/"

/* --- failing allocations ------------------------------------------------------------ */

static bool inject_possible(void)
{
	return !access(SLAB_FAIL, W_OK) && !access(PAGES_FAIL, W_OK);
}

/* Makes allocations of all kinds count (@on), or only those that other tests expect (!@on). */
static bool inject_prepare(bool on)
{
	const char *verbose = getenv("VGPU_INJECT_VERBOSE") ?: "0", *ignore = on ? "N" : "Y";

	/* With VGPU_INJECT_VERBOSE=2 the kernel logs which allocation has failed. */
	return tool_write(SLAB_FAIL "probability", "0") &&
	       tool_write(PAGES_FAIL "probability", "0") &&
	       tool_write(SLAB_FAIL "cache-filter", "N") &&
	       tool_write(SLAB_FAIL "ignore-gfp-wait", ignore) &&
	       tool_write(PAGES_FAIL "ignore-gfp-wait", ignore) &&
	       tool_write(PAGES_FAIL "ignore-gfp-highmem", ignore) &&
	       tool_write(PAGES_FAIL "min-order", on ? "0" : "1") &&
	       tool_write(SLAB_FAIL "verbose", verbose) &&
	       tool_write(PAGES_FAIL "verbose", verbose);
}

#define INJECT_TASKS	64

/**
 * struct inject - tasks whose allocations fail
 * @nr: number of entries of @fds
 * @fds: open files with the number of the allocation that fails, one for each task
 */
struct inject {
	unsigned int nr;
	int fds[INJECT_TASKS];
};

static void inject_close(struct inject *inject)
{
	while (inject->nr)
		close(inject->fds[--inject->nr]);
}

/* Chooses all tasks of the process @pid. Return: false if there are none, or too many. */
static bool inject_into(struct inject *inject, pid_t pid)
{
	char path[64];
	glob_t found;
	size_t i;
	int fd;

	inject_close(inject);
	snprintf(path, sizeof(path), "/proc/%d/task/*/fail-nth", pid);
	if (glob(path, 0, NULL, &found))
		return false;
	for (i = 0; i < found.gl_pathc && inject->nr < INJECT_TASKS; i++) {
		fd = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			inject->fds[inject->nr++] = fd;
	}
	globfree(&found);
	return inject->nr && i == found.gl_pathc;
}

/* Makes allocation number @nth of each task fail; 0: none. A task may have ended meanwhile. */
static void inject_set(const struct inject *inject, unsigned int nth)
{
	char text[12];
	unsigned int i;
	int len = snprintf(text, sizeof(text), "%u", nth);

	for (i = 0; i < inject->nr; i++)
		if (pwrite(inject->fds[i], text, len, 0) != len)
			continue;
}

/* Return: an allocation of one of the tasks has failed, or a task has ended. */
static bool inject_hit(const struct inject *inject)
{
	bool hit = false;
	unsigned int i;
	char text[16];
	ssize_t len;

	for (i = 0; i < inject->nr; i++) {
		len = pread(inject->fds[i], text, sizeof(text) - 1, 0);
		text[len > 0 ? len : 0] = '\0';
		hit |= atoi(text) <= 0;
	}
	return hit;
}

/**
 * struct place - all that an operation works on
 * @fd: the forwarded device
 * @real: the real device, by which the mock tells what it has
 * @card: the forwarded card of vgem, for operations of DRM; else -1
 * @memory: memory of the program, PAGES pages, all of them present
 * @buf: a buffer of the mock
 * @mapped: mapping of @buf; NULL: none
 * @fds: files that the operation has made, or works on; else -1
 */
struct place {
	int fd;
	int real;
	int card;
	char *memory;
	struct vgpu_mock_buf_create buf;
	char *mapped;
	int fds[4];
};

/* --- ioctls ------------------------------------------------------------------------- */

static int run_noop(struct place *place)
{
	return ioctl(place->fd, VGPU_MOCK_IOC_NOOP, 0);
}

static int run_big(struct place *place)
{
	return ioctl(place->fd, VGPU_MOCK_IOC_BIG, place->memory);
}

static int run_array(struct place *place)
{
	struct vgpu_mock_array array = { .ptr = (uintptr_t)place->memory, .count = 200 };

	return ioctl(place->fd, VGPU_MOCK_IOC_ARRAY_INOUT, &array);
}

static int run_pointers(struct place *place)
{
	__u64 *first = (__u64 *)place->memory;
	struct vgpu_mock_ptrptr pointers = { .ptr = (uintptr_t)first };

	*first = (uintptr_t)(first + 16);
	return ioctl(place->fd, VGPU_MOCK_IOC_PTRPTR, &pointers);
}

/* More buffers than a call has room for without an allocation. */
static int run_structs(struct place *place)
{
	struct vgpu_mock_struct *list = (struct vgpu_mock_struct *)place->memory;
	struct vgpu_mock_structs structs = { .ptr = (uintptr_t)list, .count = 40 };
	unsigned int i;

	for (i = 0; i < structs.count; i++) {
		list[i].ptr = (uintptr_t)place->memory + PAGE + 200 * i;
		list[i].length = 100;
	}
	return ioctl(place->fd, VGPU_MOCK_IOC_STRUCTS, &structs);
}

static int run_chain(struct place *place)
{
	struct vgpu_mock_ext_array *array = (struct vgpu_mock_ext_array *)place->memory;
	struct vgpu_mock_ext_get *get = (struct vgpu_mock_ext_get *)(array + 1);
	struct vgpu_mock_chain chain = { .extensions = (uintptr_t)array };

	memset(array, 0, sizeof(*array) + sizeof(*get));
	array->base.name = VGPU_MOCK_EXT_ARRAY;
	array->base.next_extension = (uintptr_t)get;
	array->ptr = (uintptr_t)place->memory + PAGE;
	array->count = 20;
	get->base.name = VGPU_MOCK_EXT_GET;
	return ioctl(place->fd, VGPU_MOCK_IOC_CHAIN, &chain);
}

static int run_chunks(struct place *place)
{
	__u64 *list = (__u64 *)place->memory;
	struct vgpu_mock_chunk *chunk = (struct vgpu_mock_chunk *)(list + 16);
	struct vgpu_mock_chunks chunks = { .chunks = (uintptr_t)list, .num_chunks = 8 };
	unsigned int i;

	for (i = 0; i < chunks.num_chunks; i++) {
		list[i] = (uintptr_t)&chunk[i];
		chunk[i].chunk_id = i % 2 ? VGPU_MOCK_CHUNK_RESULT : VGPU_MOCK_CHUNK_RAW;
		chunk[i].length_dw = 8;
		chunk[i].chunk_data = (uintptr_t)place->memory + PAGE + 64 * i;
	}
	return ioctl(place->fd, VGPU_MOCK_IOC_CHUNKS, &chunks);
}

static int run_large(struct place *place)
{
	struct vgpu_mock_large large = {
		.ptr = (uintptr_t)place->memory, .length = PAGES * PAGE,
	};

	return ioctl(place->fd, VGPU_MOCK_IOC_LARGE_INOUT, &large);
}

/* The driver's accesses make the host fetch a page, and later send what the driver wrote. */
static int run_fetch(struct place *place)
{
	struct vgpu_mock_locked locked = {
		.in_ptr = (uintptr_t)place->memory,
		.out_ptr = (uintptr_t)place->memory + 5 * PAGE + 100, .length = 3 * PAGE,
	};

	return ioctl(place->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED), &locked);
}

static int run_times(struct place *place)
{
	struct vgpu_mock_times times = { .flags = VGPU_MOCK_TIMES_VALID };

	return ioctl(place->fd, VGPU_MOCK_IOC_TIMES, &times);
}

/* --- files -------------------------------------------------------------------------- */

static void end_files(struct place *place)
{
	unsigned int i;

	for (i = 0; i < sizeof(place->fds) / sizeof(place->fds[0]); i++) {
		if (place->fds[i] >= 0)
			close(place->fds[i]);
		place->fds[i] = -1;
	}
}

static bool make_object(struct place *place)
{
	struct vgpu_mock_fd_out out = { .cookie = 5, .flags = O_CLOEXEC };

	if (ioctl(place->fd, VGPU_MOCK_IOC_FD_OUT, &out))
		return false;
	place->fds[0] = out.out_fd;
	return true;
}

static int run_fd_out(struct place *place)
{
	return make_object(place) ? 0 : -1;
}

static int run_fd_return(struct place *place)
{
	struct vgpu_mock_fd_return ret = { .cookie = 5 };

	place->fds[0] = ioctl(place->fd, VGPU_MOCK_IOC_FD_RETURN, &ret);
	return place->fds[0] < 0 ? -1 : 0;
}

static int run_fds_out(struct place *place)
{
	struct vgpu_mock_fds fds = { .ptr = (uintptr_t)place->memory, .count = 4 };

	if (ioctl(place->fd, VGPU_MOCK_IOC_FDS_OUT, &fds))
		return -1;
	memcpy(place->fds, place->memory, sizeof(place->fds));
	return 0;
}

static int run_fd_in(struct place *place)
{
	struct vgpu_mock_fd_in in = { .fd = place->fds[0] };

	return ioctl(place->fd, VGPU_MOCK_IOC_FD_IN, &in);
}

static int run_fd_merge(struct place *place)
{
	struct vgpu_mock_fd_merge merge = { .fd = place->fds[0], .fd2 = place->fds[0] };

	if (ioctl(place->fd, VGPU_MOCK_IOC_FD_MERGE, &merge))
		return -1;
	place->fds[1] = merge.out_fd;
	return 0;
}

static bool make_buffer(struct place *place)
{
	struct vgpu_mock_buf_create buf = { .size = PAGES * PAGE, .flavour = VGPU_MOCK_BUF_PFN };

	if (place->buf.out_id)
		return true;
	if (ioctl(place->fd, VGPU_MOCK_IOC_BUF_CREATE, &buf))
		return false;
	place->buf = buf;
	return true;
}

static bool make_event(struct place *place)
{
	place->fds[0] = eventfd(0, EFD_CLOEXEC);
	return place->fds[0] >= 0 && make_buffer(place);
}

/* The driver signals an eventfd, and makes a file, when the "device" has filled the buffer. */
static int run_job(struct place *place)
{
	struct vgpu_mock_buf_job job = {
		.id = place->buf.out_id, .length = PAGE, .event = place->fds[0],
		.flags = VGPU_MOCK_JOB_EVENT | VGPU_MOCK_JOB_FENCE,
	};
	struct pollfd pfd = { .fd = place->fds[0], .events = POLLIN };

	if (ioctl(place->fd, VGPU_MOCK_IOC_BUF_JOB, &job))
		return -1;
	place->fds[1] = job.out_fence;
	errno = ETIME;
	return poll(&pfd, 1, PATIENCE_MS) == 1 ? 0 : -1;
}

static int run_open(struct place *place)
{
	place->fds[0] = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	return place->fds[0] < 0 ? -1 : 0;
}

static bool make_open(struct place *place)
{
	return !run_open(place);
}

/* The fd is free whatever close() returns. */
static int run_close(struct place *place)
{
	int fd = place->fds[0];

	place->fds[0] = -1;
	return close(fd);
}

static int run_read(struct place *place)
{
	return pread(place->fd, place->memory, 2 * PAGE, 0) == 2 * PAGE ? 0 : -1;
}

static int run_write(struct place *place)
{
	return pwrite(place->fd, place->memory, 2 * PAGE, 0) == 2 * PAGE ? 0 : -1;
}

static int run_seek(struct place *place)
{
	return lseek(place->fd, 100, SEEK_SET) == 100 ? 0 : -1;
}

/* A new state makes poll ask the host. */
static bool make_poll(struct place *place)
{
	struct vgpu_mock_poll poll = { .events = EPOLLIN };

	return !ioctl(place->fd, VGPU_MOCK_IOC_POLL_ARM, &poll);
}

static int run_poll(struct place *place)
{
	struct pollfd pfd = { .fd = place->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents == POLLIN ? 0 : -1;
}

static bool make_epoll(struct place *place)
{
	place->fds[0] = epoll_create1(EPOLL_CLOEXEC);
	return place->fds[0] >= 0;
}

static int run_epoll(struct place *place)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(place->fds[0], EPOLL_CTL_ADD, place->fd, &event);
}

static int run_fdinfo(struct place *place)
{
	char path[64], text[2048];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", place->card);
	place->fds[0] = open(path, O_RDONLY | O_CLOEXEC);
	if (place->fds[0] < 0)
		return -1;
	len = read(place->fds[0], text, sizeof(text));
	if (len > 0)
		return 0;
	len = errno;
	end_files(place);
	errno = len;
	return -1;
}

/* --- DRM ---------------------------------------------------------------------------- */

static int run_drm_open(struct place *place)
{
	place->fds[0] = open(getenv("VGPU_FWD_VGEM_CARD"), O_RDWR | O_CLOEXEC);
	return place->fds[0] < 0 ? -1 : 0;
}

/* A forwarded dma-buf is a file of the guest's module. */
static int run_drm_prime(struct place *place)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 16, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	struct drm_mode_destroy_dumb destroy = { };
	int ret, error;

	if (ioctl(place->card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		return -1;
	prime.handle = dumb.handle;
	ret = ioctl(place->card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	error = errno;
	destroy.handle = dumb.handle;
	/* The handle is lost with a call whose result does not come: the file's end frees it. */
	ioctl(place->card, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy);
	errno = error;
	if (ret)
		return -1;
	place->fds[0] = prime.fd;
	return 0;
}

/* --- mappings ----------------------------------------------------------------------- */

static bool unmap(struct place *place)
{
	if (place->mapped && munmap(place->mapped, PAGES * PAGE))
		return false;
	place->mapped = NULL;
	return true;
}

static int map(struct place *place, int prot)
{
	char *mapped = mmap(NULL, PAGES * PAGE, prot, MAP_SHARED, place->fd, place->buf.out_offset);

	if (mapped == MAP_FAILED)
		return -1;
	place->mapped = mapped;
	return 0;
}

static int run_mmap(struct place *place)
{
	return map(place, PROT_READ | PROT_WRITE);
}

static bool make_mapping(struct place *place)
{
	return make_buffer(place) && !map(place, PROT_READ | PROT_WRITE);
}

static int touched(int signal)
{
	errno = signal ? EFAULT : 0;
	return signal ? -1 : 0;
}

static int run_look(struct place *place)
{
	return touched(touch(place->mapped + 3 * PAGE, false));
}

static int run_store(struct place *place)
{
	return touched(touch(place->mapped + 3 * PAGE, true));
}

/* A store to a page that was read before. */
static bool make_seen(struct place *place)
{
	return make_mapping(place) && !touch(place->mapped + 3 * PAGE, false);
}

/* A call sends what the program has stored. */
static bool make_dirty(struct place *place)
{
	unsigned int i;

	if (!make_mapping(place))
		return false;
	for (i = 0; i < PAGES; i += 2)
		if (touch(place->mapped + i * PAGE, true))
			return false;
	return true;
}

static int run_sum(struct place *place)
{
	struct vgpu_mock_buf_range range = { .id = place->buf.out_id, .length = PAGES * PAGE };

	return ioctl(place->fd, VGPU_MOCK_IOC_BUF_SUM, &range);
}

/* The call after the end of a part has the host apply that. */
static int run_part(struct place *place)
{
	if (munmap(place->mapped + 4 * PAGE, 2 * PAGE))
		return -1;
	return run_sum(place);
}

/* The child has the mapping as well, and ends. */
static int run_fork(struct place *place)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(touch(place->mapped + 3 * PAGE, false) ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	errno = EFAULT;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

static bool make_read_only(struct place *place)
{
	return make_buffer(place) && !map(place, PROT_READ);
}

static int run_protect(struct place *place)
{
	return mprotect(place->mapped, PAGES * PAGE, PROT_READ | PROT_WRITE);
}

static int run_map_ioctl(struct place *place)
{
	struct vgpu_mock_buf_map arg = { .id = place->buf.out_id, .size = PAGES * PAGE };

	if (ioctl(place->fd, VGPU_MOCK_IOC_BUF_MAP, &arg))
		return -1;
	place->mapped = (char *)(uintptr_t)arg.out_addr;
	return 0;
}

static bool make_access(struct place *place)
{
	struct vgpu_mock_buf_create buf = {
		.size = PAGES * PAGE, .flavour = VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ACCESS,
	};

	if (!place->buf.out_id) {
		if (ioctl(place->fd, VGPU_MOCK_IOC_BUF_CREATE, &buf))
			return false;
		place->buf = buf;
	}
	place->fds[0] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	return place->fds[0] >= 0 && !map(place, PROT_READ | PROT_WRITE);
}

static int run_access(struct place *place)
{
	off_t at = (uintptr_t)place->mapped + PAGE;

	return pread(place->fds[0], place->memory, 8, at) == 8 &&
	       pwrite(place->fds[0], place->memory, 8, at) == 8 ? 0 : -1;
}

/* --- the test ----------------------------------------------------------------------- */

FIXTURE(alloc) {
	struct place place;
	unsigned int fds;
	/* Numbers of runs whose allocation failed: all, that failed, and that lost the session. */
	unsigned int hits;
	unsigned int failed;
	unsigned int lost;
};

/*
 * @make: prepares each run, if not NULL
 * @run: the operation. Return: 0, or -1 with errno
 * @error: errno besides ENOMEM that the operation may have if there is no memory; 0: none
 * @sure: the operation cannot fail
 * @window: mappings are in a window
 */
FIXTURE_VARIANT(alloc) {
	bool (*make)(struct place *place);
	int (*run)(struct place *place);
	int error;
	bool sure;
	bool window;
};

#define OP(name, ...) FIXTURE_VARIANT_ADD(alloc, name) { __VA_ARGS__ }

OP(noop, .run = run_noop);
OP(big, .run = run_big);
OP(array, .run = run_array);
OP(pointers, .run = run_pointers);
OP(structs, .run = run_structs);
OP(chain, .run = run_chain);
OP(chunks, .run = run_chunks);
OP(large, .run = run_large);
OP(fetch, .run = run_fetch);
OP(times, .run = run_times);
OP(job, .make = make_event, .run = run_job);
OP(fd_out, .run = run_fd_out);
OP(fd_return, .run = run_fd_return);
OP(fds_out, .run = run_fds_out);
OP(fd_in, .make = make_object, .run = run_fd_in);
OP(fd_merge, .make = make_object, .run = run_fd_merge);
OP(open, .run = run_open);
OP(close, .make = make_open, .run = run_close, .sure = true);
OP(read, .run = run_read);
OP(write, .run = run_write);
OP(seek, .run = run_seek);
OP(poll, .make = make_poll, .run = run_poll);
OP(epoll, .make = make_epoll, .run = run_epoll);
OP(fdinfo, .run = run_fdinfo);
OP(drm_open, .run = run_drm_open);
OP(drm_prime, .run = run_drm_prime, .error = ENOSPC);
OP(mmap, .make = make_buffer, .run = run_mmap);
OP(look, .make = make_mapping, .run = run_look, .error = EFAULT);
OP(store, .make = make_mapping, .run = run_store, .error = EFAULT);
OP(store_seen, .make = make_seen, .run = run_store, .error = EFAULT);
OP(flush, .make = make_dirty, .run = run_sum);
OP(part, .make = make_dirty, .run = run_part, .error = ENODEV);
OP(fork, .make = make_mapping, .run = run_fork, .error = EFAULT);
OP(protect, .make = make_read_only, .run = run_protect);
OP(map_ioctl, .make = make_buffer, .run = run_map_ioctl);
OP(access, .make = make_access, .run = run_access, .error = EIO);
OP(window_mmap, .make = make_buffer, .run = run_mmap, .window = true);
OP(window_look, .make = make_mapping, .run = run_look, .error = EFAULT, .window = true);
OP(window_store, .make = make_mapping, .run = run_store, .error = EFAULT, .window = true);
OP(window_part, .make = make_dirty, .run = run_part, .error = ENODEV, .window = true);
OP(window_protect, .make = make_read_only, .run = run_protect, .window = true);
OP(window_fork, .make = make_mapping, .run = run_fork, .error = EFAULT, .window = true);

static unsigned int open_fds(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Opens what operations work on. */
static bool place_begin(struct place *place, bool drm)
{
	place->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	place->card = drm ? open(getenv("VGPU_FWD_VGEM_CARD"), O_RDWR | O_CLOEXEC) : -1;
	return place->fd >= 0 && (!drm || place->card >= 0);
}

static bool place_end(struct place *place)
{
	bool unmapped = unmap(place);

	end_files(place);
	close(place->fd);
	if (place->card >= 0)
		close(place->card);
	memset(&place->buf, 0, sizeof(place->buf));
	return unmapped;
}

static bool await_no_shadow(void)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	while (tool_shadow_of(NAME)) {
		if (tool_now_ms() > end)
			return false;
		usleep(20000);
	}
	return true;
}

FIXTURE_SETUP(alloc)
{
	struct place *place = &self->place;
	unsigned int i;

	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host's module in the same machine");
	if (!inject_possible())
		SKIP(return, "needs a kernel with CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAILSLAB");
	memset(self, 0, sizeof(*self));
	for (i = 0; i < sizeof(place->fds) / sizeof(place->fds[0]); i++)
		place->fds[i] = -1;
	ASSERT_TRUE(inject_prepare(true));
	ASSERT_TRUE(await_no_shadow());
	ASSERT_TRUE(forget_said());
	if (variant->window)
		ASSERT_TRUE(window_begin("64M"));
	place->memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, place->memory);
	place->real = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(place->real, 0);
	ASSERT_TRUE(place_begin(place, variant->run == run_fdinfo ||
				variant->run == run_drm_prime));
}

FIXTURE_TEARDOWN(alloc)
{
	if (variant->window)
		window_end();
	inject_prepare(false);
}

/* Waits until the mock has only what @self->place needs, and this process as many fds as before. */
static bool is_as_before(struct __test_metadata *_metadata, FIXTURE_DATA(alloc) *self)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	struct vgpu_mock_counters now;

	for (;;) {
		if (ioctl(self->place.real, VGPU_MOCK_IOC_COUNTERS, &now))
			return false;
		if (now.out_files == 2 && !now.out_objects && !now.out_maps &&
		    now.out_bufs == !!self->place.buf.out_id && open_fds() == self->fds)
			return true;
		if (tool_now_ms() > end)
			break;
		usleep(5000);
	}
	TH_LOG("%llu files, %llu objects, %llu buffers, %llu mappings, %d fds too many",
	       now.out_files, now.out_objects, now.out_bufs, now.out_maps,
	       (int)(open_fds() - self->fds));
	return false;
}

/* Ends what a run has left to the next one. */
static bool run_end(struct place *place)
{
	end_files(place);
	return unmap(place);
}

/* Runs the operation without failures. */
static void run_plainly(struct __test_metadata *_metadata, FIXTURE_DATA(alloc) *self,
			const FIXTURE_VARIANT(alloc) *variant)
{
	struct place *place = &self->place;

	ASSERT_TRUE(!variant->make || variant->make(place)) {
		TH_LOG("the operation cannot be prepared: %s", strerrorname_np(errno));
	}
	ASSERT_EQ(0, variant->run(place)) {
		TH_LOG("the operation fails: %s", strerrorname_np(errno));
	}
	ASSERT_TRUE(run_end(place));
}

/*
 * A program whose shadow is lost opens the device anew. A shadow that has no memory to unmap what
 * its program has unmapped ends, because calls would see the old memory otherwise.
 */
static void renew(struct __test_metadata *_metadata, FIXTURE_DATA(alloc) *self)
{
	bool drm = self->place.card >= 0;

	self->lost++;
	ASSERT_TRUE(place_end(&self->place));
	ASSERT_TRUE(await_no_shadow());
	ASSERT_TRUE(place_begin(&self->place, drm));
}

/* Runs the operation; allocation @nth of the tasks fails. Return: there was such an allocation. */
static bool run_failing(struct __test_metadata *_metadata, FIXTURE_DATA(alloc) *self,
			const FIXTURE_VARIANT(alloc) *variant, struct inject *inject,
			unsigned int nth)
{
	struct place *place = &self->place;
	int ret, error;
	bool hit;

	ASSERT_TRUE(!variant->make || variant->make(place)) {
		TH_LOG("run %u cannot be prepared: %s", nth, strerrorname_np(errno));
	}
	errno = 0;
	inject_set(inject, nth);
	ret = variant->run(place);
	error = errno;
	hit = inject_hit(inject);
	inject_set(inject, 0);
	if (ret) {
		EXPECT_TRUE(hit);
		EXPECT_FALSE(variant->sure);
		EXPECT_TRUE(error == ENOMEM || error == variant->error) {
			TH_LOG("allocation %u: %s", nth, strerrorname_np(error));
		}
		self->failed++;
	}
	self->hits += hit;
	EXPECT_TRUE(run_end(place));
	if (ret && error == ENODEV)
		renew(_metadata, self);
	return hit;
}

static void exhaust(struct __test_metadata *_metadata, FIXTURE_DATA(alloc) *self,
		    const FIXTURE_VARIANT(alloc) *variant, bool shadow)
{
	struct inject inject = { };
	unsigned int nth;

	/* The lanes that the operation needs are there, and the mock has its buffer. */
	run_plainly(_metadata, self, variant);
	for (nth = 1; nth < MOST; nth++) {
		ASSERT_TRUE(inject_into(&inject, shadow ? tool_shadow_of(NAME) : getpid()));
		self->fds = open_fds() - inject.nr;
		if (!run_failing(_metadata, self, variant, &inject, nth))
			break;
		inject_close(&inject);
		run_plainly(_metadata, self, variant);
		ASSERT_TRUE(is_as_before(_metadata, self)) {
			TH_LOG("allocation %u left something behind", nth);
		}
		ASSERT_EQ(0, said(REPORT)) {
			TH_LOG("allocation %u: the kernel complains", nth);
		}
	}
	inject_close(&inject);
	EXPECT_LT(nth, MOST);
	TH_LOG("%u allocations, %u of them made the operation fail, %u ended the session",
	       self->hits, self->failed, self->lost);
	ASSERT_TRUE(place_end(&self->place));
}

TEST_F_TIMEOUT(alloc, program, SECONDS)
{
	exhaust(_metadata, self, variant, false);
}

TEST_F_TIMEOUT(alloc, shadow, SECONDS)
{
	exhaust(_metadata, self, variant, true);
}

TEST_HARNESS_MAIN
