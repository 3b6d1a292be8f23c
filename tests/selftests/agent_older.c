// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host module serves a guest with which a vgpud of an older release has agreed to a feature
 * that there is no more. The test is this vgpud, and the guest.
 */
#include <signal.h>

#include "agent_exports.h"
#include "agent_played.h"
#include "tool.h"

#include "kselftest_harness.h"

#define PATIENCE_MS	30000
#define AGREED		(VGPU_FEATURE_DEMAND | VGPU_FEATURE_COPY_MMAP)

FIXTURE(older) {
	const char *name;
	int agent;
	int control[2];
};

FIXTURE_SETUP(older)
{
	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host module in the same machine: loopback");
	self->name = getenv("VGPU_NAME");
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	self->agent = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_TRUE(connect_ends(self->control));
}

FIXTURE_TEARDOWN(older)
{
	int fd;

	if (!self->name)
		return;
	close(self->control[0]);
	close(self->control[1]);
	close(self->agent);
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

/* Sends a PING with these flags. Return: the type of the answer; 0: the host has closed. */
static unsigned int ping(int fd, uint16_t flags)
{
	const struct vgpu_hdr hdr = {
		.len = htole32(sizeof(hdr)), .type = htole16(VGPU_MSG_PING), .flags = htole16(flags),
	};
	union {
		struct vgpu_hdr hdr;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;

	if (!peer_send(fd, &hdr, sizeof(hdr)))
		return 0;
	while (peer_recv(fd, &msg, sizeof(msg), PATIENCE_MS) > 0)
		if (peer_type(&msg) != VGPU_MSG_EXPORT_ADD)
			return peer_type(&msg);
	return 0;
}

/* The peer is served without the feature. */
TEST_F_TIMEOUT(older, agreed_to_the_reserved_feature, 120)
{
	int shadow = begin_agent_with(self->agent, self->control[1],
				      AGREED | VGPU_FEATURE_RESERVED);

	ASSERT_GE(shadow, 0);
	close(shadow);
	EXPECT_EQ(VGPU_MSG_PONG, ping(self->control[0], 0));
	EXPECT_EQ(0, ping(self->control[0], VGPU_HDR_RESERVED));
}

TEST_F_TIMEOUT(older, agreed_to_an_unknown_feature, 120)
{
	EXPECT_EQ(-1, begin_agent_with(self->agent, self->control[1], AGREED | 1ULL << 62));
	EXPECT_EQ(EOPNOTSUPP, errno);
}

/*
 * A vgpud of a newer release may have longer structs. The module reads all bytes that it does not
 * know, so it takes a page at most.
 */
TEST_F(older, struct_of_a_newer_release)
{
	const size_t size = 4 * VGPU_PAGE_SIZE;
	struct vgpu_host_agent *role = calloc(1, size);

	ASSERT_NE(NULL, role);
	role->reserved_base = RESERVED_START;
	role->reserved_size = RESERVED_SIZE;
	role->fetch_timeout_ms = 2000;
	role->size = size;
	EXPECT_EQ(-1, ioctl(self->agent, VGPU_HOST_AGENT, role));
	EXPECT_EQ(E2BIG, errno);
	role->size = VGPU_PAGE_SIZE;
	EXPECT_EQ(0, ioctl(self->agent, VGPU_HOST_AGENT, role));
	free(role);
}

TEST_HARNESS_MAIN
