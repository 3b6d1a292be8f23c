/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buffer of tests whose mappings move between the window and copies while a program and the
 * device write to them.
 */
#ifndef WINDOW_MOVE_H
#define WINDOW_MOVE_H

#include "window.h"

#include "kselftest_harness.h"

FIXTURE(move)
{
	struct buffer buffer;
	char *memory;		/* the program's mapping of the forwarded file */
	char *device;		/* the native mapping of the same buffer */
};

FIXTURE_SETUP(move)
{
	memset(self, 0, sizeof(*self));
	NEEDS_WINDOW();
	ASSERT_TRUE(window_begin("64M"));
}

FIXTURE_TEARDOWN(move)
{
	if (window_possible())
		window_end();
}

/* Maps a new buffer twice: in the window, and natively. */
static inline bool begin(FIXTURE_DATA(move) *self, __u32 flavour, size_t size)
{
	if (!buffer_make(&self->buffer, flavour, size))
		return false;
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	self->device = buffer_map(&self->buffer, self->buffer.real, PROT_READ | PROT_WRITE);
	return self->memory && self->device &&
	       window_counter(self->buffer.fwd, "window_mappings") == 1;
}

static inline int drain(void)
{
	return tool_run("vgpuctl window drain --to 1")->status;
}

static inline int fill(void)
{
	return tool_run("vgpuctl window fill --to 1")->status;
}

/* The program makes a call, which sends and fetches bytes of copies. */
static inline int sync_buffer(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };

	return ioctl(buffer->fwd, VGPU_MOCK_IOC_BUF_SYNC, &range);
}

#endif /* WINDOW_MOVE_H */
