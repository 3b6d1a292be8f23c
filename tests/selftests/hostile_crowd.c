// SPDX-License-Identifier: GPL-2.0-only
/*
 * Crowds connect to the agent: guests to which nothing is exported, guests that send nothing,
 * and users of this machine with many requests. Another test lets the agent run out of file
 * numbers. The agent serves well-behaved guests and users meanwhile, and logs what concerns
 * them. The tests run where those of hostile.h do.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "hostile_host.h"
#include "agent.h"

#include "kselftest_harness.h"

/* These guests have other ports than PORT, which no other test uses. */
#define CROWD_PORT	22630
#define NR_CROWDS	5
#define CROWD		256
#define LOG		"/run/vgpud.log"
#define CONTROL		"/run/vgpu/vgpud.sock"

FIXTURE(crowd) {
	struct peer peer;
	int fds[NR_CROWDS * CROWD];
	unsigned int nr;
	pid_t agent;
};

FIXTURE_SETUP(crowd)
{
	struct rlimit limit = { 4096, 4096 }, old;

	NEEDS_HOST();
	self->peer.control = -1;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(1, tool_processes("/vgpud", &self->agent));
	/*
	 * The limits are only raised: later tests have the same agent, and not all of them can
	 * raise a hard limit.
	 */
	ASSERT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, NULL, &old));
	if (old.rlim_max > limit.rlim_max)
		limit.rlim_max = old.rlim_max;
	if (old.rlim_cur < limit.rlim_cur)
		ASSERT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, &limit, NULL));
	ASSERT_EQ(0, export_as("crowd", "/dev/null", LOOPBACK, PORT, false));
}

FIXTURE_TEARDOWN(crowd)
{
	char name[16];
	int i;

	if (!real_path)
		return;
	while (self->nr)
		close(self->fds[--self->nr]);
	peer_close(&self->peer);
	for (i = 0; i < NR_CROWDS; i++) {
		snprintf(name, sizeof(name), "crowd%d", i);
		unexport(name);
	}
	unexport("crowd");
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
}

/* Connects guests that send nothing, with as many connections as one guest may have. */
static bool come(struct _test_data_crowd *self, uint32_t cid)
{
	char name[16];
	int i, j, fd;

	for (i = 0; i < NR_CROWDS; i++) {
		snprintf(name, sizeof(name), "crowd%d", i);
		if (export_as(name, "/dev/null", cid, CROWD_PORT + i, true))
			return false;
		for (j = 0; j < CROWD; j++) {
			fd = peer_connect(LOOPBACK, CROWD_PORT + i, false);
			/* The agent closes some of the connections. */
			if (fd >= 0)
				self->fds[self->nr++] = fd;
		}
	}
	return true;
}

/* Guests without an export do not use up the connections of guests with one. */
TEST_F_TIMEOUT(crowd, outsiders, 120)
{
	ASSERT_TRUE(come(self, 1234567));
	EXPECT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
}

/* Guests with an export that send nothing do not use up the connections of others. */
TEST_F_TIMEOUT(crowd, silent_guests, 120)
{
	ASSERT_TRUE(come(self, LOOPBACK));
	EXPECT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
}

/* A user of a guest does not use up the connections of the guest's kernel. */
TEST_F_TIMEOUT(crowd, silent_user, 60)
{
	int i, fd;

	for (i = 0; i < CROWD + 20; i++) {
		fd = peer_connect(LOOPBACK, PORT, false);
		if (fd >= 0)
			self->fds[self->nr++] = fd;
	}
	EXPECT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
}

/*
 * A guest without an export is sent the reason before it has sent anything, even if there are
 * many such guests.
 */
TEST_F_TIMEOUT(crowd, outsider_hears_why, 60)
{
	struct vgpu_refuse refuse;
	int fd, i;

	ASSERT_EQ(0, export_as("crowd0", "/dev/null", 1234567, CROWD_PORT, true));
	for (i = 0; i < 200; i++) {
		fd = peer_connect(LOOPBACK, CROWD_PORT, true);
		ASSERT_GE(fd, 0);
		self->fds[self->nr++] = fd;
		ASSERT_EQ(sizeof(refuse), peer_recv(fd, &refuse, sizeof(refuse), SLACK_MS));
		EXPECT_EQ(VGPU_MSG_REFUSE, peer_type(&refuse));
		EXPECT_EQ(ENOENT, le32toh(refuse.error));
	}
	/*
	 * The host closes the first of these connections early for the later ones, and the last
	 * ones when the handshake's time is over.
	 */
	EXPECT_GE(peer_wait_eof(self->fds[0], 1000), 0);
	EXPECT_GE(peer_wait_eof(fd, SLACK_MS), 0);
}

/* --- users of this machine ------------------------------------------------- */

/* Connects to a socket of the agent. Return: the connection, or -1. */
static int socket_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

/* Forks a user with @nr connections to the control socket, who keeps them until the pipe ends. */
static pid_t idle_user(uid_t uid, int nr, int ready, const int end[2])
{
	pid_t pid = fork();
	char byte = 0;

	if (pid)
		return pid;
	close(end[1]);
	if (setgid(uid) || setuid(uid))
		_exit(1);
	while (nr--)
		socket_connect(CONTROL);
	if (write(ready, &byte, 1) != 1 || read(end[0], &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

TEST_F_TIMEOUT(crowd, idle_users, 120)
{
	int ready[2], end[2], i;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(end));
	/* The first hundred connections are those of uid 65534; then other users follow. */
	for (i = 0; i < 8; i++) {
		pid_t pid = idle_user(65534 - i, 100, ready[1], end);

		ASSERT_GT(pid, 0);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		EXPECT_EQ(0, tool_run("vgpuctl list")->status) TH_LOG("%d users", i + 1);
		if (!i)
			EXPECT_EQ(0, tool_run("su -s /bin/sh daemon -c 'vgpuctl list'")->status);
		/*
		 * All users together may have USERS_MAX (64) connections, and four users want
		 * more than that.
		 */
		if (i == 3) {
			struct tool_run *run = tool_run("su -s /bin/sh daemon -c 'vgpuctl list'");

			EXPECT_EQ(1, run->status);
			EXPECT_NE(NULL, strstr(run->out, "too many connections")) TH_LOG("%s", run->out);
		}
	}
	close(end[0]);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	close(ready[0]);
	close(ready[1]);
}

/* Only the guest and root are shown the names of the guest's programs. */
TEST_F(crowd, names_of_programs)
{
	struct tool_run *run;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	self->fds[self->nr++] = peer_lane(&self->peer, 1);
	ASSERT_GE(self->fds[0], 0);
	run = tool_run("vgpuctl status --json");
	EXPECT_NE(NULL, strstr(run->out, "\"comm\":\"hostile\"")) TH_LOG("%s", run->out);
	run = tool_run("su -s /bin/sh nobody -c 'vgpuctl status --json'");
	EXPECT_EQ(0, run->status);
	EXPECT_EQ(NULL, strstr(run->out, "\"comm\"")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\"programs\":null")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "\"sessions\":1")) TH_LOG("%s", run->out);
}

/* --- files ------------------------------------------------------------------ */

/* Returns the lowest free file number of a process, with which the kernel compares the limit. */
static unsigned int free_file_of(pid_t pid)
{
	char path[48];
	unsigned int nr;
	struct stat st;

	for (nr = 0; ; nr++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", pid, nr);
		if (lstat(path, &st))
			return nr;
	}
}

/* Returns the processor time of all threads of a process, in ms. */
static long worked(pid_t pid)
{
	unsigned long user, kernel;
	char path[32], line[512], *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	tool_read_line(path, line, sizeof(line));
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
			    &user, &kernel) != 2)
		return -1;
	return (user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

#define NO_GUEST	"vgpud cannot accept connections of guests at the moment"
#define NO_HYPERVISOR	"vgpud cannot accept the connection of its hypervisor at the moment"
#define HYPERVISOR	"guest 1:22600: a hypervisor has connected to its window"

static int lines_of(const char *words)
{
	return atoi(tool_run("grep -c '%s' " LOG, words)->out);
}

static bool is_heard(void *lines)
{
	return lines_of(HYPERVISOR) > *(int *)lines;
}

/* An agent without a free file number lets new connections wait, and does not busy-loop. */
TEST_F_TIMEOUT(crowd, out_of_files, 120)
{
	struct rlimit limit, old;
	struct vgpu_hello hello = peer_hello_msg();
	char answer[VGPU_CONTROL_MSG_MAX];
	uint64_t end;
	long before;
	int guest_fd, control, hypervisor, guests, hypervisors, heard;

	/* With the host module, too, hypervisors tell of their memory at the window's socket. */
	ASSERT_EQ(0, window_command("create", "--size 8K"));
	guests = lines_of(NO_GUEST);
	hypervisors = lines_of(NO_HYPERVISOR);
	heard = lines_of(HYPERVISOR);
	ASSERT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, NULL, &old));
	limit = (struct rlimit){ free_file_of(self->agent), old.rlim_max };
	ASSERT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, &limit, NULL));
	guest_fd = peer_connect(LOOPBACK, PORT, true);
	control = socket_connect(CONTROL);
	hypervisor = socket_connect("/run/vgpu/window-1-22600");
	before = worked(self->agent);
	for (end = tool_now_ms() + 3000; tool_now_ms() < end;)
		usleep(100000);
	EXPECT_LT(worked(self->agent) - before, 1000);
	EXPECT_LT(guests, lines_of(NO_GUEST));
	EXPECT_LT(hypervisors, lines_of(NO_HYPERVISOR));
	ASSERT_EQ(0, prlimit(self->agent, RLIMIT_NOFILE, &old, NULL));
	ASSERT_GE(guest_fd, 0);
	ASSERT_GE(control, 0);
	ASSERT_GE(hypervisor, 0);
	/* All three connections have only waited. */
	EXPECT_TRUE(peer_send(guest_fd, &hello, sizeof(hello)));
	EXPECT_LT(0, peer_recv(guest_fd, answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(VGPU_MSG_WELCOME, peer_type(answer));
	EXPECT_EQ(0, tool_run("vgpuctl list")->status);
	EXPECT_TRUE(eventually(is_heard, &heard, SLACK_MS));
	close(guest_fd);
	close(control);
	close(hypervisor);
	EXPECT_EQ(0, window_command("destroy", "--force"));
}

/* --- sessions and connections -------------------------------------------------- */

/* The agent is started with this pace: eight sessions at once, then two a second. */
#define RATE		2
#define BURST		(4 * RATE)
#define CHURNERS	4
#define CHURN_MS	8000
/* Lanes for this many sessions are asked for at once: some have to wait too long. */
#define RUSH		(BURST + 20)

/* Starts the agent with that pace, and exports to two guests, of PORT and CROWD_PORT. */
static bool paced_begin(void)
{
	char settings[64];

	unexport("crowd");
	snprintf(settings, sizeof(settings), "[limits]\nsession-rate = %d\n", RATE);
	return agent_keep_exports() && agent_start_with(getenv("VGPU_NAME"), settings) &&
	       !export_as("crowd", "/dev/null", LOOPBACK, PORT, false) &&
	       !export_as("crowd0", "/dev/null", LOOPBACK, CROWD_PORT, false);
}

static bool paced_end(void)
{
	unexport("crowd0");
	unexport("crowd");
	return agent_start_with(getenv("VGPU_NAME"), "") && agent_write_env();
}

/* Asks for the first lane of a session. Return: the connection, or a negative errno. */
static int session_ask(const struct peer *peer, uint64_t session)
{
	struct vgpu_lane_hello hello = peer_lane_msg(peer, session);
	int fd = peer_connect(peer->cid, peer->port, false);

	if (fd >= 0 && !peer_send(fd, &hello, sizeof(hello))) {
		close(fd);
		return -EPIPE;
	}
	return fd;
}

/*
 * Begins sessions one after the other until it is killed, and counts how many were begun and
 * refused.
 */
static void churn(const struct peer *peer, uint64_t first, volatile unsigned int *begun,
		  volatile unsigned int *refused)
{
	for (;; first++) {
		int fd = peer_lane(peer, first);

		if (fd >= 0)
			++*begun;
		else
			++*refused;
		close(fd);
	}
}

/*
 * A guest that begins sessions all the time gets only so many a second, even if it connects
 * again. The other sessions wait for their turn, or are refused if they are too many. Another
 * guest's sessions do not wait.
 */
TEST_F_TIMEOUT(crowd, churn, 240)
{
	volatile unsigned int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i, begun = 0, refused = 0, spendable, unspent;
	struct peer churner;
	struct vgpu_refuse answer;
	pid_t pids[CHURNERS];
	uint64_t start, now;
	int fds[RUSH];

	ASSERT_NE(MAP_FAILED, count);
	ASSERT_TRUE(paced_begin());
	ASSERT_EQ(0, peer_open(&churner, LOOPBACK, CROWD_PORT));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));

	start = peer_now_ms();
	for (i = 0; i < CHURNERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			churn(&churner, 1000000 * (i + 1), &count[2 * i], &count[2 * i + 1]);
	}
	for (i = 1; peer_now_ms() - start < CHURN_MS; i++) {
		now = peer_now_ms();
		/* The other guest has a pace of its own. */
		if (i <= BURST) {
			self->fds[self->nr++] = peer_lane(&self->peer, i);
			EXPECT_GE(self->fds[self->nr - 1], 0);
			EXPECT_GE(4000, peer_now_ms() - now);
		}
		EXPECT_TRUE(peer_ping(&self->peer));
		EXPECT_TRUE(peer_ping(&churner));
		usleep(500000);
	}
	for (i = 0; i < CHURNERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		begun += count[2 * i];
		refused += count[2 * i + 1];
	}
	now = peer_now_ms() - start;
	EXPECT_LE(BURST, begun);
	/* A further session may have begun that was not counted yet. */
	spendable = BURST + now * RATE / 1000;
	EXPECT_GE(spendable + 1, begun);
	/* The guest has not used up its share on a slow machine. */
	unspent = spendable > begun ? spendable - begun : 0;
	/* No session waits for longer than two seconds when four are asked for at a time. */
	EXPECT_EQ(0, refused);

	/* A guest that connects again has no more sessions left than before. */
	start = peer_now_ms();
	peer_close(&churner);
	ASSERT_EQ(0, peer_open(&churner, LOOPBACK, CROWD_PORT));
	for (i = 0; i < RUSH; i++) {
		fds[i] = session_ask(&churner, 1 + i);
		ASSERT_GE(fds[i], 0);
	}
	begun = 0;
	refused = 0;
	for (i = 0; i < RUSH; i++) {
		EXPECT_LT(0, peer_recv(fds[i], &answer, sizeof(answer), SLACK_MS));
		begun += peer_type(&answer) == VGPU_MSG_LANE_READY;
		if (peer_type(&answer) != VGPU_MSG_REFUSE)
			continue;
		EXPECT_EQ(EBUSY, le32toh(answer.error));
		refused++;
	}
	now = peer_now_ms() - start;
	EXPECT_EQ(RUSH, begun + refused);
	EXPECT_LT(0, refused);
	EXPECT_LT(0, begun);
	EXPECT_GE(1 + CHURNERS + unspent + now * RATE / 1000, begun);

	for (i = 0; i < RUSH; i++)
		close(fds[i]);
	peer_close(&churner);
	while (self->nr)
		close(self->fds[--self->nr]);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(paced_end());
}

/* Connects and closes the connection again, until it is killed. */
static void reconnect(volatile unsigned int *made, volatile unsigned int *refused)
{
	struct peer peer;

	for (;;) {
		if (peer_open(&peer, LOOPBACK, CROWD_PORT))
			++*refused;
		else
			++*made;
		peer_close(&peer);
	}
}

/*
 * Connections have that pace as well, because each has an engine or a thread. Another guest
 * does not wait.
 */
TEST_F_TIMEOUT(crowd, connections, 240)
{
	volatile unsigned int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t start, now;
	unsigned int i;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, count);
	ASSERT_TRUE(paced_begin());
	start = peer_now_ms();
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		reconnect(&count[0], &count[1]);
	/* The first connections, which may come at once, take longer on a slow machine. */
	for (i = 0; (now = peer_now_ms() - start) < CHURN_MS ||
		    (count[0] < BURST && now < 8 * CHURN_MS); i++) {
		/* The other guest has a pace of its own. */
		if (i < BURST) {
			now = peer_now_ms();
			EXPECT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
			EXPECT_GE(4000, peer_now_ms() - now);
			peer_close(&self->peer);
		}
		usleep(500000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	now = peer_now_ms() - start;
	EXPECT_LE(BURST, count[0]);
	EXPECT_GE(BURST + now * RATE / 1000 + 1, count[0]);
	/* The guest has one connection at a time, so no connection waits too long. */
	EXPECT_EQ(0, count[1]);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(paced_end());
}

/* --- the log ----------------------------------------------------------------- */

/* Sends garbage. Return: true if the agent has closed the connection. */
static bool babble(unsigned int port)
{
	char garbage[64] = "no message";
	int fd = peer_connect(LOOPBACK, port, true);
	bool closed = fd >= 0 && peer_send(fd, garbage, sizeof(garbage)) &&
		      peer_wait_eof(fd, SLACK_MS) >= 0;

	close(fd);
	return closed;
}

/* The log has each guest's errors, even if another guest makes errors all the time. */
TEST_F_TIMEOUT(crowd, log_of_each, 120)
{
	const char *name = getenv("VGPU_NAME");
	int fd, i;

	/* Exports are written down, so that later tests have them when this agent has ended. */
	unexport("crowd");
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(name, SIGTERM));
	unlink(LOG);
	fd = agent_start(name);
	ASSERT_GE(fd, 0);
	close(fd);
	ASSERT_EQ(0, export_as("crowd0", "/dev/null", LOOPBACK, CROWD_PORT, true));
	ASSERT_EQ(0, export_as("crowd1", "/dev/null", LOOPBACK, CROWD_PORT + 1, true));
	for (i = 0; i < 20; i++)
		ASSERT_TRUE(babble(CROWD_PORT));
	ASSERT_TRUE(babble(CROWD_PORT + 1));
	EXPECT_EQ(0, tool_run("grep 'guest 1:%d: sent a first message' " LOG, CROWD_PORT)->status);
	EXPECT_EQ(0, tool_run("grep 'guest 1:%d: sent a first message' " LOG, CROWD_PORT + 1)->status);
	/*
	 * The guest has made 20 errors within two periods of 10 s, or a few more, and each
	 * period logs one.
	 */
	EXPECT_GE(5, atoi(tool_run("grep -c 'guest 1:%d: sent a first message' " LOG, CROWD_PORT)->out));
	EXPECT_TRUE(agent_write_env());
}

TEST_HARNESS_MAIN
