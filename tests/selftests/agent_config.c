// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of exports.d: what is no such file, and what vgpud makes of one that has changed. The
 * latter needs the host in the same machine: the tiers loopback and user.
 */
#include <signal.h>
#include <sys/stat.h>

#include "agent.h"

#include "kselftest_harness.h"

#define CHECK_DIR	"/tmp/vgpud-config.d"
#define A		"[a]\npath = /dev/null\nto = 3\n"

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

/* Looks through one file of exports, and perhaps another one behind it. */
static struct tool_run *check(const char *text, const char *other)
{
	static struct tool_run none = { .status = -1 };

	if (tool_run("rm -rf " CHECK_DIR "; mkdir " CHECK_DIR)->status ||
	    !write_file(CHECK_DIR "/1.conf", text) ||
	    (other && !write_file(CHECK_DIR "/2.conf", other)))
		return &none;
	return tool_run("vgpud --check --config /dev/null --exports-dir " CHECK_DIR);
}

#define EXPECT_CHECK(expected, words, text, other) do {			\
	struct tool_run *run_ = check(text, other);			\
									\
	EXPECT_EQ(expected, run_->status) TH_LOG("%s", run_->out);	\
	EXPECT_NE(NULL, strstr(run_->out, words)) TH_LOG("%s", run_->out); \
} while (0)

/* Where there is no list everything is allowed. */
TEST(lists_of_nothing)
{
	EXPECT_CHECK(3, "1.conf:4: [a]: allow-ioctls: the list is empty", A "allow-ioctls =\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: allow-ioctls: the list is empty",
		     A "allow-ioctls = ; none\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: allow-ioctls: the list is empty",
		     A "allow-ioctls = , ,\n", NULL);
	EXPECT_CHECK(3, "1.conf:5: [a]: allow-ioctls: the list is empty",
		     A "allow-ioctls = 0x6400\nallow-ioctls =\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: deny-ioctls: the list is empty", A "deny-ioctls =\n", NULL);
	EXPECT_CHECK(3, "1.conf:3: [a]: to: the list is empty", "[a]\npath = /dev/null\nto =\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:2: [a]: nvidia: the list is empty", "[a]\nnvidia =\nto = 3\n",
		     NULL);
	EXPECT_CHECK(0, "", A "allow-ioctls = 0x6400 ; one\n", NULL);
}

TEST(said_twice)
{
	EXPECT_CHECK(3, "1.conf:4: [a]: the name is taken by " CHECK_DIR "/1.conf:1",
		     A "[a]\npath = /dev/zero\nto = 4\n", NULL);
	EXPECT_CHECK(3, "2.conf:1: [a]: the name is taken by " CHECK_DIR "/1.conf:1", A, A);
	EXPECT_CHECK(3, "1.conf:4: [a]: path: it is set already", A "path = /dev/null\n", NULL);
	EXPECT_CHECK(3, "1.conf:5: [a]: any-port: it is set already",
		     A "any-port = yes\nany-port = no\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: to: guest 3 is named twice", A "to = 4, 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: to: guest 3:22586 is named twice", A "to = 3:22586\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:2: [a]: nvidia: card 1 is named twice",
		     "[a]\nnvidia = 1, 0, 1\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:5: [a]: deny-ioctls: 0x10 is named twice",
		     A "deny-ioctls = 16, 17\ndeny-ioctls = 0x10\n", NULL);
	EXPECT_CHECK(0, "", A "to = 4, 3:22587\ndeny-ioctls = 16\ndeny-ioctls = 17\n", NULL);
	/* One that cards of NVIDIA's need. */
	EXPECT_CHECK(3, "2.conf:1: [nvidiactl]: the name is taken by nvidia= of [b]",
		     "[b]\nnvidia = 0\nto = 3\n", "[nvidiactl]\npath = /dev/null\nto = 4\n");
	EXPECT_CHECK(3, "2.conf:1: [b]: nvidia= needs the name [nvidia7], which is taken by",
		     "[nvidia7]\npath = /dev/null\nto = 4\n", "[b]\nnvidia = 7\nto = 3\n");
	EXPECT_CHECK(3, "2.conf:1: [b]: all sections with nvidia= need the same any-port=",
		     "[a]\nnvidia = 0\nto = 3\n", "[b]\nnvidia = 1\nto = 4\nany-port = yes\n");
	EXPECT_CHECK(0, "", "[a]\nnvidia = 0\nto = 3\n", "[b]\nnvidia = 1\nto = 4, 3\n");
}

TEST(settings_said_twice)
{
	ASSERT_TRUE(write_file(CHECK_DIR ".conf", "[agent]\nport = 5\n[limits]\n[agent]\nport = 6\n"));
	EXPECT_EQ(3, tool_run("vgpud --check --config " CHECK_DIR ".conf --exports-dir /nonexistent")->status);
	EXPECT_NE(NULL, strstr(tool_run("vgpud --check --config " CHECK_DIR ".conf")->out,
			       ".conf:5: [agent]: port: it is set already"));
	unlink(CHECK_DIR ".conf");
}

/* A list of policy is not cut where somebody's buffer ends. */
TEST(lines_of_any_length)
{
	static char text[65536];
	size_t len;
	int i;

	for (i = 0, len = sprintf(text, A "allow-ioctls ="); i < 1024; i++)
		len += sprintf(text + len, "%s 0x%08x", i ? "," : "", i);
	EXPECT_CHECK(0, "", text, NULL);
	sprintf(text + len, "\nfoo = 1\n");
	EXPECT_CHECK(3, "1.conf:5: [a]: foo: there is no such setting", text, NULL);
	sprintf(text + len, ", 0xffff\n");
	EXPECT_CHECK(3, "1.conf:4: [a]: allow-ioctls: these are more than 1024", text, NULL);
}

/* A line is what stands on it, whatever is in front of it, and above. */
TEST(lines_that_are_indented)
{
	EXPECT_CHECK(0, "", "  [a]\n\tpath = /dev/null\n  to = 3\n  any-port = yes\n  ; so\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: neither [section] nor name = value",
		     A "  4, 5\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: master: it is set already",
		     "[a]\nmaster = yes\npath = /dev/null\n  master = no\nto = 3\n", NULL);
}

TEST(lines_that_say_nothing)
{
	EXPECT_CHECK(3, "1.conf:1: not understood: a setting is in no section", "to = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: not understood: a section is [name]", A "[b] c\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: neither", A "= 5\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: neither", A "master\n", NULL);
	/* All of them are said. */
	EXPECT_CHECK(3, "1.conf:5: [a]: y: there is no such setting", A "x = 1\ny = 2\n", NULL);
	EXPECT_EQ(0, tool_run("printf '[a]\\npath = /dev/null\\000\\nto = 3' >" CHECK_DIR "/1.conf")->status);
	EXPECT_NE(NULL, strstr(tool_run("vgpud --check --config /dev/null --exports-dir " CHECK_DIR)->out,
			       "1.conf:2: [a]: not understood: a byte of it is 0"));
	EXPECT_EQ(0, tool_run("rm " CHECK_DIR "/1.conf; mkdir " CHECK_DIR "/1.conf")->status);
	EXPECT_EQ(3, tool_run("vgpud --check --config /dev/null --exports-dir " CHECK_DIR)->status);
}

/* What can be seen without exporting it. */
TEST(paths_of_no_device)
{
	EXPECT_CHECK(3, "1.conf:1: [a]: 'dev/null': give an absolute path",
		     "[a]\npath = dev/null\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /etc/passwd is no character device",
		     "[a]\npath = /etc/passwd\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /dev is no character device", "[a]\npath = /dev\nto = 3\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /dev/null/x: Not a directory",
		     "[a]\npath = /dev/null/x\nto = 3\n", NULL);
	/* It may be plugged in later. */
	EXPECT_CHECK(0, "", "[a]\npath = /dev/no-such-device\nto = 3\n", NULL);
	if (!access("/dev/vgpu-host", F_OK))
		EXPECT_CHECK(3, "1.conf:1: [a]: /dev/vgpu-host belongs to vgpu itself",
			     "[a]\npath = /dev/vgpu-host\nto = 3\n", NULL);
}

/* --- files that change ---------------------------------------------------- */

#define DIR_EXPORTS	"/etc/vgpu/exports.d"
#define CONF		DIR_EXPORTS "/config-1.conf"
#define OTHER_CONF	DIR_EXPORTS "/config-2.conf"
#define LOG		"/run/vgpud.log"

/* How often vgpud logged these words. */
static int logged(const char *words)
{
	return atoi(tool_run("grep -cF '%s' " LOG, words)->out);
}

/* Writes such a section, for this machine's own guest and perhaps others. */
static bool write_export(const char *conf, const char *name, const char *to, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), "[%s]\npath = %s\nto = %s\n%s", name, getenv("VGPU_REAL"), to,
		 more);
	return write_file(conf, text);
}

/* vgpud has read what the files hold now. */
static bool reload(void)
{
	int before = logged("reading the exports again"), tries;
	pid_t pid;

	if (tool_processes("/vgpud", &pid) != 1 || kill(pid, SIGHUP))
		return false;
	for (tries = 0; tries < 1000; tries++) {
		/* It answers when it is done with all files. */
		if (logged("reading the exports again") > before)
			return !tool_run("vgpuctl list")->status;
		usleep(20000);
	}
	return false;
}

static bool listed(const char *line)
{
	return !tool_run("vgpuctl list | grep -q '%s'", line)->status;
}

FIXTURE(files) {
	bool any;
};

FIXTURE_SETUP(files)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_EQ(0, tool_run("mkdir -p " DIR_EXPORTS)->status);
	self->any = true;
}

FIXTURE_TEARDOWN(files)
{
	if (!self->any)
		return;
	unlink(CONF);
	unlink(OTHER_CONF);
	EXPECT_TRUE(reload());
	EXPECT_FALSE(listed("^config-"));
}

TEST_F_TIMEOUT(files, list_of_nothing_exports_nothing, 120)
{
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls =\n"));
	ASSERT_TRUE(reload());
	EXPECT_FALSE(listed("^config-a "));
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls = 1\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a "));
}

/* What was there before stays, and what other files say waits. */
TEST_F_TIMEOUT(files, mistake_changes_nothing, 120)
{
	static const char *const mistakes[] = {
		"[config-a]\npath = dev/null\nto = 66\n",
		"[config-a]\npath = /etc/passwd\nto = 66\n",
		"[config-a]\npath = /dev/null\nto = 66\n[config-b]\npath = /dev/null\nto = 66\n",
		"[config-a]\npath = /dev/null\nto = 66, 66\n",
		"[config-a]\npath = /dev/null\nto = 66\nfoo = bar\n",
		"[config-a\n",
	};
	unsigned int i;

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a .* 66$"));
	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		ASSERT_TRUE(write_file(OTHER_CONF, mistakes[i]));
		ASSERT_TRUE(write_export(CONF, i == 2 ? "config-b" : "config-c", "66", ""));
		ASSERT_TRUE(reload());
		EXPECT_TRUE(listed("^config-a .* 66$")) TH_LOG("%s", mistakes[i]);
		EXPECT_FALSE(listed("^config-[bc] ")) TH_LOG("%s", mistakes[i]);
	}
	ASSERT_EQ(0, unlink(OTHER_CONF));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-c .* 66$"));
	EXPECT_FALSE(listed("^config-a "));
}

TEST_HARNESS_MAIN
