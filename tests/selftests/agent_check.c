// SPDX-License-Identifier: GPL-2.0-only
/* These tests have vgpud --check read files that have errors, and settings beyond the limits. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent_exports.h"

#define CHECK_DIR	"/tmp/vgpud-config.d"
#define A		"[a]\npath = /dev/null\nto = 3\n"

/* Checks one file of exports, and a second one if @other is not NULL. */
static struct tool_run *check(const char *text, const char *other)
{
	static struct tool_run none = { .status = -1 };

	/* An earlier check may have left any of these files. */
	if ((mkdir(CHECK_DIR, 0755) && errno != EEXIST) ||
	    (remove(CHECK_DIR "/1.conf") && errno != ENOENT) ||
	    (remove(CHECK_DIR "/2.conf") && errno != ENOENT) ||
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

#define CHECK_SETTINGS	"vgpud --check --config " CHECK_DIR ".conf --exports-dir /nonexistent"

/* EXPECT_SETTINGS checks the file of settings in the same way. */
#define EXPECT_SETTINGS(expected, words, text) do {			\
	struct tool_run *run_;						\
									\
	ASSERT_TRUE(write_file(CHECK_DIR ".conf", text));		\
	run_ = tool_run(CHECK_SETTINGS);				\
	EXPECT_EQ(expected, run_->status) TH_LOG("%s", run_->out);	\
	EXPECT_NE(NULL, strstr(run_->out, words)) TH_LOG("%s", run_->out); \
} while (0)

/* An empty list is an error, as no list means that everything is allowed. */
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
	EXPECT_CHECK(3, "1.conf:4: [a]: path: this setting is given twice", A "path = /dev/null\n", NULL);
	EXPECT_CHECK(3, "1.conf:5: [a]: any-port: this setting is given twice",
		     A "any-port = yes\nany-port = no\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: to: guest 3 is named twice", A "to = 4, 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: to: guest 3:22586 is named twice", A "to = 3:22586\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:2: [a]: nvidia: card 1 is named twice",
		     "[a]\nnvidia = 1, 0, 1\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:5: [a]: deny-ioctls: 0x10 is named twice",
		     A "deny-ioctls = 16, 17\ndeny-ioctls = 0x10\n", NULL);
	EXPECT_CHECK(0, "", A "to = 4, 3:22587\ndeny-ioctls = 16\ndeny-ioctls = 17\n", NULL);
	/* These names belong to the files that NVIDIA's cards need. */
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
			       ".conf:5: [agent]: port: this setting is given twice"));
	unlink(CHECK_DIR ".conf");
}

/* A long list of ioctls is not cut at the end of a buffer. */
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
	EXPECT_CHECK(3, "1.conf:4: [a]: allow-ioctls: the list has more than 1024 ioctls", text, NULL);
}

/* A line means the same with and without blanks in front, whatever the line above is. */
TEST(lines_that_are_indented)
{
	EXPECT_CHECK(0, "", "  [a]\n\tpath = /dev/null\n  to = 3\n  any-port = yes\n  ; so\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: this line is neither [section] nor name = value",
		     A "  4, 5\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: master: this setting is given twice",
		     "[a]\nmaster = yes\npath = /dev/null\n  master = no\nto = 3\n", NULL);
}

TEST(lines_that_say_nothing)
{
	EXPECT_CHECK(3, "1.conf:1: not understood: this setting is in no section", "to = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: not understood: a section begins with [name]", A "[b] c\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: this line is neither", A "= 5\n", NULL);
	EXPECT_CHECK(3, "1.conf:4: [a]: not understood: this line is neither", A "master\n", NULL);
	/* All errors are reported. */
	EXPECT_CHECK(3, "1.conf:5: [a]: y: there is no such setting", A "x = 1\ny = 2\n", NULL);
	EXPECT_EQ(0, tool_run("printf '[a]\\npath = /dev/null\\000\\nto = 3' >" CHECK_DIR "/1.conf")->status);
	EXPECT_NE(NULL, strstr(tool_run("vgpud --check --config /dev/null --exports-dir " CHECK_DIR)->out,
			       "1.conf:2: [a]: not understood: this line has a byte that is 0"));
	EXPECT_EQ(0, tool_run("rm " CHECK_DIR "/1.conf; mkdir " CHECK_DIR "/1.conf")->status);
	EXPECT_EQ(3, tool_run("vgpud --check --config /dev/null --exports-dir " CHECK_DIR)->status);
}

/* Errors in a path are found if they can be seen without exporting it. */
TEST(paths_of_no_device)
{
	EXPECT_CHECK(3, "1.conf:1: [a]: 'dev/null': give an absolute path",
		     "[a]\npath = dev/null\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /etc/passwd is not a character device",
		     "[a]\npath = /etc/passwd\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /dev is not a character device", "[a]\npath = /dev\nto = 3\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: /dev/null/x: Not a directory",
		     "[a]\npath = /dev/null/x\nto = 3\n", NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: a path must not have blanks", "[a]\npath = /dev/nu ll\nto = 3\n",
		     NULL);
	EXPECT_CHECK(3, "1.conf:1: [a]: a path must not have blanks or control characters",
		     "[a]\npath = /dev/null\033[m\nto = 3\n", NULL);
	/* The device may be plugged in later. */
	EXPECT_CHECK(0, "", "[a]\npath = /dev/no-such-device\nto = 3\n", NULL);
	if (!access("/dev/vgpu-host", F_OK))
		EXPECT_CHECK(3, "1.conf:1: [a]: /dev/vgpu-host belongs to vgpu itself",
			     "[a]\npath = /dev/vgpu-host\nto = 3\n", NULL);
}

#define VHOST_NODE	"/run/vgpu-test-vhost"

/*
 * Devices are refused under any path if protection keys do not keep their drivers from memory
 * of other calls.
 */
TEST(paths_that_ignore_keys)
{
	ASSERT_EQ(0, mknod(VHOST_NODE, S_IFCHR | 0600, makedev(10, 241)));
	/* The module of that number may not be loaded yet. */
	EXPECT_CHECK(3, "1.conf:1: [a]: " VHOST_NODE " belongs to VFIO, iommufd or vhost",
		     "[a]\npath = " VHOST_NODE "\nto = 3\n", NULL);
	EXPECT_EQ(0, unlink(VHOST_NODE));
}

FIXTURE(room) {
	char before[32];
};

FIXTURE_SETUP(room)
{
	tool_read_line(NR_OPEN, self->before, sizeof(self->before));
	ASSERT_TRUE(tool_write(NR_OPEN, "1048576"));
}

FIXTURE_TEARDOWN(room)
{
	EXPECT_TRUE(tool_write(NR_OPEN, self->before));
}

/* Limits beyond those of the kernel are reported before anything is started. */
TEST_F(room, for_open_files)
{
	static const struct {
		const char *engine;
		unsigned int most, files;
	} engines[] = {
		{ "engine = kernel\n", 1048576 - 1024, 1048577 },
		{ "engine = user\n", (1048576 - 4096) / 2, 1048578 },
		{ "\n", (1048576 - 4096) / 2, 1048578 },
	};
	char text[160];
	unsigned int i;

	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		snprintf(text, sizeof(text), "[agent]\n%s[limits]\nobjects = %u\n",
			 engines[i].engine, engines[i].most);
		EXPECT_SETTINGS(0, "", text);
		snprintf(text, sizeof(text), "[agent]\n%s[limits]\nobjects = %u\n",
			 engines[i].engine, engines[i].most + 1);
		EXPECT_SETTINGS(3, CHECK_DIR ".conf:4: [limits]: objects: ", text);
		snprintf(text, sizeof(text), "needs up to %u open files", engines[i].files);
		EXPECT_NE(NULL, strstr(tool_run(CHECK_SETTINGS)->out, text)) TH_LOG("%s", text);
	}
	/* The default is too large for this kernel, too, though no line sets it. */
	ASSERT_TRUE(tool_write(NR_OPEN, "16384"));
	EXPECT_SETTINGS(3, CHECK_DIR ".conf: [limits]: objects: with 16384, ", "");
	unlink(CHECK_DIR ".conf");
}

TEST_HARNESS_MAIN
