// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests change files of exports.d while vgpud runs. They need the host in the same machine:
 * the tiers loopback and user.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/vm_sockets.h>

#include "agent_exports.h"

/* This is the root directory of shadows, and the log's message of a shadow that has none. */
#define EMPTY_ROOT	"/run/vgpu/empty"
#define ENOENT_OF_ROOT	": namespaces: No such file or directory"

TEST_F_TIMEOUT(files, list_of_nothing_exports_nothing, 120)
{
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls =\n"));
	ASSERT_TRUE(reload());
	EXPECT_FALSE(listed("^config-a "));
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "allow-ioctls = 1\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a "));
}

/* A file with an error changes nothing: earlier exports stay, and those of other files wait. */
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

/**
 * struct user - program that uses a device all the time
 * @node: path of the device's node
 * @inode: inode of the node when the program started
 * @fd: file that is open from the start
 * @create: buffer that is mapped
 * @memory: mapping of the buffer from the start
 * @rounds: number of rounds that are done
 * @failed: step at which the first failed round failed, or 0
 * @end: true if the thread is to end
 * @thread: thread that does the rounds
 */
struct user {
	char node[32];
	ino_t inode;
	int fd;
	struct vgpu_mock_buf_create create;
	volatile unsigned char *memory;
	atomic_int rounds;
	atomic_int failed;
	atomic_bool end;
	pthread_t thread;
};

static ino_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static int user_round(struct user *user)
{
	int fd;

	if (ioctl(user->fd, VGPU_MOCK_IOC_NOOP, 0))
		return 1;
	user->memory[0]++;
	/* An open file stays open in any case, so a new open shows whether the device is there. */
	fd = open(user->node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 2;
	if (ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) || close(fd))
		return 3;
	return inode_of(user->node) == user->inode ? 0 : 4;
}

static void *user_run(void *data)
{
	struct user *user = data;
	int failed;

	while (!user->end) {
		failed = user_round(user);
		if (failed && !user->failed)
			user->failed = failed;
		user->rounds++;
		/* A shorter gap is noticed, too, as the node has another inode then. */
		usleep(5000);
	}
	return NULL;
}

static bool user_start(struct user *user, const char *name)
{
	memset(user, 0, sizeof(*user));
	user->fd = tool_open_export(name);
	snprintf(user->node, sizeof(user->node), "/dev/vgpu%d", tool_find_export(name));
	user->inode = inode_of(user->node);
	user->create.size = 4096;
	user->create.flavour = VGPU_MOCK_BUF_PFN;
	if (user->fd < 0 || !user->inode ||
	    ioctl(user->fd, VGPU_MOCK_IOC_BUF_CREATE, &user->create))
		return false;
	user->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, user->fd,
			    user->create.out_offset);
	return user->memory != MAP_FAILED && !pthread_create(&user->thread, NULL, user_run, user);
}

/* Return: true if some more rounds were done and none has failed. */
static bool user_goes_on(struct user *user)
{
	int rounds = user->rounds, tries;

	for (tries = 0; tries < 1000 && user->rounds < rounds + 3; tries++)
		usleep(20000);
	if (user->failed)
		fprintf(stderr, "# round failed at step %d\n", user->failed);
	return tries < 1000 && !user->failed;
}

static void user_end(struct user *user)
{
	user->end = true;
	pthread_join(user->thread, NULL);
	munmap((void *)user->memory, 4096);
	close(user->fd);
}

/* A guest does not notice that other guests are added and removed. */
TEST_F_TIMEOUT(files, guest_is_added, 240)
{
	struct user user;

	ASSERT_TRUE(write_export(CONF, "config-a", "1, 66", ""));
	ASSERT_TRUE(reload());
	ASSERT_TRUE(user_start(&user, "config-a"));
	ASSERT_TRUE(user_goes_on(&user));

	ASSERT_TRUE(write_export(CONF, "config-a", "1, 66, 67:22612", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(user_goes_on(&user));
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 66, 67:22612$"));
	ASSERT_TRUE(write_export(CONF, "config-a", "67:22612, 1", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(user_goes_on(&user));
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 67:22612$"));
	/* The guest does not notice a change of another file. */
	ASSERT_TRUE(write_export(OTHER_CONF, "config-b", "1", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(user_goes_on(&user));
	EXPECT_TRUE(listed("^config-b "));
	/* The guest does not notice that the section moves to another file. */
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(write_export(OTHER_CONF, "config-a", "1", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(user_goes_on(&user));
	EXPECT_FALSE(listed("^config-b "));
	/* The guest does not notice that it may connect from any port. */
	ASSERT_TRUE(write_export(OTHER_CONF, "config-a", "1", "any-port = yes\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(user_goes_on(&user));
	EXPECT_TRUE(listed("^config-a .* 1 any-port (connected)$"));
	user_end(&user);
}

/* An export with changed terms is another device, and other exports do not change. */
TEST_F_TIMEOUT(files, terms_change, 240)
{
	uint64_t end = tool_now_ms() + 60000;
	struct user user;
	char node[32];
	bool refused;
	int fd;

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(write_export(OTHER_CONF, "config-b", "1", ""));
	ASSERT_TRUE(reload());
	ASSERT_TRUE(user_start(&user, "config-b"));
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	close(fd);
	ASSERT_TRUE(write_export(CONF, "config-a", "1", "read-only = yes\n"));
	ASSERT_TRUE(reload());
	/* Opens for writing fail, and others do not. */
	for (refused = false; !refused && tool_now_ms() < end; usleep(20000)) {
		snprintf(node, sizeof(node), "/dev/vgpu%d", tool_find_export("config-a"));
		fd = open(node, O_RDWR | O_CLOEXEC);
		refused = fd < 0 && errno == EACCES;
		if (fd >= 0)
			close(fd);
	}
	EXPECT_TRUE(refused);
	fd = open(node, O_RDONLY | O_CLOEXEC);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(user_goes_on(&user));
	user_end(&user);
}

/* An export made by vgpuctl stays, whether a file has it or not. */
TEST_F_TIMEOUT(files, guest_added_by_hand, 240)
{
	const char *real = getenv("VGPU_REAL");
	struct user user;

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 1 --name config-a", real)->status);
	ASSERT_TRUE(user_start(&user, "config-a"));
	ASSERT_TRUE(write_export(CONF, "config-a", "1, 66", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 66$"));
	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 78 --name config-a", real)->status);
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 66, 78$"));
	ASSERT_EQ(0, unlink(CONF));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 78$"));
	EXPECT_TRUE(user_goes_on(&user));
	user_end(&user);

	/*
	 * A file can neither give the name to another device nor give a guest of vgpuctl's more
	 * rights.
	 */
	ASSERT_TRUE(write_file(CONF, "[config-a]\npath = /dev/zero\nto = 66\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged(CONF ":1: [config-a]: vgpuctl has exported"));
	ASSERT_TRUE(write_export(CONF, "config-a", "78", "read-only = yes\n"));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged("[config-a]: vgpuctl has exported this name to guest 78:22586 with other options"));
	EXPECT_TRUE(listed("^config-a .* 1 (connected), 78$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --force")->status);
}

/* A file cannot change the terms of a guest of vgpuctl's in an export that both have made. */
TEST_F_TIMEOUT(files, terms_of_both, 120)
{
	const char *real = getenv("VGPU_REAL");
	struct tool_run *run;

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 78 --name config-a", real)->status);
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "master = yes\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_NE(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, "vgpuctl has exported this name with its old options to guest 78:22586"))
		TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66, 78$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --to 78")->status);
	EXPECT_EQ(0, tool_run("vgpuctl reload")->status);

	/* Both have made the export for the same guest. */
	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 66 --name config-a", real)->status);
	ASSERT_TRUE(write_export(CONF, "config-a", "66", "any-port = yes\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_NE(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, "vgpuctl has exported this name to guest 66:22586 with other options"))
		TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --to 66")->status);
	EXPECT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(listed("^config-a .* 66 any-port$"));
}

/* A missing directory, as one that is not mounted, removes no export. */
TEST_F_TIMEOUT(files, no_directory, 120)
{
	struct tool_run *run;

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	ASSERT_EQ(0, rename(DIR_EXPORTS, DIR_EXPORTS ".away"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(0, rename(DIR_EXPORTS ".away", DIR_EXPORTS));
	EXPECT_NE(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, DIR_EXPORTS ": No such file or directory"))
		TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66$"));
}

/* Guests that are named in one command get the export together, or none of them does. */
TEST_F_TIMEOUT(files, guests_together, 120)
{
	const char *real = getenv("VGPU_REAL");
	struct tool_run *run;

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 70 --name config-w", real)->status);
	run = tool_run("vgpuctl export %s --to 71 --to 70 --any-port --name config-w", real);
	EXPECT_NE(0, run->status);
	EXPECT_NE(NULL, strstr(run->out, "config-w is exported to guest 70:22586 with other options"))
		TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-w .* 70$"));
	EXPECT_EQ(0, tool_run("vgpuctl export %s --to 71 --to 70 --name config-w", real)->status);
	EXPECT_TRUE(listed("^config-w .* 70, 71$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-w")->status);
}

/* Sends vgpud a line that vgpuctl would not send. Return: true if the answer is EINVAL. */
static bool refused(const char *line)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "/run/vgpu/vgpud.sock" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char answer[512] = "";
	ssize_t len = 0;

	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    write(fd, line, strlen(line)) == (ssize_t)strlen(line))
		len = read(fd, answer, sizeof(answer) - 1);
	close(fd);
	return len > 0 && strstr(answer, "\"errno\":22,");
}

/*
 * A guest that is not understood is an error. It must not be taken for no guest, which would
 * mean all guests.
 */
TEST_F_TIMEOUT(files, guests_not_understood, 120)
{
	static const char *const wrong[] = {
		"\"cid\":-1", "\"cid\":4294967295", "\"cid\":\"x\"", "\"cid\":70,\"port\":-1",
		"\"guests\":70", "\"guests\":null", "\"guests\":{\"cid\":70}", "\"guests\":[70]",
		"\"guests\":[{}]", "\"guests\":[{\"cid\":70},{\"cid\":0}]",
		"\"guests\":[{\"cid\":70,\"port\":4294967296}]",
	};
	char line[256];
	unsigned int i;

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 70 --to 71 --name config-w",
			      getenv("VGPU_REAL"))->status);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "{\"op\":\"unexport\",\"name\":\"config-w\",%s}\n",
			 wrong[i]);
		EXPECT_TRUE(refused(line)) TH_LOG("%s", line);
		EXPECT_TRUE(listed("^config-w .* 70, 71$")) TH_LOG("%s", line);
	}
	/*
	 * The export is not taken from one of two guests alone if the other does not have it. A
	 * guest may be named twice.
	 */
	EXPECT_NE(0, tool_run("vgpuctl unexport config-w --to 70 --to 72")->status);
	EXPECT_TRUE(listed("^config-w .* 70, 71$"));
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-w --to 70 --to 71 --to 70")->status);
	EXPECT_FALSE(listed("^config-w "));
}

/*
 * A member of a request that is not understood is an error. It must not be taken for a missing one:
 * without a profile, for example, all ioctls are allowed.
 */
TEST_F_TIMEOUT(files, strings_not_understood, 120)
{
	static const char export[] = "\"op\":\"export\",\"path\":\"/dev/null\",\"cid\":72";
	static const char limit[] = "\"op\":\"limit\",\"cid\":72";
	static const char unexport[] = "\"op\":\"unexport\",\"name\":\"config-w\"";
	static const char window[] = "\"op\":\"window-create\",\"cid\":72";
	static const struct {
		const char *request, *wrong;
	} wrong[] = {
		{ export, "\"profile\":7" }, { export, "\"profile\":null" },
		{ export, "\"profile\":[\"render\"]" }, { export, "\"profile\":\"all\\u0000x\"" },
		{ export, "\"name\":7" }, { export, "\"name\":null" },
		{ export, "\"name\":\"config-n\\u0000x\"" },
		{ export, "\"read_only\":\"no\"" }, { export, "\"read_only\":1" },
		{ export, "\"read_only\":null" }, { export, "\"audit\":{}" },
		{ export, "\"any_port\":\"false\"" }, { export, "\"no_demand\":0" },
		{ export, "\"master\":[]" }, { export, "\"port\":\"22586\"" },
		{ "\"op\":\"export\",\"cid\":72", "\"nvidia\":false" },
		{ "\"op\":\"export\",\"cid\":72", "\"nvidia\":\"0\"" },
		{ "\"op\":\"export\",\"cid\":72", "\"path\":[\"/dev/null\"]" },
		{ unexport, "\"now\":\"no\"" }, { unexport, "\"force\":1" },
		{ limit, "\"set\":{\"objects\":\"9\"},\"save\":\"no\"" },
		{ limit, "\"set\":{\"objects\":\"9\"},\"port\":-1" },
		{ limit, "\"set\":{\"objects\":\"9\"},\"name\":7" },
		{ limit, "\"set\":{\"objects\":\"9\\u0000\"}" },
		{ limit, "\"set\":[]" }, { "\"op\":\"limits\"", "\"cid\":\"72\"" },
		{ window, "\"size\":\"1048576\"" }, { window, "\"size\":1048576,\"owner\":0" },
		{ "\"cid\":72", "\"op\":[\"list\"]" },
	};
	char line[256], *limits = strdup(tool_run("vgpuctl limit 72")->out);
	unsigned int i;

	ASSERT_EQ(0, tool_run("vgpuctl export /dev/null --to 70 --name config-w")->status);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "{%s,%s}\n", wrong[i].request, wrong[i].wrong);
		EXPECT_TRUE(refused(line)) TH_LOG("%s", line);
		EXPECT_TRUE(listed("^config-w .* 70$")) TH_LOG("%s", line);
		EXPECT_FALSE(listed(" 72$")) TH_LOG("%s", line);
	}
	EXPECT_STREQ(limits, tool_run("vgpuctl limit 72")->out);
	free(limits);
	EXPECT_STREQ("", tool_run("vgpuctl window list | grep -w 72")->out);
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-w")->status);
}

/* A port on which another process listens is found before anything is changed. */
TEST_F_TIMEOUT(files, port_that_somebody_has, 120)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = 22613,
	};
	int fd;

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_TRUE(reload());
	fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(fd, 1));
	ASSERT_TRUE(write_export(CONF, "config-a", "66, 67, 68:22613", ""));
	ASSERT_TRUE(write_export(OTHER_CONF, "config-b", "66", ""));
	ASSERT_TRUE(reload());
	EXPECT_TRUE(logged("[config-a]: cannot listen on vsock port 22613"));
	EXPECT_TRUE(listed("^config-a .* 66$"));
	EXPECT_FALSE(listed("^config-b "));
	close(fd);
	ASSERT_TRUE(reload());
	EXPECT_TRUE(listed("^config-a .* 66, 67, 68:22613$"));
	EXPECT_TRUE(listed("^config-b "));
}

/* vgpuctl reload waits for the result and reports it. */
TEST_F_TIMEOUT(files, reload_says_why, 120)
{
	struct tool_run *run;
	int i;

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "export config-a: is new: ")) TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66$"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(0, run->status);
	EXPECT_STREQ("", run->out);

	ASSERT_TRUE(write_export(CONF, "config-a", "66, 67", "foo = bar\n"));
	ASSERT_TRUE(write_file(OTHER_CONF, "[config-b]\npath = dev/null\nto = 66\n"));
	for (i = 0; i < 2; i++) {
		run = tool_run("vgpuctl %s", i ? "diff" : "reload");
		EXPECT_EQ(1, run->status);
		EXPECT_NE(NULL, strstr(run->out, CONF ":4: [config-a]: foo: there is no such setting"))
			TH_LOG("%s", run->out);
		EXPECT_NE(NULL, strstr(run->out, OTHER_CONF ":1: [config-b]: 'dev/null': give an absolute path"))
			TH_LOG("%s", run->out);
	}
	EXPECT_TRUE(listed("^config-a .* 66$"));
	EXPECT_EQ(1, tool_run("vgpuctl reload --json 2>&1 | grep -c '\"message\":.*foo: there is no such setting'")->out[0] - '0');
	EXPECT_EQ(4, tool_run("su -s /bin/sh nobody -c 'vgpuctl reload'")->status);
	EXPECT_EQ(4, tool_run("su -s /bin/sh nobody -c 'vgpuctl diff'")->status);
}

/* The diff shows what a reload will do, and changes nothing. */
TEST_F_TIMEOUT(files, diff, 120)
{
	static const struct {
		const char *to, *more, *words;
	} steps[] = {
		{ "66, 67", "", "export config-a: is new: " },
		{ "66, 67, 68:22612", "", "export config-a: guest 68:22612 may use it\n" },
		{ "67, 68:22612", "", "export config-a: guest 66:22586 may not use it any more\n" },
		{ "67, 68:22612", "read-only = yes\n", "export config-a: guest 67:22586 may only read\n" },
		{ "67", "any-port = yes\n", "export config-a: guest 67:22586 may come from any port\n" },
		{ "67", "deny-ioctls = 5, 6\n", "export config-a: is made anew, because its list of ioctls changes" },
		{ "67", "deny-ioctls = 6\ndeny-ioctls = 5\n", "" },
		{ "67", "allow-ioctls = 6, 5\n", "export config-a: is made anew, because its list of ioctls changes" },
		{ "67", "allow-ioctls = 6, 5\ndemand = no\n",
		  "export config-a: is made anew, because demand= changes" },
		{ "67", "allow-ioctls = 6, 5\ndemand = yes\n",
		  "export config-a: is made anew, because demand= changes" },
		{ "67", "demand = yes\nallow-ioctls = 5, 6\n", "" },
		{ "67, 66", "master = yes\n", "export config-a: is made anew, because master= changes" },
		{ "67, 66", "master = yes\nwindow = 1M\n", "window of guest 66:22586: " CONF " wants 1048576 bytes\n" },
		{ "67", "master = yes\nwindow = 2M\nwindow-user = root\n",
		  "window of guest 67:22586: " CONF " wants 2097152 bytes for user root\n" },
		{ "67", "master = yes\n", "window of guest 67:22586: no file asks for it any more\n" },
	};
	static char said[sizeof(((struct tool_run *)NULL)->out)];
	struct tool_run *run;
	unsigned int i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ASSERT_TRUE(write_export(CONF, "config-a", steps[i].to, steps[i].more));
		run = tool_run("vgpuctl list >/run/config-before; vgpuctl diff; "
			       "vgpuctl list | cmp - /run/config-before");
		EXPECT_EQ(0, run->status) TH_LOG("%u: %s", i, run->out);
		EXPECT_NE(NULL, strstr(run->out, steps[i].words)) TH_LOG("%u: %s", i, run->out);
		strcpy(said, run->out);
		if (!steps[i].words[0])
			EXPECT_STREQ("", said);
		run = tool_run("vgpuctl reload");
		EXPECT_EQ(0, run->status) TH_LOG("%u: %s", i, run->out);
		EXPECT_STREQ(said, run->out) TH_LOG("%u", i);
		EXPECT_STREQ("", tool_run("vgpuctl diff")->out);
	}
	ASSERT_EQ(0, unlink(CONF));
	EXPECT_STREQ("export config-a: no file asks for it any more\n", tool_run("vgpuctl diff")->out);
	EXPECT_EQ(1, tool_run("vgpuctl diff --json | grep -c '\"export config-a: no file asks'")->out[0] - '0');
	EXPECT_TRUE(listed("^config-a "));
	unlink("/run/config-before");
}

/* Return: true if the log has a line of that pattern behind its first @from lines. */
static bool logged_since(int from, const char *pattern)
{
	return !tool_run("tail -n +%d " LOG " | grep -q '%s'", from + 1, pattern)->status;
}

/*
 * Runs a program of the guest, which has a shadow of its own. Return: true if it can use the
 * device.
 */
static bool program_works(const char *node)
{
	pid_t pid = fork();
	int fd, status;

	if (!pid) {
		fd = open(node, O_RDWR | O_CLOEXEC);
		_exit(fd < 0 || ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

/*
 * The log has the reason why shadows cannot be confined, but not once for each of the many
 * shadows of a guest.
 */
TEST_F_TIMEOUT(files, shadows_without_a_root, 120)
{
	const int before = logged(ENOENT_OF_ROOT);
	int fd, i, lines, worked = 0;
	uint64_t start;
	char node[32];

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(reload());
	/* The device's node is there from here on. */
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	close(fd);
	snprintf(node, sizeof(node), "/dev/vgpu%d", tool_find_export("config-a"));
	ASSERT_TRUE(program_works(node));
	ASSERT_EQ(0, rmdir(EMPTY_ROOT));
	start = tool_now_ms();
	for (i = 0; i < 8; i++)
		worked += program_works(node);
	EXPECT_EQ(0, mkdir(EMPTY_ROOT, 0555));
	EXPECT_EQ(0, worked);
	/* The log has one line in ten seconds. */
	lines = logged(ENOENT_OF_ROOT) - before;
	EXPECT_LE(1, lines);
	EXPECT_GE(1 + (tool_now_ms() - start) / 10000, lines);
	EXPECT_TRUE(program_works(node));
}

/* The log says what is granted and taken back, and who asked for it. */
TEST_F_TIMEOUT(files, who_asked, 120)
{
	const int from = atoi(tool_run("wc -l <" LOG)->out);
	const char *real = getenv("VGPU_REAL");
	char pattern[96];

	ASSERT_TRUE(write_export(CONF, "config-a", "66", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(logged_since(from, "reading the exports again, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "export config-a: is new: "));
	ASSERT_TRUE(write_export(CONF, "config-a", "67", ""));
	ASSERT_TRUE(reload());
	snprintf(pattern, sizeof(pattern),
		 "reading the exports again, by SIGHUP (uid 0, pid %d)$", getpid());
	EXPECT_TRUE(logged_since(from, pattern));
	EXPECT_TRUE(logged_since(from, "export config-a: guest 67:22586 may use it"));
	EXPECT_TRUE(logged_since(from, "export config-a: guest 66:22586 may not use it any more"));

	ASSERT_EQ(0, tool_run("vgpuctl export %s --to 68 --to 69:22612 --name config-w", real)->status);
	ASSERT_EQ(0, tool_run("vgpuctl unexport config-w --to 68")->status);
	ASSERT_EQ(0, tool_run("vgpuctl unexport config-w")->status);
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 68 --size 1M")->status);
	ASSERT_EQ(0, tool_run("vgpuctl window destroy --to 68")->status);
	EXPECT_TRUE(logged_since(from, "export config-w: guest 68:22586 may use it, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "export config-w: guest 69:22612 may use it, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "export config-w: guest 68:22586 may not use it any more, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "export config-w: is taken back, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "window /.*window-68.*: is made, by vgpuctl (root, uid 0, pid [0-9]*)$"));
	EXPECT_TRUE(logged_since(from, "window of guest 68:22586: is taken away, by vgpuctl (root, uid 0, pid [0-9]*)$"));
}

/* A guest is served with the largest setting that vgpud accepts. */
TEST_F_TIMEOUT(files, as_many_objects_as_go, 240)
{
	const char *name = getenv("VGPU_NAME");
	char settings[64], most[32];
	unsigned long go;

	tool_read_line(NR_OPEN, most, sizeof(most));
	go = strtoul(most, NULL, 10);
	go = tool_user_engine() ? (go - 4096) / 2 : go - 1024;
	go = go < 1 << 20 ? go : 1 << 20;
	ASSERT_TRUE(agent_keep_exports());
	snprintf(settings, sizeof(settings), "[limits]\nobjects = %lu\n", go);
	EXPECT_TRUE(agent_start_with(name, settings));
	EXPECT_TRUE(agent_start_with(name, ""));
	EXPECT_TRUE(agent_write_env());
}

#define LATE	"/run/vgpu-late"

static bool await_listed(const char *line)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (listed(line))
			return true;
		usleep(20000);
	}
	return false;
}

/* A link or file that the kernel does not make may come at any time, without a uevent. */
TEST_F_TIMEOUT(files, link_comes_late, 120)
{
	const char *real = getenv("VGPU_REAL");

	ASSERT_EQ(0, tool_run("rm -rf " LATE)->status);
	ASSERT_TRUE(write_file(CONF, "[config-l]\npath = " LATE "/by-path/device\nto = 66\n"));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	EXPECT_TRUE(listed("^config-l  *" LATE "/by-path/device .*absent"));
	/* Directories come one after the other, and the link comes before its target. */
	ASSERT_EQ(0, tool_run("mkdir " LATE)->status);
	usleep(500000);
	ASSERT_EQ(0, tool_run("mkdir " LATE "/by-path")->status);
	usleep(500000);
	ASSERT_EQ(0, tool_run("ln -s ../device " LATE "/by-path/device")->status);
	usleep(500000);
	EXPECT_TRUE(listed("^config-l .*absent"));
	ASSERT_EQ(0, tool_run("ln -s %s " LATE "/device", real)->status);
	EXPECT_TRUE(await_listed("^config-l .* vgpu-mock "));
	/* The link's target is replaced by another device, and then by none. */
	ASSERT_EQ(0, tool_run("ln -s /dev/zero " LATE "/new && mv -T " LATE "/new " LATE "/device")->status);
	EXPECT_TRUE(await_listed("^config-l .* zero "));
	ASSERT_EQ(0, tool_run("ln -s /dev/no-such-device " LATE "/new && mv -T " LATE "/new " LATE "/device")->status);
	EXPECT_TRUE(await_listed("^config-l .*absent"));
	/* vgpud also waits if the path leads to a file that is no device. */
	ASSERT_EQ(0, tool_run("ln -s /etc/passwd " LATE "/new && mv -T " LATE "/new " LATE "/device")->status);
	usleep(500000);
	ASSERT_EQ(0, tool_run("ln -s %s " LATE "/new && mv -T " LATE "/new " LATE "/device", real)->status);
	EXPECT_TRUE(await_listed("^config-l .* vgpu-mock "));
	tool_run("rm -rf " LATE);
}

TEST_HARNESS_MAIN
