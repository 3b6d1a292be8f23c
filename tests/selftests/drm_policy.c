// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest may not become DRM master of a card node, or pass for one, unless its export allows
 * it, and may not make ioctls that the export's list denies. DRM looks at an ioctl's number
 * alone, so another size or direction in the command must not help the guest.
 *
 * The guest is this program, see hostile_peer.h. The tests run as root where the host is: in
 * the loopback and user tiers only.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <drm.h>
#include <drm_mode.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include "hostile_peer.h"
#include "tool.h"

#include "kselftest_harness.h"

#define LOOPBACK	1		/* CID */
#define PORT		22601
#define REPLY_MS	5000
#define CONFIG		"/etc/vgpu/exports.d/drm-policy.conf"

static const char *real_path;

/* Has the agent read its configuration again. */
static void agent_reload(void)
{
	if (system("kill -HUP $(pidof vgpud)"))
		abort();
}

static bool agent_export(const char *more)
{
	FILE *file;

	if (system("mkdir -p /etc/vgpu/exports.d"))
		return false;
	file = fopen(CONFIG, "w");
	if (!file)
		return false;
	fprintf(file, "[drm-policy]\npath = %s\nto = %d:%d\n%s", real_path, LOOPBACK, PORT, more);
	if (fclose(file))
		return false;
	agent_reload();
	return true;
}

FIXTURE(policy) {
	struct peer peer;
	uint64_t seq;
	uint32_t object;
	int lane;
	union {
		struct vgpu_reply reply;
		struct {
			struct vgpu_reply header;
			unsigned char data[256];
		} bytes;
	} answer;
};

FIXTURE_SETUP(policy)
{
	const char *tier = getenv("VGPU_TIER");

	self->peer.control = -1;
	self->lane = -1;
	real_path = getenv("VGPU_REAL");
	if (!real_path || !tier || (strcmp(tier, "loopback") && strcmp(tier, "user")))
		SKIP(return, "needs the host in the same machine: loopback or user");
	if (geteuid())
		SKIP(return, "needs root");
}

FIXTURE_TEARDOWN(policy)
{
	if (self->lane >= 0)
		close(self->lane);
	peer_close(&self->peer);
	if (real_path && !unlink(CONFIG))
		agent_reload();
}

/* Connects and opens the card node. */
static bool guest_open(FIXTURE_DATA(policy) * self)
{
	int tries;

	for (tries = 0; tries < 100; tries++) {
		if (!peer_open(&self->peer, LOOPBACK, PORT))
			break;
		peer_close(&self->peer);
		usleep(50000);
	}
	if (tries == 100)
		return false;
	self->lane = peer_lane(&self->peer, 1);
	if (self->lane < 0)
		return false;
	self->object = peer_open_device(&self->peer, self->lane, ++self->seq);
	return self->object;
}

/*
 * Makes an ioctl of the guest with an IN and OUT argument. Return: the result, or -ETIME if no
 * answer came.
 */
static int64_t guest_ioctl_flags(FIXTURE_DATA(policy) * self, uint32_t cmd, void *arg,
				 uint16_t flags)
{
	size_t len = _IOC_SIZE(cmd);
	int64_t result;

	if (!peer_ioctl_send_flags(self->lane, self->object, ++self->seq, cmd, arg,
				   len ? 0x10000 : 0, len, flags))
		return -ETIME;
	result = peer_reply(self->lane, &self->answer, sizeof(self->answer), REPLY_MS);
	if (result == INT64_MIN)
		return -ETIME;
	if (!(le32toh(self->answer.reply.flags) & VGPU_REPLY_REFUSED))
		memcpy(arg, self->answer.bytes.data, len);
	return result;
}

static int64_t guest_ioctl(FIXTURE_DATA(policy) * self, uint32_t cmd, void *arg)
{
	return guest_ioctl_flags(self, cmd, arg, 0);
}

static int64_t admin_ioctl(FIXTURE_DATA(policy) * self, uint32_t cmd, void *arg)
{
	return guest_ioctl_flags(self, cmd, arg, VGPU_CALL_ADMIN);
}

/* Return: true if the host refuses the ioctl, and not the driver. */
static bool refused(FIXTURE_DATA(policy) * self, uint32_t cmd)
{
	unsigned char arg[64] = { 0 };

	return guest_ioctl(self, cmd, arg) == -EACCES &&
	       le32toh(self->answer.reply.flags) == VGPU_REPLY_REFUSED;
}

TEST_F(policy, set_master_in_any_guise)
{
	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	EXPECT_TRUE(refused(self, DRM_IOCTL_SET_MASTER));
	EXPECT_TRUE(refused(self, _IOW('d', 0x1e, uint32_t)));
	EXPECT_TRUE(refused(self, _IOR('d', 0x1e, uint64_t)));
	EXPECT_TRUE(refused(self, _IOWR('d', 0x1e, uint64_t)));
	EXPECT_TRUE(refused(self, _IOC(0, 'd', 0x1e, 8)));
}

/*
 * CAP_SYS_ADMIN in the guest does not make the guest a master if the export does not allow
 * masters.
 */
TEST_F(policy, admin_of_the_guest)
{
	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	EXPECT_EQ(-EACCES, admin_ioctl(self, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_EQ(VGPU_REPLY_REFUSED, le32toh(self->answer.reply.flags));
	EXPECT_EQ(-EACCES, admin_ioctl(self, DRM_IOCTL_DROP_MASTER, NULL));
	EXPECT_EQ(0, le32toh(self->answer.reply.flags));
}

/*
 * If the export allows masters, the capability helps for the two ioctls of masters and for
 * nothing else.
 */
TEST_F(policy, admin_is_lent_for_masters)
{
	struct drm_block block = { 0 };
	unsigned char arg[64] = { 0 };
	int fd;

	ASSERT_TRUE(agent_export("master = yes\n"));
	fd = open(real_path, O_RDWR);
	ASSERT_GE(fd, 0);
	/* Another file is master. */
	ASSERT_TRUE(guest_open(self));
	EXPECT_EQ(-EACCES, guest_ioctl(self, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_EQ(-EBUSY, admin_ioctl(self, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_EQ(-EACCES, guest_ioctl(self, DRM_IOCTL_DROP_MASTER, NULL));
	EXPECT_EQ(-EINVAL, admin_ioctl(self, DRM_IOCTL_DROP_MASTER, NULL));
	ASSERT_EQ(0, ioctl(fd, DRM_IOCTL_DROP_MASTER, 0));
	/* A command with a size would make the driver access memory. */
	EXPECT_EQ(-EACCES, admin_ioctl(self, _IOWR('d', 0x1e, uint64_t), arg));
	EXPECT_EQ(-EACCES, guest_ioctl(self, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_EQ(0, admin_ioctl(self, DRM_IOCTL_SET_MASTER, NULL));
	EXPECT_NE(0, ioctl(fd, DRM_IOCTL_SET_MASTER, 0));
	EXPECT_EQ(EBUSY, errno);
	/* DRM lets only root make this ioctl, which does nothing: a master is not like root. */
	EXPECT_EQ(-EACCES, admin_ioctl(self, DRM_IOCTL_BLOCK, &block));
	EXPECT_EQ(0, admin_ioctl(self, DRM_IOCTL_DROP_MASTER, NULL));
	EXPECT_EQ(0, ioctl(fd, DRM_IOCTL_SET_MASTER, 0));
	close(fd);
}

TEST_F(policy, denied_in_any_guise)
{
	char line[64];

	snprintf(line, sizeof(line), "master = yes\ndeny-ioctls = %#lx\n",
		 (unsigned long)DRM_IOCTL_MODE_CREATE_DUMB);
	ASSERT_TRUE(agent_export(line));
	ASSERT_TRUE(guest_open(self));
	EXPECT_TRUE(refused(self, DRM_IOCTL_MODE_CREATE_DUMB));
	EXPECT_TRUE(refused(self, _IOWR('d', 0xb2, uint32_t)));
	EXPECT_TRUE(refused(self, _IOW('d', 0xb2, struct drm_mode_create_dumb)));
	EXPECT_TRUE(refused(self, _IOC(0, 'd', 0xb2, 0)));
	EXPECT_FALSE(refused(self, DRM_IOCTL_GEM_CLOSE));
}

/*
 * Makes an ioctl as an unprivileged process that opens the card beside its master. Return: the
 * errno, or 0.
 */
static int beside_master(const char *path, unsigned long cmd, void *arg, size_t len)
{
	int master = open(path, O_RDWR), status;
	unsigned char copy[64];
	pid_t pid;

	memcpy(copy, arg, len);
	pid = fork();
	if (!pid) {
		struct drm_mode_create_dumb dumb = { .width = 8, .height = 8, .bpp = 32 };
		int fd = open(path, O_RDWR);

		if (fd < 0 || setresuid(65534, 65534, 65534))
			_exit(250);
		/* The card is opened once more without root's rights, if its mode allows that. */
		close(fd);
		fd = open(path, O_RDWR);
		if (fd < 0 || ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
			_exit(251);
		/* The handle is the first field of both arguments that are tested. */
		memcpy(copy, &dumb.handle, sizeof(dumb.handle));
		_exit(ioctl(fd, cmd, copy) ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = 255 << 8;
	close(master);
	return WEXITSTATUS(status);
}

/*
 * A guest that may not be master is like any program that opened the card beside its master: it
 * is not authenticated, so it cannot access other programs' buffers by their global names.
 */
TEST_F(policy, guest_is_not_authenticated)
{
	struct drm_mode_create_dumb dumb = { .width = 8, .height = 8, .bpp = 32 };
	struct drm_gem_flink flink = { 0 };
	struct drm_gem_open gem_open = { .name = 1 };
	struct drm_gem_close gem_close = { 0 };

	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	ASSERT_EQ(0, guest_ioctl(self, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	flink.handle = dumb.handle;
	EXPECT_EQ(-beside_master(real_path, DRM_IOCTL_GEM_FLINK, &flink, sizeof(flink)),
		  guest_ioctl(self, DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_EQ(-EACCES, guest_ioctl(self, DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_EQ(0, le32toh(self->answer.reply.flags));
	EXPECT_EQ(-EACCES, guest_ioctl(self, DRM_IOCTL_GEM_OPEN, &gem_open));
	gem_close.handle = dumb.handle;
	EXPECT_EQ(-beside_master(real_path, DRM_IOCTL_GEM_CLOSE, &gem_close, sizeof(gem_close)),
		  guest_ioctl(self, DRM_IOCTL_GEM_CLOSE, &gem_close));
}

/*
 * Opens the guest's node of the export @name, on which the two ioctls are denied. Return: a
 * dma-buf, or -1.
 */
static int guest_buffer(const char *name, unsigned long denied, unsigned long also)
{
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR, .fd = -1 };
	struct drm_mode_create_dumb dumb = { .width = 8, .height = 8, .bpp = 32 };
	FILE *file = fopen(CONFIG, "w");
	int fd;

	if (!file)
		return -1;
	fprintf(file, "[%s]\npath = %s\nto = %d\ndeny-ioctls = %#lx, %#lx\n", name, real_path,
		LOOPBACK, denied, also);
	if (fclose(file))
		return -1;
	agent_reload();
	fd = tool_open_export(name);
	if (fd < 0 || ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		return -1;
	prime.handle = dumb.handle;
	if (ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime))
		return -1;
	close(fd);
	return prime.fd;
}

/*
 * Files that a device's ioctls make are under the list of the device's export: a dma-buf, and a
 * sync_file that is made from the dma-buf. The guest is this machine's module here.
 */
TEST_F_TIMEOUT(policy, list_is_inherited, 120)
{
	struct dma_buf_export_sync_file fence = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_START };
	struct sync_file_info info = {};
	int fd;

	/* The list denies no ioctl of these files. */
	ASSERT_EQ(0, system("mkdir -p /etc/vgpu/exports.d"));
	fd = guest_buffer("derived-a", DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &fence));
	EXPECT_EQ(0, ioctl(fence.fd, SYNC_IOC_FILE_INFO, &info));
	close(fence.fd);
	close(fd);

	fd = guest_buffer("derived-b", DMA_BUF_IOCTL_SYNC, SYNC_IOC_FILE_INFO);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-1, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(EACCES, errno);
	ASSERT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &fence));
	memset(&info, 0, sizeof(info));
	EXPECT_EQ(-1, ioctl(fence.fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(EACCES, errno);
	close(fence.fd);
	close(fd);
}

/* The card has no master, so the next file that is opened becomes master. */
TEST_F(policy, guest_leaves_the_card_free)
{
	int fd;

	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	fd = open(real_path, O_RDWR);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, ioctl(fd, DRM_IOCTL_DROP_MASTER, 0));
	close(fd);
}

#define ROUNDS		200
#define MASTER_MS	5000

/* struct opener: a lane on which the guest opens and closes the card as often as it can. */
struct opener {
	const struct peer *peer;
	pthread_t thread;
	int lane;
	volatile bool stop;
	unsigned int opens;
};

static void *open_often(void *data)
{
	struct opener *opener = data;
	struct peer_call call;
	char answer[512];
	uint64_t seq = 0;
	uint32_t object;

	while (!opener->stop) {
		object = peer_open_device(opener->peer, opener->lane, ++seq);
		if (!object)
			break;
		peer_call_init(&call, VGPU_OP_CLOSE, object, ++seq);
		if (!peer_call_send(opener->lane, &call, 0, 0) ||
		    peer_reply(opener->lane, answer, sizeof(answer), REPLY_MS))
			break;
		opener->opens++;
	}
	return NULL;
}

/*
 * A guest without the permission opens a card again and again, while a program of the host
 * becomes its master and stops being it. If there is no master, the guest's open makes a file
 * of the host master for a moment, so the program may have to ask twice. It never has to wait
 * for the guest to close the card.
 */
TEST_F_TIMEOUT(policy, host_is_master_beside_opens, 240)
{
	struct opener opener = { .peer = &self->peer };
	unsigned int i, again = 0, tries;
	uint64_t end;
	int fd;

	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	opener.lane = peer_lane(&self->peer, 1);
	ASSERT_GE(opener.lane, 0);
	ASSERT_EQ(0, pthread_create(&opener.thread, NULL, open_often, &opener));
	for (i = 0; i < ROUNDS || opener.opens < ROUNDS / 4; i++) {
		fd = open(real_path, O_RDWR);
		ASSERT_GE(fd, 0);
		end = tool_now_ms() + MASTER_MS;
		for (tries = 0; ioctl(fd, DRM_IOCTL_SET_MASTER, 0); tries++) {
			ASSERT_EQ(EBUSY, errno);
			ASSERT_GT(end, tool_now_ms()) TH_LOG("round %u", i);
			usleep(1000);
		}
		again += !!tries;
		/* The program stays master until it ends this itself. */
		usleep(1000);
		EXPECT_EQ(0, ioctl(fd, DRM_IOCTL_DROP_MASTER, 0)) TH_LOG("round %u", i);
		close(fd);
		peer_ping(&self->peer);
	}
	opener.stop = true;
	ASSERT_EQ(0, pthread_join(opener.thread, NULL));
	printf("# %u opens of the guest; the host's program had to ask again in %u rounds of %u\n",
	       opener.opens, again, i);
	close(opener.lane);
}

#define OPENERS		8
#define SAMPLES		100
#define CANCELS		5

static bool openers_begin(const struct peer *peer, struct opener openers[OPENERS])
{
	unsigned int i;

	for (i = 0; i < OPENERS; i++) {
		openers[i] = (struct opener) { .peer = peer, .lane = peer_lane(peer, 1) };
		if (openers[i].lane < 0 ||
		    pthread_create(&openers[i].thread, NULL, open_often, &openers[i]))
			return false;
	}
	return true;
}

/* Return: the number of opens. */
static unsigned int openers_end(struct opener openers[OPENERS])
{
	unsigned int i, opens = 0;

	for (i = 0; i < OPENERS; i++) {
		openers[i].stop = true;
		if (pthread_join(openers[i].thread, NULL))
			return 0;
		opens += openers[i].opens;
		close(openers[i].lane);
	}
	return opens;
}

/*
 * A guest without the permission opens a card on many lanes at once. The card is free for most of
 * the time nevertheless: a program of the host that opens it becomes its master.
 */
TEST_F_TIMEOUT(policy, card_is_free_beside_many_opens, 240)
{
	struct opener openers[OPENERS];
	unsigned int i, masters = 0, opens;
	int fd;

	if (tool_user_engine())
		SKIP(return, "needs the host module: an engine's shadow opens nodes itself");
	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	ASSERT_TRUE(openers_begin(&self->peer, openers));
	for (i = 0; i < SAMPLES; i++) {
		usleep(5000 + i % 7 * 1000);
		fd = open(real_path, O_RDWR);
		ASSERT_GE(fd, 0);
		masters += !ioctl(fd, DRM_IOCTL_DROP_MASTER, 0);
		close(fd);
		peer_ping(&self->peer);
	}
	opens = openers_end(openers);
	printf("# %u opens of the guest; the card was free %u times of %u\n", opens, masters,
	       SAMPLES);
	EXPECT_GE(masters, SAMPLES * 3 / 4);
	EXPECT_GE(opens, OPENERS);
}

/* Receives the reply to a call, with PINGs meanwhile. Return: its result, or INT64_MIN. */
static int64_t reply_with_pings(const struct peer *peer, int lane, void *answer, size_t size)
{
	struct pollfd pfd = { .fd = lane, .events = POLLIN };
	unsigned int i;

	for (i = 0; i < 4 && peer_ping(peer); i++)
		if (poll(&pfd, 1, REPLY_MS) == 1)
			break;
	return peer_reply(lane, answer, size, REPLY_MS);
}

/*
 * An open that waits for others of its guest goes on after a CANCEL, as it does not wait natively:
 * a program with a timer could not open the card otherwise.
 */
TEST_F_TIMEOUT(policy, cancelled_beside_many_opens, 120)
{
	struct vgpu_hdr hdr = { .len = htole32(sizeof(hdr)) };
	struct opener openers[OPENERS];
	struct peer_call call;
	unsigned int i, opens;
	uint64_t seq = 0;
	int lane;

	if (tool_user_engine())
		SKIP(return, "needs the host module: an engine's shadow opens nodes itself");
	ASSERT_TRUE(agent_export(""));
	ASSERT_TRUE(guest_open(self));
	ASSERT_TRUE(openers_begin(&self->peer, openers));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	for (i = 0; i < CANCELS; i++) {
		peer_call_init(&call, VGPU_OP_OPEN, 0, ++seq);
		call.msg.args.open.export = htole32(self->peer.export);
		call.msg.f_flags = htole32(O_RDWR);
		call.msg.args.open.flags = htole32(O_RDWR);
		hdr.seq = htole64(seq);
		hdr.type = htole16(VGPU_MSG_CANCEL);
		ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
		ASSERT_TRUE(peer_send(lane, &hdr, sizeof(hdr)));
		EXPECT_EQ(0, reply_with_pings(&self->peer, lane, &self->answer,
					      sizeof(self->answer)));
		hdr.type = htole16(VGPU_MSG_ACK);
		if (self->answer.reply.nr_objects)
			ASSERT_TRUE(peer_send(lane, &hdr, sizeof(hdr)));
	}
	opens = openers_end(openers);
	EXPECT_GE(opens, OPENERS);
	close(lane);
}

TEST_HARNESS_MAIN
