// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host may lack something that a user-space engine needs: vgpud says what is missing, and
 * what to do. A filter of system calls stands for a kernel, or a container, that lacks it. The
 * tests need that engine in the same machine: the tier user.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent.h"
#include "hostile_peer.h"

#include "kselftest_harness.h"

/* Old versions of asm-generic/socket.h lack this number. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83
#endif

#define PAGE		4096UL
#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)
#define LOG		"/run/vgpud.log"
#define CONF		"/tmp/vgpud-needs.conf"
#define MAPS_MAX	"/proc/sys/vm/max_map_count"
/* vgpud exits with these statuses where the engine cannot serve, or settings cannot be had. */
#define EXIT_CONFIG	3
#define EXIT_MODULE	4
#define PATIENCE_MS	60000
#define PROGRAMS	"/usr/libexec/vgpu"

/**
 * struct refusal - system call that fails
 * @nr: number of the system call
 * @arg: index of the argument that is compared
 * @mask: bits of the lower half of the argument that are compared; 0 if any argument
 * 	matches
 * @value: value of these bits
 * @error: errno of the failure
 */
struct refusal {
	int nr;
	int arg;
	uint32_t mask;
	uint32_t value;
	int error;
};

static bool filter_install(const struct refusal *refusal)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal->nr, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) +
			 refusal->arg * sizeof(uint64_t)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, refusal->mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal->error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/*
 * Runs a command while the call fails; no call fails if @refusal is NULL. @out: output of the
 * command. Return: the exit status.
 */
static int run_refused(const struct refusal *refusal, const char *command, char out[4096])
{
	int pipes[2], status;
	size_t len = 0;
	ssize_t part;
	pid_t pid;

	out[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		if (!refusal || filter_install(refusal))
			execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(pipes[1]);
	while (len < 4095 && (part = read(pipes[0], out + len, 4095 - len)) > 0)
		len += part;
	out[len] = '\0';
	close(pipes[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/*
 * This vgpud is started while another one runs. So it ends in any case, after it has looked for
 * what it needs.
 */
#define VGPUD	"vgpud --config " CONF " --exports-dir /nonexistent --socket /run/vgpud-needs.sock"
#define BESIDE	"vgpud: another vgpud is running: end that one first (systemctl stop vgpud)"

static bool config_write(const char *limits)
{
	FILE *file = fopen(CONF, "w");

	return file && fprintf(file, "[agent]\nengine = user\n[limits]\n%s\n", limits) > 0 &&
	       !fclose(file);
}

/* Return: true if the log has these words behind its first @from bytes. */
static bool logged_since(long from, const char *words)
{
	return !tool_run("tail -c +%ld " LOG " | grep -qF \"%s\"", from + 1, words)->status;
}

static bool await_logged(long from, const char *words)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	while (!logged_since(from, words)) {
		if (tool_now_ms() > end)
			return false;
		usleep(50000);
	}
	return true;
}

static long log_length(void)
{
	return atol(tool_run("stat -c %%s " LOG)->out);
}

FIXTURE(needs) {
	bool stopped;
	char out[4096];
	char maps[32];
};

FIXTURE_SETUP(needs)
{
	if (!tool_user_engine() || geteuid())
		SKIP(return, "needs root, and a user-space engine in the same machine: user");
	tool_read_line(MAPS_MAX, self->maps, sizeof(self->maps));
	ASSERT_TRUE(config_write(""));
}

FIXTURE_TEARDOWN(needs)
{
	int fd;

	if (!self->maps[0])
		return;
	EXPECT_TRUE(tool_write(MAPS_MAX, self->maps));
	unlink(CONF);
	tool_run("umount -q " PROGRAMS);
	if (!self->stopped)
		return;
	if (tool_processes("/vgpud", NULL))
		EXPECT_TRUE(agent_gone(agent_kill(SIGTERM)));
	fd = agent_start(getenv("VGPU_NAME"));
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

#define EXPECT_SAID_BY(command_, refusal_, ...) do {				\
	const char *const said_[] = { __VA_ARGS__ };				\
	int status_ = run_refused(refusal_, command_, self->out);		\
	size_t i_;								\
										\
	EXPECT_EQ(EXIT_MODULE, status_);					\
	for (i_ = 0; i_ < sizeof(said_) / sizeof(said_[0]); i_++)		\
		EXPECT_NE(NULL, strstr(self->out, said_[i_]))			\
			TH_LOG("%s", self->out);				\
} while (0)

#define EXPECT_SAID(refusal, ...)	EXPECT_SAID_BY(VGPUD, refusal, __VA_ARGS__)

/* A vgpud that lacks nothing reports nothing. */
TEST_F(needs, nothing_is_missing)
{
	EXPECT_EQ(EXIT_MODULE, run_refused(NULL, VGPUD, self->out));
	EXPECT_STREQ(BESIDE "\n", self->out);
}

/* A kernel without userfaultfd has no such device. */
TEST_F(needs, no_userfaultfd)
{
	EXPECT_SAID_BY("exec unshare -m sh -c 'mount --bind /dev /mnt && mount -t tmpfs tmpfs /dev && "
		       "touch /dev/null && mount --bind /mnt/null /dev/null && exec " VGPUD "'", NULL,
		       "vgpud: /dev/userfaultfd: No such file or directory: ",
		       "Linux 6.1 or later with CONFIG_USERFAULTFD", "modprobe vgpu_host");
}

/* The device exists, but gives no userfaultfd. */
TEST_F(needs, userfaultfd_refused)
{
	const struct refusal refusal = {
		.nr = SYS_ioctl, .arg = 1, .mask = ~0U, .value = USERFAULTFD_IOC_NEW, .error = EPERM,
	};

	EXPECT_SAID(&refusal, "vgpud: /dev/userfaultfd: Operation not permitted: ",
		    "CONFIG_USERFAULTFD", "a container", "SystemCallFilter=", "modprobe vgpu_host");
}

/* The device gives a userfaultfd that lacks features which shadows need. */
TEST_F(needs, userfaultfd_without_features)
{
	const struct refusal refusal = {
		.nr = SYS_ioctl, .arg = 1, .mask = ~0U, .value = (uint32_t)UFFDIO_API, .error = EINVAL,
	};

	EXPECT_SAID(&refusal, "vgpud: /dev/userfaultfd: Invalid argument: ",
		    "Linux 6.1 or later with CONFIG_USERFAULTFD");
}

/* Unprivileged programs need no userfaultfd, as vgpud gives it to shadows. */
TEST_F(needs, userfaultfd_for_others)
{
	int fd, before = -1;
	char line[32];

	tool_read_line("/proc/sys/vm/unprivileged_userfaultfd", line, sizeof(line));
	before = atoi(line);
	ASSERT_TRUE(tool_write("/proc/sys/vm/unprivileged_userfaultfd", "0"));
	fd = agent_open(getenv("VGPU_NAME"));
	EXPECT_GE(fd, 0);
	close(fd);
	if (before)
		EXPECT_TRUE(tool_write("/proc/sys/vm/unprivileged_userfaultfd", line));
}

TEST_F(needs, no_secret_memory)
{
	const struct refusal refusal = { .nr = SYS_memfd_secret, .error = ENOSYS };

	EXPECT_SAID(&refusal, "vgpud: memfd_secret: Function not implemented: ",
		    "CONFIG_SECRETMEM", "secretmem.enable=1", "modprobe vgpu_host");
}

TEST_F(needs, no_kcmp)
{
	const struct refusal refusal = { .nr = SYS_kcmp, .error = ENOSYS };

	EXPECT_SAID(&refusal, "vgpud: kcmp: Function not implemented: ", "CONFIG_KCMP",
		    "modprobe vgpu_host");
}

/* The settings allow a guest more mappings than the kernel allows a process. */
TEST_F(needs, room_for_mappings)
{
	ASSERT_TRUE(config_write("mappings = 20000\npages = 5000"));
	ASSERT_TRUE(tool_write(MAPS_MAX, "99999"));
	EXPECT_SAID(NULL, "vgpud: vm.max_map_count is 99999, ",
		    "'mappings' and 'pages' in [limits] need 100000",
		    "sysctl vm.max_map_count=100000", BESIDE);
	ASSERT_TRUE(tool_write(MAPS_MAX, "100000"));
	EXPECT_SAID(NULL, BESIDE);
	EXPECT_EQ(NULL, strstr(self->out, "max_map_count"));
}

/* Returns the number of VMAs of a process. */
static int maps_of(pid_t pid)
{
	return atoi(tool_run("wc -l </proc/%d/maps", pid)->out);
}

/* A program makes its shadow need more mappings than the kernel allows. */
TEST_F_TIMEOUT(needs, shadow_without_room, 120)
{
	enum { NR = VGPU_MOCK_MAX_STRUCTS };
	struct vgpu_mock_struct structs[NR] = {};
	struct vgpu_mock_structs arg = { .ptr = (uintptr_t)structs, .count = NR };
	long from = log_length();
	char *memory, text[32];
	pid_t shadow = 0;
	int fd, i;

	/* Every second page is used, so that each needs a mapping of its own in the shadow. */
	memory = mmap(NULL, 2 * NR * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	for (i = 0; i < NR; i++) {
		structs[i].ptr = (uintptr_t)memory + 2 * i * PAGE;
		structs[i].length = 8;
	}
	fd = agent_open(getenv("VGPU_NAME"));
	ASSERT_GE(fd, 0);
	ASSERT_EQ(1, tool_processes(tool_shadow(), &shadow));
	ASSERT_EQ(0, ioctl(fd, TWIN(VGPU_MOCK_IOC_STRUCTS), &arg));
	snprintf(text, sizeof(text), "%d", maps_of(shadow) + NR);
	ASSERT_TRUE(tool_write(MAPS_MAX, text));
	EXPECT_EQ(-1, ioctl(fd, TWIN(VGPU_MOCK_IOC_STRUCTS), &arg));
	EXPECT_TRUE(tool_write(MAPS_MAX, self->maps));
	EXPECT_TRUE(await_logged(from, "shadow of agent_needs: "
				 "it has reached the kernel's limit of mappings "
				 "(raise vm.max_map_count, or lower 'mappings' and 'pages' in [limits])"));
	close(fd);
	munmap(memory, 2 * NR * PAGE);
}

/* --- calls that fail in shadows only ----------------------------------------------- */

/* Starts vgpud with a system call that fails. Return: true if it was started. */
static bool agent_run_refused(const struct refusal *refusal)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (!filter_install(refusal))
			_exit(1);
		agent_run(NULL);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/*
 * Restarts vgpud with a system call that fails. Return: true if the log has these words after a
 * program has tried to open the device.
 */
static bool open_fails(const struct refusal *refusal, const char *words)
{
	const char *name = getenv("VGPU_NAME");
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	long from = log_length();
	char node[64] = "";
	int fd;

	if (!agent_gone(agent_kill(SIGTERM)) || !agent_run_refused(refusal))
		return false;
	/* The node of the connection before may still exist for a moment. */
	while (!logged_since(from, words)) {
		if (tool_now_ms() > end)
			return false;
		if (agent_node(name, node)) {
			fd = open(node, O_RDWR);
			close(fd);
		}
		usleep(50000);
	}
	return true;
}

TEST_F_TIMEOUT(needs, shadow_is_refused_them, 240)
{
	const struct refusal faults = {
		.nr = SYS_ioctl, .arg = 2, .mask = ~0U, .value = O_CLOEXEC | O_NONBLOCK,
		.error = EPERM,
	};
	const struct refusal secret = {
		.nr = SYS_memfd_secret, .mask = O_CLOEXEC, .value = O_CLOEXEC, .error = ENOSYS,
	};

	ASSERT_TRUE(agent_keep_exports());
	self->stopped = true;
	EXPECT_TRUE(open_fails(&faults, "shadow of agent_needs: "
			       "it could not serve page faults of the kernel (userfaultfd)"));
	EXPECT_TRUE(open_fails(&secret, "shadow of agent_needs: "
			       "secret memory could not be allocated (memfd_secret)"));
}

#define ADVICE(setting)	" and vgpud may not raise it (CAP_SYS_RESOURCE): raise that limit, or lower '" \
	setting "' in [limits]"

/*
 * vgpud as root without the right to raise limits says which limit is too low, and which
 * setting needs more.
 */
TEST_F_TIMEOUT(needs, room_in_limits, 120)
{
	static const struct {
		const char *limit, *words;
	} limits[] = {
		{ "--nofile=1024 --memlock=unlimited --nproc=unlimited",
		  "open files, but the limit of vgpud is 1024" ADVICE("objects") },
		{ "--nofile=65536 --memlock=65536 --nproc=unlimited",
		  "bytes of locked memory, but the limit of vgpud is 65536" ADVICE("pages") },
		{ "--nofile=65536 --memlock=unlimited --nproc=100",
		  "threads, but the limit of vgpud is 100" ADVICE("sessions") },
	};
	char command[512];
	unsigned int i;

	ASSERT_TRUE(agent_keep_exports());
	self->stopped = true;
	ASSERT_TRUE(agent_end(getenv("VGPU_NAME"), SIGTERM));
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		snprintf(command, sizeof(command), "exec prlimit %s setpriv --bounding-set=-sys_resource "
			 "--inh-caps=-sys_resource " VGPUD, limits[i].limit);
		EXPECT_EQ(EXIT_CONFIG, run_refused(NULL, command, self->out));
		EXPECT_NE(NULL, strstr(self->out, limits[i].words)) TH_LOG("%s", self->out);
	}
}

/* --- hypervisors ------------------------------------------------------------------- */

#define GET_PROTOCOL_FEATURES	15
#define SET_PROTOCOL_FEATURES	16
#define SET_BACKEND_REQ_FD	21
#define VHOST_VERSION		1
#define VHOST_NEED_REPLY	8
#define FEATURE_CONFIG		(1ULL << 9)
#define FEATURE_SHMEM		(1ULL << 22)

struct vhost_u64 {
	uint32_t request, flags, size;
	uint64_t value;
} __attribute__((packed));

/* Connects to the window of a guest as a hypervisor does. Return: the socket, or -1. */
static int hypervisor_connect_by(unsigned int guest, unsigned int port)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/run/vgpu/window-%u-%u", guest, port);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

static int hypervisor_connect(unsigned int guest)
{
	return hypervisor_connect_by(guest, 22586);
}

/* Asks for the device's features. Return: true if the keeper has answered. */
static bool hypervisor_asks(int fd, struct vhost_u64 *msg)
{
	*msg = (struct vhost_u64) { GET_PROTOCOL_FEATURES, VHOST_VERSION, 0, 0 };
	return send(fd, msg, offsetof(struct vhost_u64, value), MSG_NOSIGNAL) > 0 &&
	       recv(fd, msg, sizeof(*msg), MSG_WAITALL) == sizeof(*msg);
}

/*
 * Plays a hypervisor that says that it lacks these features. Return: true if the keeper has
 * closed the connection.
 */
static bool hypervisor_without(unsigned int guest, uint64_t features)
{
	int fd = hypervisor_connect(guest);
	struct vhost_u64 msg;
	bool done;
	char byte;

	done = hypervisor_asks(fd, &msg) && (msg.value & features) == features;
	if (done) {
		msg.request = SET_PROTOCOL_FEATURES;
		msg.flags = VHOST_VERSION;
		msg.value &= ~features;
		done = send(fd, &msg, sizeof(msg), MSG_NOSIGNAL) == sizeof(msg) &&
		       !recv(fd, &byte, 1, 0);
	}
	close(fd);
	return done;
}

/*
 * Older versions of QEMU have no shared memory regions. Without config_size a device has no
 * space for the description of the window.
 */
TEST_F_TIMEOUT(needs, hypervisor_without_regions, 180)
{
	static const struct {
		unsigned int guest;
		uint64_t lacks;
	} hypervisors[] = { { 77, FEATURE_SHMEM }, { 78, FEATURE_CONFIG } };
	char words[160];
	unsigned int i;
	long from;

	for (i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++) {
		unsigned int guest = hypervisors[i].guest;

		ASSERT_EQ(0, tool_run("vgpuctl window create --to %u --size 1M", guest)->status);
		from = log_length();
		EXPECT_TRUE(hypervisor_without(guest, hypervisors[i].lacks));
		snprintf(words, sizeof(words), "guest %u:22586: QEMU 11.1 or later is needed for a window, "
			 "with config_size=32 in the device's line", guest);
		EXPECT_TRUE(await_logged(from, words));
		EXPECT_EQ(0, tool_run("vgpuctl window destroy --to %u --force", guest)->status);
	}
}

/*
 * A later version is installed while vgpud serves guests. vgpud goes on with the programs with which
 * it has started, also with those that it starts for the first time. Other programs are hidden.
 */
TEST_F_TIMEOUT(needs, programs_are_replaced, 240)
{
	const char *name = getenv("VGPU_NAME");
	struct vhost_u64 msg;
	int fd;

	ASSERT_TRUE(agent_keep_exports());
	self->stopped = true;
	ASSERT_TRUE(agent_end(name, SIGTERM));
	fd = agent_start(name);
	ASSERT_GE(fd, 0);
	close(fd);
	ASSERT_EQ(0, tool_run("mount -t tmpfs tmpfs " PROGRAMS)->status);
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 83 --size 1M")->status);
	fd = hypervisor_connect(83);
	EXPECT_GE(fd, 0);
	EXPECT_TRUE(hypervisor_asks(fd, &msg));
	close(fd);
	fd = agent_open(name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 83 --force")->status);
}

#define FAKE_VFIO	"/dev/vfio/66"

/* Return: true if status has @count lines that warn of this process. */
static bool warned_of(unsigned int guest, int count)
{
	return !tool_run("[ $(vgpuctl status | grep -cF 'warning: process %d, which has opened the window of guest %u, also has a VFIO device, "
			 FAKE_VFIO ":') = %d ]", getpid(), guest, count)->status;
}

#define MAKE_VFIO	"mkdir -p /dev/vfio && rm -f " FAKE_VFIO " && mknod " FAKE_VFIO " c 1 3"
#define REMOVE_VFIO	"rm -r " FAKE_VFIO "; rmdir /dev/vfio 2>/dev/null; "

/* Returns the log's message about this process. */
static const char *no_window(const char *guest)
{
	static char words[200];

	snprintf(words, sizeof(words), "guest %s: its hypervisor cannot have a window: process %d also "
		 "has a VFIO device, " FAKE_VFIO ": give the guest either a VFIO device or a window",
		 guest, getpid());
	return words;
}

/* A device of VFIO would keep what was mapped once, even if a driver takes it away. */
TEST_F_TIMEOUT(needs, hypervisor_beside_vfio, 180)
{
	struct vhost_u64 msg;
	int fd, vfio;

	ASSERT_EQ(0, tool_run("vgpuctl window create --to 79 --size 1M && " MAKE_VFIO)->status);
	fd = hypervisor_connect(79);
	ASSERT_GE(fd, 0);
	/* The keeper is running. */
	ASSERT_TRUE(hypervisor_asks(fd, &msg));
	EXPECT_TRUE(warned_of(79, 0));
	vfio = open(FAKE_VFIO, O_RDWR | O_CLOEXEC);
	ASSERT_GE(vfio, 0);
	EXPECT_TRUE(warned_of(79, 1));
	EXPECT_EQ(0, tool_run("vgpuctl status --json | grep -A 45 '\"path\":\"/run/vgpu/window-79-22586\"' | "
			      "grep -F '\"hypervisor\":%d'", getpid())->status);
	/* A hypervisor that has left is not warned of. */
	close(fd);
	EXPECT_EQ(0, tool_run("for i in $(seq 600); do vgpuctl status --json | grep -A 45 "
			      "'\"path\":\"/run/vgpu/window-79-22586\"' | grep -qF '\"hypervisor\":0' && exit 0; "
			      "busybox usleep 50000; done; exit 1")->status);
	EXPECT_TRUE(warned_of(79, 0));
	close(vfio);
	EXPECT_EQ(0, tool_run(REMOVE_VFIO "vgpuctl window destroy --to 79 --force")->status);
}

/* A hypervisor that has a device of VFIO already gets no window. */
TEST_F_TIMEOUT(needs, hypervisor_that_has_vfio, 180)
{
	struct vhost_u64 msg;
	long from = log_length();
	int fd, vfio;
	char byte;

	ASSERT_EQ(0, tool_run("vgpuctl window create --to 80 --size 1M && " MAKE_VFIO)->status);
	vfio = open(FAKE_VFIO, O_RDWR | O_CLOEXEC);
	ASSERT_GE(vfio, 0);
	fd = hypervisor_connect(80);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, recv(fd, &byte, 1, 0));
	EXPECT_TRUE(await_logged(from, no_window("80:22586")));
	close(fd);
	close(vfio);
	/*
	 * A hypervisor that has closed the device gets a window. A file opened with O_PATH does
	 * not count.
	 */
	vfio = open(FAKE_VFIO, O_PATH | O_CLOEXEC);
	ASSERT_GE(vfio, 0);
	fd = hypervisor_connect(80);
	ASSERT_GE(fd, 0);
	EXPECT_TRUE(hypervisor_asks(fd, &msg));
	close(fd);
	close(vfio);
	EXPECT_EQ(0, tool_run(REMOVE_VFIO "vgpuctl window destroy --to 80 --force")->status);
}

#define PEER_PORT	22640

/* QEMU connects before it opens its devices, so vgpud checks again when the guest connects. */
TEST_F_TIMEOUT(needs, guest_of_a_hypervisor_that_has_vfio, 180)
{
	struct vhost_u64 msg;
	struct peer peer;
	int fd, vfio;
	long from;

	ASSERT_EQ(0, tool_run("vgpuctl export /dev/null --to 1:%d --name needs-vfio && "
			      "vgpuctl window create --to 1:%d --size 1M && " MAKE_VFIO,
			      PEER_PORT, PEER_PORT)->status);
	fd = hypervisor_connect_by(1, PEER_PORT);
	ASSERT_GE(fd, 0);
	ASSERT_TRUE(hypervisor_asks(fd, &msg));
	from = log_length();
	ASSERT_EQ(0, peer_open(&peer, 1, PEER_PORT));
	peer_close(&peer);
	EXPECT_FALSE(logged_since(from, no_window("1:22640")));
	vfio = open(FAKE_VFIO, O_RDWR | O_CLOEXEC);
	ASSERT_GE(vfio, 0);
	ASSERT_EQ(0, peer_open(&peer, 1, PEER_PORT));
	EXPECT_TRUE(await_logged(from, no_window("1:22640")));
	peer_close(&peer);
	close(vfio);
	close(fd);
	EXPECT_EQ(0, tool_run(REMOVE_VFIO "vgpuctl window destroy --to 1:%d --force && "
			      "vgpuctl unexport needs-vfio --force", PEER_PORT)->status);
}

/*
 * Return: true if status has @count lines that say that @who may open the window of guest 81 as
 * well.
 */
static bool warned_of_openers(const char *who, int count)
{
	return !tool_run("[ $(vgpuctl status | grep -cF 'warning: not only the hypervisor of "
			 "guest 81 may open this window, but also: %s') = %d ]", who, count)->status;
}

/* A socket with wider permissions than vgpud gave it is reported, as a device file is. */
TEST_F_TIMEOUT(needs, socket_open_to_others, 60)
{
	static const char path[] = "/run/vgpu/window-81-22586";

	ASSERT_EQ(0, tool_run("vgpuctl window create --to 81 --size 1M")->status);
	EXPECT_TRUE(warned_of_openers("", 0));
	ASSERT_EQ(0, chmod(path, 0666));
	EXPECT_TRUE(warned_of_openers("group root, everybody (", 1));
	EXPECT_EQ(0, tool_run("vgpuctl status --json | grep -A 45 '\"path\":\"%s\"' | "
			      "grep -F '\"kind\":\"everybody\",'", path)->status);
	ASSERT_EQ(0, chmod(path, 0600));
	EXPECT_TRUE(warned_of_openers("", 0));
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 81 --force")->status);
}

/* Sends bytes with a file. Return: as sendmsg(). */
static ssize_t send_file(int sock, const void *bytes, size_t len, int fd)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {
		.hdr = {
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	const struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/*
 * A hypervisor sends files to its keeper. A process that vgpud has not let in cannot send any, as
 * vgpud would have to close them, and may wait meanwhile.
 */
TEST_F_TIMEOUT(needs, files_are_for_keepers, 120)
{
	struct vhost_u64 msg;
	int first, second, channel[2], yes = 1;

	ASSERT_EQ(0, tool_run("vgpuctl window create --to 82 --size 1M")->status);
	first = hypervisor_connect(82);
	ASSERT_LE(0, first);
	if (setsockopt(first, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes)) &&
	    errno == ENOPROTOOPT) {
		close(first);
		EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 82 --force")->status);
		SKIP(return, "the kernel cannot refuse files");
	}
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel));
	ASSERT_TRUE(hypervisor_asks(first, &msg));
	msg.request = SET_PROTOCOL_FEATURES;
	msg.flags = VHOST_VERSION | VHOST_NEED_REPLY;
	EXPECT_EQ(sizeof(msg), send(first, &msg, sizeof(msg), MSG_NOSIGNAL));
	EXPECT_EQ(sizeof(msg), recv(first, &msg, sizeof(msg), MSG_WAITALL));
	msg = (struct vhost_u64) {
		SET_BACKEND_REQ_FD, VHOST_VERSION | VHOST_NEED_REPLY, 0, 0,
	};
	EXPECT_EQ(offsetof(struct vhost_u64, value),
		  send_file(first, &msg, offsetof(struct vhost_u64, value), channel[1]));
	EXPECT_EQ(sizeof(msg), recv(first, &msg, sizeof(msg), MSG_WAITALL));
	EXPECT_EQ(0, msg.value);
	/* vgpud accepts the second connection after a pause, and refuses it. */
	second = hypervisor_connect(82);
	ASSERT_LE(0, second);
	EXPECT_EQ(-1, send_file(second, "x", 1, channel[1]));
	close(second);
	close(first);
	close(channel[0]);
	close(channel[1]);
	EXPECT_EQ(0, tool_run("vgpuctl window destroy --to 82 --force")->status);
}

TEST_HARNESS_MAIN
