// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of libvgpu's structs with sizes (userspace-lib/include/vgpu.h): programs that were built with
 * an earlier or a later version of the library give, and get, structs of other sizes.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libvgpu/client.h"
#include "tap.h"

/* Connection to an agent that has ended: a request that libvgpu sends fails with -ECONNRESET. */
static struct vgpu_agent *agent_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct vgpu_agent *agent = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/test_libvgpu-%d", getpid());
	if (!bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1))
		vgpu_agent_open(addr.sun_path, &agent);
	unlink(addr.sun_path);
	close(fd);
	return agent;
}

/* Struct of a program that was built with a later version. */
struct later_request {
	struct vgpu_window_request request;
	uint64_t more;
};

static int give(struct vgpu_agent *agent, size_t size, uint64_t more)
{
	struct later_request later = {
		.request = { .struct_size = size, .cid = 3, .size = 4096 }, .more = more,
	};
	char path[48];

	return vgpu_agent_window_create(agent, &later.request, path);
}

static void test_given(void)
{
	const size_t now = sizeof(struct vgpu_window_request);
	struct vgpu_agent *agent = agent_open();
	int ret;

	if (!tap_expect(agent, "no connection"))
		return;
	ret = give(agent, 0, 0);
	tap_expect(ret == -EINVAL, "no size: %d", ret);
	ret = give(agent, now - 1, 0);
	tap_expect(ret == -EINVAL, "a size that no version has: %d", ret);
	ret = give(agent, sizeof(struct later_request), 1);
	tap_expect(ret == -E2BIG, "an unknown member: %d", ret);
	tap_expect(!!*vgpu_agent_message(agent), "no message");
	tap_subject("structs that the library cannot take are refused");
	ret = give(agent, now, 1);
	tap_expect(ret == -ECONNRESET, "the struct of this version: %d", ret);
	ret = give(agent, sizeof(struct later_request), 0);
	tap_expect(ret == -ECONNRESET, "an unknown member that is 0: %d", ret);
	tap_subject("others are sent");
	vgpu_agent_close(agent);
}

static void test_copied(void)
{
	struct vgpu_window_request earlier = { .struct_size = WINDOW_REQUEST_0_1, .cid = 3 };
	struct later_request later;
	int ret;

	memset(&later, 0xff, sizeof(later));
	ret = request_copy(NULL, &later, sizeof(later), WINDOW_REQUEST_0_1, &earlier);
	tap_expect(!ret && later.request.cid == 3 && !later.more, "%d, more %llx", ret,
		   (unsigned long long)later.more);
	tap_subject("members that an earlier program does not know are 0");
}

static void test_filled_in(void)
{
	struct vgpu_window_status **infos = infos_alloc(2, sizeof(**infos));

	if (!tap_expect(infos, "no memory"))
		return;
	tap_expect(infos[1]->struct_size == sizeof(**infos), "%zu", infos[1]->struct_size);
	tap_expect(VGPU_HAS(infos[1], hypervisor), "no last member");
	infos[1]->struct_size = offsetof(struct vgpu_window_status, hypervisor);
	tap_expect(!VGPU_HAS(infos[1], hypervisor), "a member that is not there");
	tap_expect(VGPU_HAS(infos[1], memory_huge), "no member before it");
	tap_subject("programs see which members the library fills in");
	infos_free(infos, 2);
	infos_free(NULL, 2);
}

int main(void)
{
	test_given();
	test_copied();
	test_filled_in();
	return tap_done();
}
