// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports with profiles, and lists of ioctls by name. The guest is this machine's module, and the
 * device is vgem's card: these tests need the host in the same machine, which is the case in the
 * tiers loopback and user.
 */
#include <errno.h>
#include <stdint.h>

#include <drm.h>
#include <drm_mode.h>
#include <linux/dma-buf.h>

#include "agent_exports.h"

/* Section of an export of the card for this machine's guest, with these settings. */
#define SECTION(name, more)	"[" name "]\npath = %s\nto = 1\n" more

static bool write_sections(const char *format)
{
	const char *real = getenv("VGPU_REAL");
	char text[2048];

	/* A format has up to two sections. */
	snprintf(text, sizeof(text), format, real, real);
	return write_file(CONF, text) && reload();
}

/* Returns the errno of an ioctl, or 0. */
static int try(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

static int try_dumb(int fd, uint32_t *handle)
{
	struct drm_mode_create_dumb dumb = { .width = 8, .height = 8, .bpp = 32 };
	int ret = try(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);

	if (handle)
		*handle = dumb.handle;
	return ret;
}

/* The errno of vgem's card, which has no syncobjs, for an ioctl that the host lets through. */
#define PASSES	EOPNOTSUPP
#define DIR_GUESTS	"/etc/vgpu/guests.d"
#define GUEST_CONF	DIR_GUESTS "/profile-1.conf"

static int try_syncobj(int fd)
{
	struct drm_syncobj_create create = {};

	return try(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
}

static int try_version(int fd)
{
	struct drm_version version = {};

	return try(fd, DRM_IOCTL_VERSION, &version);
}

static int try_master(int fd)
{
	return try(fd, DRM_IOCTL_SET_MASTER, NULL);
}

/* A list may name ioctls. */
TEST_F_TIMEOUT(files, ioctls_by_name, 120)
{
	int fd;

	ASSERT_TRUE(write_sections(SECTION("config-a", "allow-ioctls = DRM_IOCTL_VERSION, 0x64bf\n")));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_version(fd));
	EXPECT_EQ(PASSES, try_syncobj(fd));
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	close(fd);
	ASSERT_TRUE(write_sections(SECTION("config-b", "deny-ioctls = DRM_IOCTL_MODE_CREATE_DUMB\n")));
	fd = tool_open_export("config-b");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	EXPECT_EQ(PASSES, try_syncobj(fd));
	close(fd);
}

/*
 * The same guest has the device on two terms, by sections of different names. A profile allows
 * what it is for, and nothing else.
 */
TEST_F_TIMEOUT(files, two_profiles_of_one_device, 120)
{
	int a, b;

	ASSERT_TRUE(write_sections(SECTION("config-a", "profile = render\n")
				   SECTION("config-b", "profile = display\nmaster = yes\n")));
	a = tool_open_export("config-a");
	b = tool_open_export("config-b");
	ASSERT_GE(a, 0);
	ASSERT_GE(b, 0);
	EXPECT_EQ(0, try_version(a));
	EXPECT_EQ(0, try_version(b));
	EXPECT_EQ(PASSES, try_syncobj(a));
	EXPECT_EQ(PASSES, try_syncobj(b));
	EXPECT_EQ(EACCES, try_dumb(a, NULL));
	EXPECT_EQ(0, try_dumb(b, NULL));
	EXPECT_EQ(EACCES, try_master(a));
	EXPECT_NE(EACCES, try_master(b));
	close(a);
	close(b);
}

/* A list is added to a profile, or taken from it. Files that the device makes are under both. */
TEST_F_TIMEOUT(files, profile_and_list, 120)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_START };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	int fd;

	ASSERT_TRUE(write_sections(SECTION("config-a", "profile = render\n"
					   "allow-ioctls = DRM_IOCTL_MODE_CREATE_DUMB\n")));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_dumb(fd, &prime.handle));
	EXPECT_EQ(PASSES, try_syncobj(fd));
	ASSERT_EQ(0, try(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	EXPECT_EQ(0, try(prime.fd, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(EACCES, try(prime.fd, DMA_BUF_SET_NAME_B, "name"));
	close(prime.fd);
	close(fd);
	ASSERT_TRUE(write_sections(SECTION("config-b", "profile = render, display\n"
					   "deny-ioctls = DRM_IOCTL_SYNCOBJ_CREATE, DMA_BUF_IOCTL_SYNC\n")));
	fd = tool_open_export("config-b");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_dumb(fd, &prime.handle));
	EXPECT_EQ(EACCES, try_syncobj(fd));
	ASSERT_EQ(0, try(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	EXPECT_EQ(EACCES, try(prime.fd, DMA_BUF_IOCTL_SYNC, &sync));
	close(prime.fd);
	close(fd);
}

/* Opens the guest's node of an export for reading. Return: the fd, or -1. */
static int open_to_read(const char *name)
{
	uint64_t end = tool_now_ms() + 60000;
	char node[32];
	int fd = -1;

	while (fd < 0 && tool_now_ms() < end) {
		snprintf(node, sizeof(node), "/dev/vgpu%d", tool_find_export(name));
		fd = open(node, O_RDONLY);
		if (fd < 0)
			usleep(20000);
	}
	return fd;
}

/* An export for reading lets ioctls through that query, and no others, whatever its list says. */
TEST_F_TIMEOUT(files, read_only_only_queries, 120)
{
	struct drm_get_cap cap = { .capability = DRM_CAP_PRIME };
	int fd;

	ASSERT_TRUE(write_sections(SECTION("config-a", "read-only = yes\n")));
	fd = open_to_read("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_version(fd));
	EXPECT_EQ(0, try(fd, DRM_IOCTL_GET_CAP, &cap));
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	EXPECT_EQ(EACCES, try_syncobj(fd));
	EXPECT_EQ(EACCES, try(fd, _IO('d', 0x9f), NULL));
	close(fd);
	ASSERT_TRUE(write_sections(SECTION("config-b", "read-only = yes\n"
					   "allow-ioctls = DRM_IOCTL_VERSION, DRM_IOCTL_MODE_CREATE_DUMB\n")));
	fd = open_to_read("config-b");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_version(fd));
	EXPECT_EQ(EACCES, try(fd, DRM_IOCTL_GET_CAP, &cap));
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	close(fd);
	ASSERT_TRUE(write_sections(SECTION("config-c", "read-only = yes\n"
					   "deny-ioctls = DRM_IOCTL_VERSION\n")));
	fd = open_to_read("config-c");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, try_version(fd));
	EXPECT_EQ(0, try(fd, DRM_IOCTL_GET_CAP, &cap));
	close(fd);
	/* A list of which nothing is left must not mean that all ioctls are allowed. */
	ASSERT_TRUE(write_sections(SECTION("config-d", "read-only = yes\n"
					   "allow-ioctls = DRM_IOCTL_GEM_CLOSE\n")));
	fd = open_to_read("config-d");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, try_version(fd));
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	close(fd);
}

/* A profile is asked for by vgpuctl, and shown; the profile all is as none. */
TEST_F_TIMEOUT(files, profile_by_hand, 120)
{
	const char *real = getenv("VGPU_REAL");
	int fd;

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 1 --name config-a --profile render,compute",
			      real)->status);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl status")->out, "profile render, compute"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl list --json")->out, "\"profile\":\"render, compute\""));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, try_dumb(fd, NULL));
	EXPECT_EQ(PASSES, try_syncobj(fd));
	close(fd);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl export %s --to 66 --name config-a", real)->out,
			       "other options"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --force")->status);

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 1 --name config-b --profile all", real)->status);
	EXPECT_EQ(0, tool_run("vgpuctl export %s --to 66 --name config-b", real)->status);
	fd = tool_open_export("config-b");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_dumb(fd, NULL));
	close(fd);
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-b --force")->status);
}

/* Return: true if vgpuctl's status has a line of this pattern about a denied ioctl. */
static bool counted(const char *pattern)
{
	struct tool_run *run = tool_run("vgpuctl status");
	regex_t regex;
	bool found;

	if (run->status || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE))
		return false;
	found = !regexec(&regex, run->out, 0, NULL, 0);
	regfree(&regex);
	return found;
}

/* Denied ioctls are counted by name, those of files that the device makes included. */
TEST_F_TIMEOUT(files, denials_are_counted, 120)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	unsigned int i;
	int fd;

	ASSERT_TRUE(write_sections(SECTION("config-a", "profile = display\n")));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_dumb(fd, &prime.handle));
	EXPECT_FALSE(counted(" config-a +1:22586 "));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(EACCES, try(fd, _IOWR('d', 0x41, uint32_t), &i));
	EXPECT_EQ(EACCES, try_master(fd));
	ASSERT_EQ(0, try(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	EXPECT_EQ(EACCES, try(prime.fd, DMA_BUF_SET_NAME_B, "name"));
	EXPECT_TRUE(counted("^DRM_IOCTL_VGEM_FENCE_ATTACH +config-a +1:22586 +3 +0$"));
	EXPECT_TRUE(counted("^DRM_IOCTL_SET_MASTER +config-a +1:22586 +1 +0$"));
	EXPECT_TRUE(counted("^DMA_BUF_SET_NAME +config-a +1:22586 +1 +0$"));
	EXPECT_FALSE(counted("^DRM_IOCTL_MODE_CREATE_DUMB "));
	/* A guest with a name is called by it. */
	ASSERT_EQ(0, tool_run("mkdir -p " DIR_GUESTS)->status);
	ASSERT_TRUE(write_file(GUEST_CONF, "[guest self]\ncid = 1\n"));
	EXPECT_TRUE(reload());
	EXPECT_TRUE(counted("^DMA_BUF_SET_NAME +config-a +self +1 +0$"));
	ASSERT_EQ(0, unlink(GUEST_CONF));
	EXPECT_TRUE(reload());
	/* A guest that tries many numbers fills the table, and the rest is counted together. */
	EXPECT_FALSE(counted("^others "));
	for (i = 0x43; i < 0xa0; i++)
		EXPECT_EQ(EACCES, try(fd, _IO('d', i), NULL));
	EXPECT_TRUE(counted("^0x6443 +config-a +1:22586 +1 +0$"));
	EXPECT_TRUE(counted("^others +config-a +1:22586 +[1-9][0-9]+ +0$"));
	EXPECT_TRUE(counted("^DRM_IOCTL_VGEM_FENCE_ATTACH +config-a +1:22586 +3 +0$"));
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl list --json")->out,
			       "\"ioctl\":\"DRM_IOCTL_SET_MASTER\""));
	close(prime.fd);
	close(fd);
}

/* An audit lets through what the list denies, counts it and logs its name, once. */
TEST_F_TIMEOUT(files, audit_denies_nothing, 120)
{
	static const char words[] = "export config-a: DRM_IOCTL_MODE_CREATE_DUMB would be denied";
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	uint64_t end = tool_now_ms() + 30000;
	struct tool_run *run;
	int fd;

	ASSERT_TRUE(write_sections(SECTION("config-a", "profile = render\naudit = yes\n")));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try_dumb(fd, NULL));
	EXPECT_EQ(0, try_dumb(fd, &prime.handle));
	/* An audit is no permission to become master. */
	EXPECT_EQ(EACCES, try_master(fd));
	ASSERT_EQ(0, try(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	EXPECT_EQ(0, try(prime.fd, DMA_BUF_SET_NAME_B, "name"));
	EXPECT_TRUE(counted("^DRM_IOCTL_MODE_CREATE_DUMB +config-a +1:22586 +0 +2$"));
	EXPECT_TRUE(counted("^DRM_IOCTL_SET_MASTER +config-a +1:22586 +1 +0$"));
	EXPECT_TRUE(counted("^DMA_BUF_SET_NAME +config-a +1:22586 +0 +1$"));
	while (!logged(words) && tool_now_ms() < end)
		usleep(100000);
	EXPECT_EQ(1, logged(words));
	EXPECT_EQ(0, logged("DRM_IOCTL_SET_MASTER would be denied"));
	close(prime.fd);
	close(fd);

	ASSERT_TRUE(write_export(CONF, "config-a", "66", "audit = yes\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, "audit means nothing without")) TH_LOG("%s", run->out);
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "audit = yes\nprofile = render\nread-only = yes\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, "audit cannot be combined with read-only"))
		TH_LOG("%s", run->out);
}

/* Names and profiles that mean nothing for the device are refused in words. */
TEST_F_TIMEOUT(files, profiles_that_mean_nothing, 120)
{
	const char *real = getenv("VGPU_REAL");
	struct tool_run *run;

	run = tool_run("vgpuctl export /dev/null --to 66 --name config-a --profile render");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, "the profile render means nothing here")) TH_LOG("%s", run->out);
	EXPECT_EQ(0, tool_run("vgpuctl export /dev/null --to 66 --name config-a --profile all")->status);
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --force")->status);
	run = tool_run("vgpuctl export %s --to 66 --name config-a --profile games", real);
	EXPECT_EQ(2, run->status);
	EXPECT_NE(NULL, strstr(run->out, "'games' is not a profile: give render, display, compute or all"))
		TH_LOG("%s", run->out);
	run = tool_run("vgpuctl export %s --to 66 --name config-a --profile all,render", real);
	EXPECT_EQ(2, run->status);
	EXPECT_FALSE(listed("^config-a "));

	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls = DRM_IOCTL_I915_GETPARAM\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, CONF ":1: [config-a]: the list has an ioctl of i915, but "))
		TH_LOG("%s", run->out);
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls = DRM_IOCTL_NONE_OF_THEM\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_NE(NULL, strstr(run->out, ":4: [config-a]: allow-ioctls: 'DRM_IOCTL_NONE_OF_THEM' is neither"))
		TH_LOG("%s", run->out);
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "profile = render, render\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_NE(NULL, strstr(run->out, "profile: render is named twice")) TH_LOG("%s", run->out);
	EXPECT_FALSE(listed("^config-a "));
}

TEST_HARNESS_MAIN
