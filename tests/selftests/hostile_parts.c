// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host sends files of its devices in parts. The test is the host, and sends parts that do not
 * belong together: the guest closes the connection, and shows no file that is made of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "nvidia_node.h"

#include "kselftest_harness.h"

#define VERSION		"proc/driver/nvidia/version"
#define PARAMS		"proc/driver/nvidia/params"
#define PATIENCE_MS	30000

/* A message about a file: a part of it, or all of it, or that it is gone. */
struct part {
	const char *name;
	uint32_t size;
	uint32_t offset;
	uint32_t flags;
};

/* Sends the part, filled with the letter @fill. Return: it was sent. */
static bool send_part(const struct part *part, char fill)
{
	static struct {
		struct vgpu_export_file head;
		char data[VGPU_FILE_PART];
	} msg;
	size_t len = part->size - part->offset;

	if (len > VGPU_FILE_PART)
		len = VGPU_FILE_PART;
	memset(&msg, 0, sizeof(msg));
	msg.head.hdr.len = htole32(sizeof(msg.head) + ((len + 7) & ~7UL));
	msg.head.hdr.type = htole16(VGPU_MSG_EXPORT_FILE);
	msg.head.export = htole32(last_export);
	msg.head.flags = htole32(part->flags);
	msg.head.size = htole32(part->size);
	msg.head.offset = htole32(part->offset);
	strcpy((char *)msg.head.name, part->name);
	memset(msg.data, fill, len);
	return send_all(&msg, le32toh(msg.head.hdr.len));
}

/* Announces a node of NVIDIA's driver, which gets files. Return: it was sent. */
static bool send_node(void)
{
	struct vgpu_export_add add;

	fill_export(&add, "node", NULL);
	add.kind = htole32(VGPU_EXPORT_NVIDIA);
	strcpy((char *)add.title, "nvidiactl");
	strcpy((char *)add.driver, "nvidia");
	return send_all(&add, sizeof(add));
}

/* Return: the guest closes the connection within the test's patience. */
static bool guest_leaves(void)
{
	struct pollfd pfd = { .fd = control, .events = POLLRDHUP };

	return poll(&pfd, 1, PATIENCE_MS) == 1 && (pfd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

FIXTURE(parts) {
	char unused;
};

FIXTURE_SETUP(parts)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin_again(), 0);
	ASSERT_TRUE(send_node());
}

FIXTURE_TEARDOWN(parts)
{
	end();
	EXPECT_STREQ(traces(), "");
}

FIXTURE_VARIANT(parts) {
	struct part second;
};

#define SIZE	(2 * VGPU_FILE_PART + 8)

FIXTURE_VARIANT_ADD(parts, another_name) {
	.second = { .name = PARAMS, .size = SIZE, .offset = VGPU_FILE_PART },
};

FIXTURE_VARIANT_ADD(parts, another_size) {
	.second = { .name = VERSION, .size = SIZE - VGPU_FILE_PART, .offset = VGPU_FILE_PART },
};

FIXTURE_VARIANT_ADD(parts, the_third) {
	.second = { .name = VERSION, .size = SIZE, .offset = 2 * VGPU_FILE_PART },
};

FIXTURE_VARIANT_ADD(parts, the_first_again) {
	.second = { .name = VERSION, .size = SIZE },
};

FIXTURE_VARIANT_ADD(parts, a_short_file) {
	.second = { .name = PARAMS, .size = 8 },
};

FIXTURE_VARIANT_ADD(parts, a_file_that_is_gone) {
	.second = { .name = VERSION, .flags = VGPU_FILE_GONE },
};

/* The guest takes no part but the next one of the file that it has begun to receive. */
TEST_F_TIMEOUT(parts, do_not_fit, 120)
{
	const struct part first = { .name = VERSION, .size = SIZE };

	ASSERT_TRUE(send_part(&first, 'a'));
	ASSERT_TRUE(send_part(&variant->second, 'b'));
	EXPECT_TRUE(guest_leaves());
	EXPECT_NE(access("/" PARAMS, F_OK), 0);
	EXPECT_NE(access("/" VERSION, F_OK), 0);
}

PLAYED_MAIN
