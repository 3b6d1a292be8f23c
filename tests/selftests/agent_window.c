// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of exports.d ask for windows. vgpud makes these windows, changes and removes them, but
 * not while a hypervisor uses them, and recognizes them after its restart. Windows made by hand
 * stay. The tests need the host in the same machine: the loopback tier.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <endian.h>
#include <linux/vgpu_wire.h>

#include "agent.h"
#include "window.h"

#include "kselftest_harness.h"

#define DIR_EXPORTS	"/etc/vgpu/exports.d"
/* vgpud reads the files in this order. */
#define CONF		DIR_EXPORTS "/test-window-1.conf"
#define OTHER_CONF	DIR_EXPORTS "/test-window-2.conf"
#define PATH		"/dev/vgpu-window-66"
#define LOG		"/run/vgpud.log"

FIXTURE(config)
{
	long log;		/* length of the log when the test began */
	bool restarted;
};

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

/* Writes the export of guest 66 to CONF, with these lines. */
static bool write_conf(const char *lines)
{
	char text[512];

	snprintf(text, sizeof(text), "[window-a]\npath = /dev/null\nto = 66\n%s", lines);
	return write_file(CONF, text);
}

static bool agent_signal(int signal)
{
	pid_t pid;

	return tool_processes("/vgpud", &pid) == 1 && !kill(pid, signal);
}

/* Returns how often vgpud has logged these words behind the log's first @from bytes. */
static int logged(long from, const char *words)
{
	static char text[65536];
	int fd = open(LOG, O_RDONLY | O_CLOEXEC), nr = 0;
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, from);
	char *at = text;

	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	while ((at = strstr(at, words))) {
		at++;
		nr++;
	}
	return nr;
}

static long log_length(void)
{
	struct stat st;

	return stat(LOG, &st) ? 0 : st.st_size;
}

/* Has vgpud read its files again. Return: true if vgpud has done so. */
static bool reload(void)
{
	long from = log_length();
	int tries;

	if (!agent_signal(SIGHUP))
		return false;
	for (tries = 0; tries < 1000; tries++) {
		/* vgpud answers only after it has read all files. */
		if (logged(from, "reading the exports again"))
			return !tool_run("vgpuctl list")->status;
		usleep(20000);
	}
	return false;
}

static long file_size(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	long size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	close(fd);
	return size;
}

static long owner_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (long)st.st_uid;
}

/* Polls until the device file has that size, or does not exist if @size is -1, for 20 seconds. */
static bool await_size(const char *path, long size)
{
	int tries;

	for (tries = 0; tries < 400; tries++) {
		if (file_size(path) == size)
			return true;
		usleep(50000);
	}
	return false;
}

/* Return: true if the JSON of guest 66's window has this member. */
static bool shows(const char *member)
{
	return !tool_run("vgpuctl status --json | grep -A 6 '\"path\":\"" PATH "\"' | grep -F '%s'",
			 member)->status;
}

FIXTURE_SETUP(config)
{
	NEEDS_WINDOW();
	self->log = log_length();
}

FIXTURE_TEARDOWN(config)
{
	if (!window_possible())
		return;
	unlink(CONF);
	unlink(OTHER_CONF);
	EXPECT_TRUE(reload());
	EXPECT_TRUE(agent_signal(SIGHUP));
	if (!access(PATH, F_OK))
		tool_run("vgpuctl window destroy --to 66 --force");
	EXPECT_TRUE(!self->restarted || agent_write_env());
}

TEST_F_TIMEOUT(config, comes_and_goes, 120)
{
	struct stat st;

	ASSERT_TRUE(write_conf("window = 1G\nwindow-user = daemon\n"));
	ASSERT_TRUE(reload());
	ASSERT_EQ(0, stat(PATH, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0600, st.st_mode & 07777);
	EXPECT_EQ(1, st.st_uid);
	EXPECT_EQ(1L << 30, file_size(PATH));
	EXPECT_TRUE(shows("\"owner\":\"daemon\""));
	EXPECT_TRUE(shows("\"automatic\":true"));
	EXPECT_EQ(0, tool_run("vgpuctl status | grep '" PATH ".*of user daemon.*automatically'")->status);
	/* A command cannot change a window that a file asks for, nor destroy it without --force. */
	EXPECT_EQ(6, tool_run("vgpuctl window destroy --to 66")->status);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl window destroy --to 66")->out, CONF));
	EXPECT_EQ(6, tool_run("vgpuctl window create --to 66 --size 1M")->status);
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 66 --force")->status);
	EXPECT_EQ(1L << 30, file_size(PATH));

	ASSERT_TRUE(write_conf(""));
	ASSERT_TRUE(reload());
	EXPECT_EQ(-1, file_size(PATH));
	EXPECT_TRUE(logged(self->log, "vgpu-window-66: no file asks for it any more"));
}

TEST_F_TIMEOUT(config, changes, 120)
{
	ino_t inode;
	struct stat st;

	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(reload());
	EXPECT_EQ(1L << 20, file_size(PATH));
	ASSERT_EQ(0, stat(PATH, &st));
	inode = st.st_ino;
	/* The window stays the same if the file has not changed. */
	ASSERT_TRUE(reload());
	ASSERT_EQ(0, stat(PATH, &st));
	EXPECT_EQ(inode, st.st_ino);

	ASSERT_TRUE(write_conf("window = 2M\n"));
	ASSERT_TRUE(reload());
	EXPECT_EQ(2L << 20, file_size(PATH));
	ASSERT_TRUE(write_conf("window = 2M\nwindow-user = daemon\n"));
	ASSERT_TRUE(reload());
	EXPECT_EQ(1, owner_of(PATH));
	/* A file with an error changes nothing, whatever else it has. */
	ASSERT_TRUE(write_conf("window = 3M\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged(self->log, CONF ":4: [window-a]: window: "));
	EXPECT_EQ(2L << 20, file_size(PATH));
	EXPECT_EQ(1, owner_of(PATH));
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(reload());
	EXPECT_EQ(-1, file_size(PATH));
}

/* The default owner is libvirt's user if there is one, even if it is added later. */
TEST_F_TIMEOUT(config, user_by_default, 120)
{
	if (!tool_run("getent passwd libvirt-qemu qemu")->out[0]) {
		ASSERT_TRUE(write_conf("window = 1M\n"));
		ASSERT_TRUE(reload());
		EXPECT_EQ(0, owner_of(PATH));
		ASSERT_EQ(0, tool_run("cp -p /etc/passwd /run/passwd.keep &&"
				      "echo 'qemu:x:64056:0::/:/bin/false' >>/etc/passwd")->status);
		EXPECT_TRUE(reload());
		EXPECT_EQ(64056, owner_of(PATH));
		EXPECT_EQ(0, tool_run("echo 'libvirt-qemu:x:64055:0::/:/bin/false' >>/etc/passwd")->status);
		EXPECT_TRUE(reload());
		EXPECT_EQ(64055, owner_of(PATH));
		EXPECT_TRUE(shows("\"owner\":\"libvirt-qemu\""));
		ASSERT_EQ(0, tool_run("mv /run/passwd.keep /etc/passwd")->status);
		/* A user that was deleted is shown by its number. */
		EXPECT_TRUE(shows("\"owner\":\"64055\""));
	} else {
		SKIP(return, "this machine has such a user");
	}
}

TEST_F_TIMEOUT(config, stays_while_a_hypervisor_has_it, 120)
{
	const struct vgpu_window_header *header;
	__le64 number;
	int fd;

	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(reload());
	fd = open(PATH, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	header = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, header);
	number = header->window;
	/* The mapping alone keeps the window in use. */
	close(fd);

	ASSERT_TRUE(write_conf("window = 2M\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged(self->log, "vgpu-window-66 stays until nobody uses it"));
	/* vgpud tries again each second. */
	sleep(2);
	EXPECT_EQ(1L << 20, file_size(PATH));
	EXPECT_EQ(number, header->window);
	ASSERT_EQ(0, munmap((void *)header, 1 << 20));
	EXPECT_TRUE(await_size(PATH, 2L << 20));

	fd = open(PATH, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(reload());
	sleep(2);
	EXPECT_EQ(2L << 20, file_size(PATH));
	close(fd);
	EXPECT_TRUE(await_size(PATH, -1));
	/* vgpud has logged one line each time. */
	EXPECT_EQ(2, logged(self->log, "stays until nobody"));
}

TEST_F_TIMEOUT(config, changed_by_force, 120)
{
	int fd;

	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(reload());
	fd = open(PATH, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_TRUE(write_conf("window = 2M\n"));
	ASSERT_TRUE(reload());
	EXPECT_EQ(1L << 20, file_size(PATH));
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 66 --force")->status);
	EXPECT_EQ(2L << 20, file_size(PATH));
	close(fd);
}

TEST_F_TIMEOUT(config, made_by_hand, 120)
{
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 66 --size 1M")->status);
	EXPECT_TRUE(shows("\"automatic\":false"));
	/* A window made by hand is used if it fits, and stays as it is if it does not. */
	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(reload());
	EXPECT_FALSE(logged(self->log, "by hand"));
	ASSERT_TRUE(write_conf("window = 2M\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged(self->log, "vgpu-window-66 was made by hand and stays as it is"));
	EXPECT_EQ(1L << 20, file_size(PATH));
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(reload());
	EXPECT_EQ(1L << 20, file_size(PATH));
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 66")->status);
	EXPECT_EQ(-1, file_size(PATH));
}

TEST_F_TIMEOUT(config, two_exports_of_one_guest, 120)
{
	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(write_file(OTHER_CONF, "[window-b]\npath = /dev/zero\nto = 68, 66\nwindow = 1M\n"));
	ASSERT_TRUE(reload());
	EXPECT_FALSE(logged(self->log, "a different window"));
	EXPECT_EQ(1L << 20, file_size("/dev/vgpu-window-68"));
	/* A single export that asks for the window is enough. */
	ASSERT_TRUE(write_conf(""));
	ASSERT_TRUE(reload());
	EXPECT_EQ(1L << 20, file_size(PATH));
	/* The exports have to agree about the window. */
	ASSERT_TRUE(write_conf("window = 2M\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged(self->log, OTHER_CONF ":4: [window-b]: guest 66:22586 gets a different window by [window-a] of " CONF));
	EXPECT_EQ(1L << 20, file_size(PATH));
	EXPECT_EQ(0, tool_run("vgpuctl list | grep '^window-b .* 68, 66$'")->status);
	ASSERT_EQ(0, unlink(OTHER_CONF));
	ASSERT_TRUE(reload());
	EXPECT_EQ(2L << 20, file_size(PATH));
	EXPECT_EQ(-1, file_size("/dev/vgpu-window-68"));
}

/* Ends vgpud and starts it again. Return: true if forwarded devices are back. */
static bool restart(void)
{
	const char *name = getenv("VGPU_NAME");
	char link[64], node[64] = "";
	int fd;

	if (!agent_end(name, SIGKILL))
		return false;
	fd = agent_start(name);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd < 0 || readlink(link, node, sizeof(node) - 1) < 0)
		return false;
	setenv("VGPU_FWD", node, 1);
	close(fd);
	return true;
}

/**
 * struct hypervisor - process that has the window mapped
 * @pid: process id
 * @fd: socket; for each seed that is written to it, a struct sight can be read
 *
 * The hypervisor is a process of its own, because Documentation/admin/window.rst advises
 * against a process that has both a window and a device in it mapped.
 */
struct hypervisor {
	pid_t pid;
	int fd;
};

/* struct sight: the window's number, and the address of a page with the seed's pattern, or 0. */
struct sight {
	__le64 number;
	unsigned long at;
};

static void hypervisor_run(int fd)
{
	int file = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	char *window = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	struct sight sight;
	__u32 seed;

	/* QEMU closes the file, too. */
	close(file);
	if (window == MAP_FAILED)
		_exit(1);
	while (read(fd, &seed, sizeof(seed)) == sizeof(seed)) {
		sight.number = ((const struct vgpu_window_header *)window)->window;
		sight.at = window_find(window, 1 << 20, PAGE, seed);
		if (write(fd, &sight, sizeof(sight)) != sizeof(sight))
			break;
	}
	_exit(0);
}

static bool hypervisor_start(struct hypervisor *hypervisor)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return false;
	hypervisor->pid = fork();
	if (!hypervisor->pid) {
		close(fds[0]);
		hypervisor_run(fds[1]);
	}
	close(fds[1]);
	hypervisor->fd = fds[0];
	return hypervisor->pid > 0;
}

static struct sight hypervisor_look(const struct hypervisor *hypervisor, __u32 seed)
{
	struct sight sight = { 0 };

	if (write(hypervisor->fd, &seed, sizeof(seed)) != sizeof(seed) ||
	    read(hypervisor->fd, &sight, sizeof(sight)) != sizeof(sight))
		sight.number = 0;
	return sight;
}

static void hypervisor_end(const struct hypervisor *hypervisor)
{
	close(hypervisor->fd);
	waitpid(hypervisor->pid, NULL, 0);
}

/* A hypervisor's mapping of the window shows programs' memory again after vgpud's restart. */
TEST_F_TIMEOUT(config, agent_restarted, 120)
{
	static const char conf[] = "[window-a]\npath = /dev/null\nto = 1\nwindow = 1M\n";
	struct hypervisor hypervisor;
	struct buffer buffer;
	struct sight sight;
	__le64 number;
	char *memory;
	int i;

	ASSERT_TRUE(agent_keep_exports());
	self->restarted = true;
	ASSERT_TRUE(write_file(CONF, conf));
	ASSERT_TRUE(reload());
	ASSERT_TRUE(hypervisor_start(&hypervisor));
	number = hypervisor_look(&hypervisor, 1).number;
	ASSERT_NE(0, number);

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(window_heard());
		ASSERT_TRUE(buffer_make(&buffer, VGPU_MOCK_BUF_PFN, PAGE));
		memory = buffer_map(&buffer, buffer.fwd, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, memory);
		ASSERT_EQ(0, buffer_do(&buffer, VGPU_MOCK_IOC_BUF_FILL, 4711 + i, 0));
		EXPECT_NE(0, hypervisor_look(&hypervisor, 4711 + i).at) TH_LOG("turn %d", i);
		munmap(memory, buffer.size);
		EXPECT_EQ(0, buffer_settle(&buffer));
		buffer_end(&buffer);
		if (!i)
			ASSERT_TRUE(restart());
		sight = hypervisor_look(&hypervisor, 4711 + i);
		EXPECT_EQ(number, sight.number);
		EXPECT_EQ(0, sight.at);
	}
	/* vgpud recognizes the window as one that it has made itself. */
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(restart());
	EXPECT_EQ(number, hypervisor_look(&hypervisor, 1).number);
	EXPECT_EQ(0, access(WINDOW_PATH, F_OK));
	hypervisor_end(&hypervisor);
	EXPECT_TRUE(await_size(WINDOW_PATH, -1));
}

/* --- checks of what only an administrator can configure ----------------------- */

#define FAKE_VFIO	"/dev/vfio/66"

/* Return: true if status --json has a line with @member soon below the window's path. */
static bool shows_far(const char *path, const char *member)
{
	return !tool_run("vgpuctl status --json | grep -A 45 '\"path\":\"%s\"' | grep -F '%s'",
			 path, member)->status;
}

/* Return: true if status succeeds, and has no such words. */
static bool says_nothing_of(const char *words)
{
	return !tool_run("vgpuctl status >/run/status && ! grep -F '%s' /run/status",
			 words)->status;
}

/**
 * struct played - process that has files open as a hypervisor has
 * @pid: process id
 * @fd: socket; the process ends when it is closed
 */
struct played {
	pid_t pid;
	int fd;
};

static void played_run(int fd, const char *window, bool mapped, const char *other, int flags)
{
	int file = window ? open(window, flags | O_CLOEXEC) : 0;
	char byte;

	if (file < 0 || (other && open(other, flags | O_CLOEXEC) < 0))
		_exit(1);
	if (mapped && mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED)
		_exit(1);
	if (mapped)
		close(file);
	if (write(fd, "", 1) != 1 || read(fd, &byte, 1))
		_exit(1);
	_exit(0);
}

/*
 * Starts a process that opens the window and another file with @flags, each if not NULL.
 * @mapped: it maps the window and closes the window's file. Return: true if it has these files.
 */
static bool played_start(struct played *played, const char *window, bool mapped,
			 const char *other, int flags)
{
	char byte;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return false;
	played->pid = fork();
	if (!played->pid) {
		close(fds[0]);
		played_run(fds[1], window, mapped, other, flags);
	}
	close(fds[1]);
	played->fd = fds[0];
	return played->pid > 0 && read(played->fd, &byte, 1) == 1;
}

static void played_end(const struct played *played)
{
	close(played->fd);
	waitpid(played->pid, NULL, 0);
}

/* Return: true if status warns of that process, in words and in JSON. */
static bool warns_of(const struct played *played, const char *other)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "\"pid\":%d,", played->pid);
	return !tool_run("vgpuctl status | grep -F 'warning: process %d, which has opened the window of guest 66, also has a VFIO device, %s:'",
			 played->pid, other)->status &&
	       shows_far(PATH, pid) && shows_far(PATH, other);
}

/*
 * A device that QEMU gives the guest by VFIO can reach all other guests' windows, if the guest
 * has a virtual IOMMU.
 */
TEST_F_TIMEOUT(config, window_beside_vfio, 120)
{
	static const char *const others[] = { FAKE_VFIO, "/dev/iommu" };
	struct played hypervisor, stranger;
	bool made[2];
	size_t i;

	ASSERT_TRUE(write_conf("window = 1M\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(shows_far(PATH, "\"vfio\":[]"));
	/* Status does not warn of a process without VFIO, or without a window. */
	ASSERT_TRUE(played_start(&hypervisor, PATH, false, NULL, O_RDWR));
	mkdir("/dev/vfio", 0755);
	for (i = 0; i < 2; i++) {
		made[i] = !mknod(others[i], S_IFCHR | 0600, makedev(1, 3));
		ASSERT_TRUE(made[i] || !access(others[i], F_OK));
		ASSERT_TRUE(played_start(&stranger, NULL, false, others[i], O_RDWR));
		EXPECT_TRUE(says_nothing_of("warning: process"));
		played_end(&stranger);
		/*
		 * Status does not warn of a process that has opened both with O_PATH, and
		 * cannot use them.
		 */
		ASSERT_TRUE(played_start(&stranger, PATH, false, others[i], O_PATH));
		EXPECT_TRUE(says_nothing_of("warning: process"));
		played_end(&stranger);
	}
	played_end(&hypervisor);

	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(played_start(&hypervisor, PATH, i / 2, others[i % 2], O_RDWR));
		EXPECT_TRUE(warns_of(&hypervisor, others[i % 2])) TH_LOG("turn %zu", i);
		played_end(&hypervisor);
	}
	/* A user who may not see other users' files gets no answer. */
	EXPECT_EQ(0, tool_run("su -s /bin/sh nobody -c 'vgpuctl status --json' | "
			      "grep -A 45 '\"path\":\"" PATH "\"' | grep '\"vfio\":null'")->status);
	for (i = 0; i < 2; i++)
		if (made[i])
			unlink(others[i]);
	rmdir("/dev/vfio");
}

/* Return: true if status says that @who may open the window of guest 66 as well. */
static bool warns_of_openers(const char *who)
{
	return !tool_run("vgpuctl status | grep -F 'warning: not only the hypervisor of guest 66 may open this window, but also: %s ('",
			 who)->status;
}

/*
 * Sets an access control list with one more user: a version, and entries of tag, permissions
 * and id.
 */
static bool add_to_acl(const char *path, uint32_t uid)
{
	const struct {
		__le16 tag, permissions;
		__le32 id;
	} entries[] = {
		{ htole16(0x01), htole16(6), htole32(~0U) },
		{ htole16(0x02), htole16(6), htole32(uid) },
		{ htole16(0x04), htole16(0), htole32(~0U) },
		{ htole16(0x10), htole16(6), htole32(~0U) },
		{ htole16(0x20), htole16(0), htole32(~0U) },
	};
	unsigned char list[4 + sizeof(entries)] = { 2 };

	memcpy(list + 4, entries, sizeof(entries));
	return !setxattr(path, "system.posix_acl_access", list, sizeof(list), 0);
}

/* All of libvirt's hypervisors run as one user, so each may open each window. */
TEST_F_TIMEOUT(config, open_to_others, 120)
{
	struct passwd *daemon = getpwnam("daemon");

	ASSERT_NE(NULL, daemon);
	ASSERT_TRUE(write_conf("window = 1M\nwindow-user = daemon\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(says_nothing_of("not only the hypervisor"));
	EXPECT_TRUE(shows_far(PATH, "\"open_to\":[]"));

	ASSERT_TRUE(write_file(OTHER_CONF, "[window-b]\npath = /dev/zero\nto = 68\nwindow = 1M\n"
			       "window-user = daemon\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(warns_of_openers("user daemon"));
	EXPECT_TRUE(shows_far(PATH, "\"kind\":\"user\","));
	EXPECT_TRUE(shows_far(PATH, "\"name\":\"daemon\""));
	EXPECT_EQ(0, tool_run("vgpuctl status | grep -F \"'A user for each guest' in Documentation/admin/window.rst\"")->status);
	/* A user for each guest solves this. */
	ASSERT_TRUE(write_file(OTHER_CONF, "[window-b]\npath = /dev/zero\nto = 68\nwindow = 1M\n"
			       "window-user = 4711\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(says_nothing_of("not only the hypervisor"));

	/* Rules of udev may give files other modes. */
	ASSERT_EQ(0, chown(PATH, -1, daemon->pw_gid));
	ASSERT_EQ(0, chmod(PATH, 0640));
	EXPECT_TRUE(warns_of_openers("group daemon"));
	ASSERT_EQ(0, chmod(PATH, 0666));
	EXPECT_TRUE(warns_of_openers("group daemon, everybody"));
	EXPECT_TRUE(shows_far(PATH, "\"kind\":\"everybody\","));
	ASSERT_EQ(0, chmod(PATH, 0600));
	/* The file system of /dev may have no access control lists. */
	if (add_to_acl(PATH, 4712))
		EXPECT_TRUE(warns_of_openers("user 4712"));
}

TEST_HARNESS_MAIN
