/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hypervisor of tests that see the window as a hypervisor does. The program maps the device
 * file as QEMU would for a guest, and looks at memory that programs of this machine's own guest
 * have bound there. The hypervisor never gets SIGBUS, and never sees memory that is not bound at
 * that moment.
 */
#ifndef WINDOW_PEER_H
#define WINDOW_PEER_H

#include "window.h"

#include "kselftest_harness.h"

#define WINDOW_SIZE	(1UL << 20)

FIXTURE(peer)
{
	struct buffer buffer;
	char *memory;		/* the program's mapping */
	char *window;		/* the hypervisor's mapping */
	int fd;
};

static inline char *window_map(int fd)
{
	char *window = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return window == MAP_FAILED ? NULL : window;
}

FIXTURE_SETUP(peer)
{
	memset(self, 0, sizeof(*self));
	if (!window_possible())
		return;
	ASSERT_TRUE(window_begin("1M"));
	self->fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->window = window_map(self->fd);
	ASSERT_NE(NULL, self->window);
}

FIXTURE_TEARDOWN(peer)
{
	if (window_possible())
		window_end();
}

#define BEGIN(flavour, size) do {					\
	NEEDS_WINDOW();							\
	ASSERT_TRUE(buffer_make(&self->buffer, flavour, size));		\
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE); \
	ASSERT_NE(NULL, self->memory);					\
	ASSERT_EQ(1, window_counter(self->buffer.fwd, "window_mappings")); \
} while (0)

static inline unsigned long find(const char *window, const struct buffer *buffer)
{
	buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 4711, 0);
	return window_find(window, WINDOW_SIZE, buffer->size, 4711);
}

/* The mapping is in the window, and the hypervisor sees all of it. */
static inline void shown(struct __test_metadata *_metadata, FIXTURE_DATA(peer) *self, __u32 flavour)
{
	unsigned long at;

	BEGIN(flavour, 32 * PAGE);
	at = find(self->window, &self->buffer);
	ASSERT_NE(0, at);
	vgpu_mock_pattern(self->window + at, 32 * PAGE, 13, 0);
	EXPECT_EQ(memory_sum(self->memory, 32 * PAGE), buffer_sum(&self->buffer));
	EXPECT_EQ(0, window_status("failures"));
}

#endif /* WINDOW_PEER_H */
