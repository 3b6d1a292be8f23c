// SPDX-License-Identifier: GPL-2.0-only
/*
 * A shadow is a process on the host without rights, files, network or neighbours, whose address
 * space is the guest's except for one range. The tests look at it in /proc, so they run as root
 * where the host is in the same machine.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "slow.h"
#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define RESERVED_START	0x3e0000000000ULL
#define RESERVED_END	0x3e0100000000ULL
/* This is SHADOW_FD_PROGRAM (userspace-lib/shadow/layout.h), by which vgpud starts the program. */
#define PROGRAM_FD	5
#define FIRST_UID	1879048192UL

FIXTURE(shadow) {
	int fd;
	pid_t pid;
	char proc[32];
};

FIXTURE_SETUP(shadow)
{
	int tries;

	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	/* Shadows of earlier tests may still be ending. */
	for (tries = 0; tries < 1000 && tool_processes(tool_shadow(), NULL); tries++)
		usleep(20000);
	self->fd = open(getenv("VGPU_FWD"), O_RDWR);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	/* No other program uses a device, so the only shadow is this process's. */
	ASSERT_EQ(1, tool_processes(tool_shadow(), &self->pid));
	snprintf(self->proc, sizeof(self->proc), "/proc/%d", self->pid);
}

FIXTURE_TEARDOWN(shadow)
{
	if (self->pid)
		close(self->fd);
}

/* Returns the value of a line of /proc/PID/status, or "" if there is none. */
static const char *status_line(const char *proc, const char *key)
{
	static char line[512];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/status", proc);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) || line[strlen(key)] != ':')
			continue;
		fclose(file);
		line[strcspn(line, "\n")] = '\0';
		return line + strlen(key) + 1 + strspn(line + strlen(key) + 1, " \t");
	}
	if (file)
		fclose(file);
	return "";
}

/*
 * Checks that a process has these capabilities alone in all its sets, and is confined
 * otherwise.
 */
static void look_at_rights(struct __test_metadata *_metadata, const char *proc,
			   const char *capabilities, const char *filters)
{
	static const char *const caps[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	unsigned long uid[4];
	struct stat st;
	char path[64];
	unsigned int i;

	ASSERT_EQ(4, sscanf(status_line(proc, "Uid"), "%lu %lu %lu %lu", &uid[0], &uid[1],
			    &uid[2], &uid[3]));
	for (i = 0; i < 4; i++) {
		EXPECT_GE(uid[i], FIRST_UID);
		EXPECT_EQ(uid[0], uid[i]);
	}
	EXPECT_STREQ("", status_line(proc, "Groups"));
	for (i = 0; i < 5; i++)
		EXPECT_STREQ(capabilities, status_line(proc, caps[i]))
			TH_LOG("capability set %u", i);
	EXPECT_STREQ("1", status_line(proc, "NoNewPrivs"));
	EXPECT_STREQ("2", status_line(proc, "Seccomp"));
	EXPECT_STREQ(filters, status_line(proc, "Seccomp_filters"));
	/* The process is not dumpable, so even its own user cannot access its memory. */
	snprintf(path, sizeof(path), "%s/mem", proc);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0, st.st_uid);
}

/* A shadow has three filters: vgpud's, and two that its program adds after its start. */
TEST_F(shadow, has_no_rights)
{
	look_at_rights(_metadata, self->proc, "0000000000000000", "3");
}

/* The process that traces an engine's shadow has no rights, either, and one file. */
TEST_F(shadow, nor_its_tracer)
{
	char proc[32];

	if (!tool_user_engine())
		SKIP(return, "the module's shadow needs none");
	snprintf(proc, sizeof(proc), "/proc/%s", status_line(self->proc, "TracerPid"));
	EXPECT_STREQ("vgpu-tracer", status_line(proc, "Name"));
	look_at_rights(_metadata, proc, "0000000000000000", "2");
	EXPECT_STREQ("3\n", tool_run("ls %s/fd", proc)->out);
}

/* The process that makes DRM masters has CAP_SYS_ADMIN, and is confined as well. */
TEST_F(shadow, and_one_right_beside_it)
{
	char proc[32];
	pid_t pid;

	if (!tool_user_engine())
		SKIP(return, "needs a user-space engine");
	ASSERT_LE(1, tool_processes("/vgpu-engine-master", &pid));
	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	look_at_rights(_metadata, proc, "0000000000200000", "2");
	EXPECT_STREQ("", tool_run("ls -A %s/root/", proc)->out);
	EXPECT_STREQ("3\n4\n", tool_run("ls %s/fd", proc)->out);
}

/* The engine is confined as its shadows are. */
TEST_F(shadow, and_its_engine_has_none)
{
	char proc[32];
	pid_t pid;

	if (!tool_user_engine())
		SKIP(return, "needs a user-space engine");
	ASSERT_LE(1, tool_processes("/vgpu-engine", &pid));
	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	look_at_rights(_metadata, proc, "0000000000000000", "2");
	EXPECT_STREQ("", tool_run("ls -A %s/root/", proc)->out);
}

/* Return: true if the file is one that an engine's shadow works with, or the device. */
static bool is_file_of_engine(const char *path)
{
	static const char *const known[] = {
		"socket:", "anon_inode:[userfaultfd]", "anon_inode:[eventpoll]",
		"anon_inode:[eventfd]", "/secretmem", "/1/smaps", "/1/mem",
	};
	struct stat st, real;
	char link[64];
	unsigned int i;
	ssize_t len;

	len = readlink(path, link, sizeof(link) - 1);
	if (len <= 0)
		return false;
	link[len] = '\0';
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(link, known[i], strlen(known[i])))
			return true;
	/* The link of the directory of the guest's nodes is "/", as it is a mount's root. */
	if (!strcmp(link, "/"))
		return true;
	return !stat(path, &st) && !stat(getenv("VGPU_REAL"), &real) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == real.st_rdev;
}

static void check_files(struct __test_metadata *_metadata, const char *proc)
{
	char path[300];
	struct dirent *entry;
	unsigned int nr = 0;
	DIR *dir;

	if (!tool_user_engine()) {
		EXPECT_STREQ("3\n4\n", tool_run("ls %s/fd", proc)->out);
		return;
	}
	snprintf(path, sizeof(path), "%s/fd", proc);
	dir = opendir(path);
	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		snprintf(path, sizeof(path), "%s/fd/%s", proc, entry->d_name);
		EXPECT_TRUE(is_file_of_engine(path))
			TH_LOG("%s", tool_run("ls -l %s", path)->out);
	}
	closedir(dir);
	EXPECT_LT(0, nr);
}

TEST_F(shadow, has_no_neighbours)
{
	static const char *const kinds[] = { "pid", "net", "mnt", "ipc", "uts" };
	char path[64], mine[64], its[64];
	const char *pids;
	unsigned int i;
	ssize_t len;

	for (i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		len = readlink(path, mine, sizeof(mine) - 1);
		ASSERT_GT(len, 0);
		mine[len] = '\0';
		snprintf(path, sizeof(path), "%s/ns/%s", self->proc, kinds[i]);
		len = readlink(path, its, sizeof(its) - 1);
		ASSERT_GT(len, 0);
		its[len] = '\0';
		EXPECT_STRNE(mine, its);
	}
	/* The shadow is the first process of its pid namespace. */
	pids = status_line(self->proc, "NSpid");
	EXPECT_STREQ("1", strrchr(pids, '\t') ? strrchr(pids, '\t') + 1 : pids);
	EXPECT_STREQ("", tool_run("ls -A %s/root/", self->proc)->out);
	check_files(_metadata, self->proc);
}

TEST_F(shadow, mirrors_the_address_space)
{
	bool below = false, above = false;
	char path[64], line[512], mode[8];
	uint64_t start, end;
	FILE *maps;

	snprintf(path, sizeof(path), "%s/maps", self->proc);
	maps = fopen(path, "r");
	ASSERT_NE(NULL, maps);
	while (fgets(line, sizeof(line), maps)) {
		ASSERT_EQ(3, sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode));
		if (start >> 63)
			continue;	/* [vsyscall] is the kernel's */
		if (start >= RESERVED_START && end <= RESERVED_END)
			continue;
		/* All other memory is the guest's, and never executable. */
		if (!tool_user_engine())
			EXPECT_NE(NULL, strstr(line, "[vgpu-shadow]")) TH_LOG("%s", line);
		EXPECT_EQ(NULL, strchr(mode, 'x')) TH_LOG("%s", line);
		below |= start == 0x10000 && end == RESERVED_START;
		above |= start == RESERVED_END && end == 0x7fffffffe000;
	}
	fclose(maps);
	EXPECT_TRUE(below);
	EXPECT_TRUE(above);
}

/* The shadow has the name of the guest's program, for ps and nvidia-smi on the host. */
TEST_F(shadow, bears_the_name_of_the_program)
{
	EXPECT_STREQ("session_shadow", status_line(self->proc, "Name"));
}

TEST_F(shadow, ends_with_its_process)
{
	int tries;

	close(self->fd);
	/* The shadow stays when the file is closed, as the process lives. */
	EXPECT_EQ(1, tool_processes(tool_shadow(), NULL));
	self->pid = fork();
	if (!self->pid) {
		int fd = open(getenv("VGPU_FWD"), O_RDWR);

		_exit(fd < 0 || tool_processes(tool_shadow(), NULL) != 2);
	}
	ASSERT_EQ(self->pid, waitpid(self->pid, &tries, 0));
	EXPECT_EQ(0, tries);
	for (tries = 0; tries < 1000 && tool_processes(tool_shadow(), NULL) != 1; tries++)
		usleep(20000);
	EXPECT_EQ(1, tool_processes(tool_shadow(), NULL));
	self->pid = 0;
}

/* --- killed in a call ------------------------------------------------------------ */

#define BUF_SIZE	16384
/* A kernel that has warned has this flag; see Documentation/admin-guide/tainted-kernels.rst. */
#define TAINTED_BY_WARNING	(1 << 9)

struct buf {
	int fd;
	uint64_t offset;
};

static void *map_and_unmap(void *arg)
{
	const struct buf *buf = arg;
	void *memory = mmap(NULL, BUF_SIZE, PROT_READ, MAP_SHARED, buf->fd, buf->offset);

	if (memory != MAP_FAILED)
		munmap(memory, BUF_SIZE);
	return memory;
}

struct opener {
	pid_t tid;
	bool go;
	int fd;
};

/* Tries to open the device until that succeeds. */
static void *open_anew(void *arg)
{
	struct opener *opener = arg;
	uint64_t end;

	__atomic_store_n(&opener->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&opener->go, __ATOMIC_ACQUIRE))
		usleep(1000);
	end = tool_now_ms() + 60000;
	do {
		usleep(1000);
		opener->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	} while (opener->fd < 0 && tool_now_ms() < end);
	return NULL;
}

static unsigned long number_in(const char *path)
{
	char line[64];

	tool_read_line(path, line, sizeof(line));
	return strtoul(line, NULL, 10);
}

/*
 * Return: true if a thread waits for mmap_lock, which another one holds, in order to make a
 * session.
 */
static bool waits_for_session(pid_t tid)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/%d/wchan", tid);
	tool_read_line(path, line, sizeof(line));
	return !strncmp(line, "vgpu_session_current", strlen("vgpu_session_current"));
}

/*
 * The host has answered the mmap() of a process's first mapping when the shadow is killed, and
 * another thread's open() wants a new session. Only the mmap() still holds a reference of the
 * old session then.
 */
TEST_F_TIMEOUT(shadow, killed_behind_an_mmap, 90)
{
	struct vgpu_mock_buf_create create = { .size = BUF_SIZE };
	unsigned long tainted = number_in("/proc/sys/kernel/tainted");
	const uint64_t end = tool_now_ms() + 60000;
	struct buf buf = { .fd = self->fd };
	struct opener opener = { .fd = -1 };
	pthread_t mapping, opening;
	int go;

	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	EXPECT_EQ(0, tainted & TAINTED_BY_WARNING);
	ASSERT_TRUE(slow_start("vgpu_guest:vgpu_space_renew"));
	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	buf.offset = create.out_offset;
	/*
	 * Nothing may need mmap_lock from the mmap() on: no new thread or process, and no page
	 * fault.
	 */
	go = open(SLOW_GO, O_WRONLY | O_CLOEXEC);
	ASSERT_GE(go, 0);
	ASSERT_EQ(0, pthread_create(&opening, NULL, open_anew, &opener));
	while (!__atomic_load_n(&opener.tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, pthread_create(&mapping, NULL, map_and_unmap, &buf));
	while (!slow_waits() && tool_now_ms() < end)
		usleep(1000);
	EXPECT_EQ(0, kill(self->pid, SIGKILL));
	EXPECT_TRUE(slow_waits());
	__atomic_store_n(&opener.go, true, __ATOMIC_RELEASE);
	while (!waits_for_session(opener.tid) && tool_now_ms() < end)
		usleep(1000);
	EXPECT_TRUE(waits_for_session(opener.tid));
	EXPECT_EQ(1, write(go, "1", 1));
	close(go);
	munlockall();
	ASSERT_EQ(0, pthread_join(mapping, NULL));
	ASSERT_EQ(0, pthread_join(opening, NULL));
	EXPECT_GE(opener.fd, 0);
	EXPECT_EQ(0, ioctl(opener.fd, VGPU_MOCK_IOC_NOOP, 0));
	close(opener.fd);
	EXPECT_TRUE(slow_stop());
	/* A reference count that was 0 would have caused a warning. */
	EXPECT_EQ(tainted & TAINTED_BY_WARNING,
		  number_in("/proc/sys/kernel/tainted") & TAINTED_BY_WARNING);
}

/* --- taken over ------------------------------------------------------------------ */

#define PAGE	4096

/*
 * Has the shadow's first thread, which waits in a system call, make this system call instead.
 * Return: the wait status of the process's end, or -1 if it did not end or could not be made to
 * call.
 */
static int made_to_call(pid_t pid, long nr, unsigned long addr, unsigned long flags,
			unsigned long to)
{
	struct user_regs_struct regs;
	int status, i;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -1;
	/*
	 * The thread executes its system call instruction once more; the old call is not
	 * restarted.
	 */
	regs.rip -= 2;
	regs.orig_rax = -1;
	regs.rax = nr;
	regs.rdi = addr;
	regs.rsi = PAGE;
	regs.rdx = nr == SYS_mremap ? PAGE : PROT_READ;
	regs.r10 = flags;
	regs.r8 = to;
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs))
		return -1;
	/* The thread stops before the system call, after it, and for the signal. */
	for (i = 0; i < 3; i++) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
		    waitpid(pid, &status, __WALL) != pid)
			return -1;
		if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS &&
		    (ptrace(PTRACE_CONT, pid, NULL, SIGSYS) ||
		     waitpid(pid, &status, __WALL) != pid))
			return -1;
		if (!WIFSTOPPED(status))
			return status;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
	return -1;
}

#define EXPECT_KILLED(status) do { \
	int status_ = (status); \
	\
	EXPECT_TRUE(status_ >= 0 && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGSYS); \
} while (0)

/*
 * The module maps memory that a call hands over with a key, so that other calls' drivers cannot
 * reach it. A shadow that the guest has taken over is killed when it moves a mapping or changes
 * the key of one.
 */
TEST_F(shadow, moves_no_memory)
{
	if (tool_user_engine())
		SKIP(return, "a shadow of that engine shows memory by these calls itself");
	EXPECT_KILLED(made_to_call(self->pid, SYS_mremap, 0x10000000,
				   MREMAP_MAYMOVE | MREMAP_FIXED, 0x20000000));
}

TEST_F(shadow, gives_no_key)
{
	if (tool_user_engine())
		SKIP(return, "a shadow of that engine shows memory by these calls itself");
	EXPECT_KILLED(made_to_call(self->pid, SYS_pkey_mprotect, 0x10000000, 0, 0));
}

/* A shadow may change its own memory, the reserved range, so the address is behind that range. */
TEST_F(shadow, gives_no_access)
{
	if (tool_user_engine())
		SKIP(return, "a shadow of that engine shows memory by these calls itself");
	EXPECT_KILLED(made_to_call(self->pid, SYS_mprotect, RESERVED_END, 0, 0));
}

/*
 * A program is executed in the way in which vgpud starts the shadow's: with AT_EMPTY_PATH, by
 * the number that the program's file had.
 */
TEST_F(shadow, executes_nothing)
{
	if (tool_user_engine())
		SKIP(return, "a shadow of that engine has a tracer already");
	EXPECT_KILLED(made_to_call(self->pid, SYS_execveat, PROGRAM_FD, 0, AT_EMPTY_PATH));
}

TEST_HARNESS_MAIN
