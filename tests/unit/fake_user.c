// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <sys/mman.h>

#include "fake_user.h"
#include "argument/marshal_user.h"

struct user user;
long vgpu_user_alloc_fail;

u64 ktime_get_ns(void)
{
	return USER_NOW;
}

static u8 rights[USER_SIZE / USER_PAGE];
static u8 *seen;		/* number of reads of each byte */

static void memory_init(void)
{
	void *p = mmap((void *)USER_BASE, USER_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	seen = mmap(NULL, USER_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p != (void *)USER_BASE || seen == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
}

void user_reset(void)
{
	if (!seen)
		memory_init();
	if (user.top)
		memset((void *)USER_BASE, 0, user.top - (u8 *)USER_BASE);
	user_count_reset();
	memset(&user, 0, sizeof(user));
	memset(rights, USER_READ | USER_WRITE, sizeof(rights));
	user.top = (u8 *)USER_BASE;
	user.next_fd = USER_FD_NEW;
}

void user_count_reset(void)
{
	if (user.top)
		memset(seen, 0, user.top - (u8 *)USER_BASE);
	user.double_reads = 0;
	user.bytes_written = 0;
}

void *user_alloc(size_t len)
{
	u8 *p = user.top;

	user.top += ALIGN(len + 32, (size_t)16);
	return p;
}

void *user_alloc_pages(size_t len)
{
	u8 *p = (u8 *)ALIGN((uintptr_t)user.top, USER_PAGE);

	user.top = p + ALIGN(len, USER_PAGE) + USER_PAGE;
	user_protect(user.top - USER_PAGE, USER_PAGE, 0);
	return p;
}

void user_protect(void *p, size_t len, int r)
{
	size_t page = ((uintptr_t)p - USER_BASE) / USER_PAGE;

	memset(rights + page, r, ALIGN(len, USER_PAGE) / USER_PAGE);
}

bool user_may(u64 addr, u64 len, int r)
{
	u64 page;

	if (addr < USER_BASE || len > USER_SIZE || addr - USER_BASE > USER_SIZE - len)
		return false;
	for (page = (addr - USER_BASE) / USER_PAGE;
	     page * USER_PAGE < addr + len - USER_BASE; page++)
		if ((rights[page] & r) != r)
			return false;
	return true;
}

bool vgpu_user_may_write(u64 addr)
{
	return user_may(addr, 1, USER_WRITE);
}

bool access_ok(const void *addr, unsigned long n)
{
	return n <= 1UL << 47 && (uintptr_t)addr <= (1UL << 47) - n;
}

/* Returns the bytes before the first inaccessible page; copies stop there, as in the kernel. */
static unsigned long reachable(const void *p, unsigned long n, int r)
{
	unsigned long len = 0, step;

	while (len < n) {
		step = USER_PAGE - (((uintptr_t)p + len) & (USER_PAGE - 1));
		step = min(step, n - len);
		if (!user_may((uintptr_t)p + len, step, r))
			break;
		len += step;
	}
	return len;
}

unsigned long copy_from_user(void *to, const void *from, unsigned long n)
{
	unsigned long i, len = reachable(from, n, USER_READ);

	for (i = 0; i < len; i++)
		user.double_reads += seen[(uintptr_t)from - USER_BASE + i]++ > 0;
	if (len)
		memcpy(to, from, len);
	return n - len;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long n)
{
	unsigned long len = reachable(to, n, USER_WRITE);

	if (len)
		memcpy(to, from, len);
	user.bytes_written += len;
	return n - len;
}

static int fd_get(void *data, int fd, u32 *object, void **handle)
{
	struct user *u = data;

	if (fd == USER_FD_LOCAL)
		return -EINVAL;
	if (fd < USER_FD_FIRST || fd > USER_FD_LAST)
		return -EBADF;
	u->held++;
	*object = fd + USER_OBJECT;
	*handle = malloc(1);	/* ASan reports a handle that is not put */
	return 0;
}

static void fd_put(void *data, void *handle)
{
	struct user *u = data;

	u->held--;
	free(handle);
}

static int event_get(void *data, int fd, u32 *number)
{
	struct user *u = data;

	if (fd == USER_FD_LOCAL)
		return -EINVAL;
	if (fd < USER_FD_FIRST || fd > USER_FD_LAST)
		return -EBADF;
	u->events++;
	*number = fd + USER_OBJECT;
	return 0;
}

static void event_cancel(void *data, u32 number)
{
	struct user *u = data;

	u->events--;
}

static int fd_reserve(void *data, const struct vgpu_object_desc *desc, void **handle)
{
	struct user *u = data;

	if (u->fail_reserve && !--u->fail_reserve)
		return -EMFILE;
	u->reserved++;
	u->new_objects[u->next_fd - USER_FD_NEW] = le32_to_cpu(desc->object);
	*handle = malloc(1);
	return u->next_fd++;
}

static void fd_install(void *data, int fd, void *handle)
{
	struct user *u = data;

	u->reserved--;
	u->installed++;
	free(handle);
}

static void fd_abort(void *data, int fd, void *handle)
{
	struct user *u = data;

	u->reserved--;
	u->aborted++;
	u->new_objects[fd - USER_FD_NEW] = 0;
	free(handle);
}

static void rdev(void *data, u32 *major, u32 *minor)
{
	*major = *major ? USER_MAJOR : 0;
	*minor = *major ? *minor + USER_MINOR : 0;
}

static u32 pid(void *data, enum vgpu_marshal_pid whose)
{
	return whose == VGPU_MARSHAL_OPENER ? USER_OPENER :
	       whose == VGPU_MARSHAL_PROCESS ? USER_PROCESS : USER_PID;
}

static void stamp(void *data, u32 clock, s64 *time)
{
	struct user *u = data;

	u->stamps++;
	*time = USER_STAMP(*time, clock);
}

static void choose_clock(void *data, u32 clock)
{
	struct user *u = data;

	u->chosen = clock + 1;
}

/* Makes runs that descend, so that only the first two pages form one run. */
static int keep(void *data, u64 addr, u64 len, bool write, struct vgpu_marshal_kept *kept)
{
	static struct vgpu_run runs[512];
	struct user *u = data;
	u64 pos;

	if (u->fail_keep)
		return -u->fail_keep;
	if (len > sizeof(runs) / sizeof(runs[0]) * USER_PAGE)
		return -ENOMEM;
	if (!user_may(addr, len, USER_READ | (write ? USER_WRITE : 0)))
		return -EFAULT;
	*kept = (struct vgpu_marshal_kept) { .number = ++u->kept, .runs = runs };
	for (pos = 0; pos < len; pos += USER_PAGE) {
		if (pos == USER_PAGE) {
			runs[0].len = cpu_to_le64(2 * USER_PAGE);
			continue;
		}
		runs[kept->nr_runs].addr = cpu_to_le64(USER_PHYS + addr - pos);
		runs[kept->nr_runs++].len = cpu_to_le64(USER_PAGE);
	}
	return 0;
}

const struct vgpu_marshal_fds user_fds = {
	.get = fd_get,
	.put = fd_put,
	.event_get = event_get,
	.event_cancel = event_cancel,
	.reserve = fd_reserve,
	.install = fd_install,
	.abort = fd_abort,
	.rdev = rdev,
	.pid = pid,
	.stamp = stamp,
	.choose_clock = choose_clock,
	.keep = keep,
};
