/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program of tests that see the window as a program does: device memory that is mapped without
 * copies and accessed without calls. Guest and host are one kernel here (loopback), so the
 * program's page tables map the device's pages themselves.
 */
#ifndef WINDOW_PROGRAM_H
#define WINDOW_PROGRAM_H

#include <sys/wait.h>

#include "window.h"

#include "kselftest_harness.h"

FIXTURE(window)
{
	struct buffer buffer;
	char *memory;		/* the program's mapping of the forwarded file */
	char *device;		/* the native mapping of the same buffer */
};

FIXTURE_SETUP(window)
{
	memset(self, 0, sizeof(*self));
	self->buffer.real = -1;
	self->buffer.fwd = -1;
	if (window_possible())
		ASSERT_TRUE(window_begin("64M"));
}

FIXTURE_TEARDOWN(window)
{
	if (window_possible())
		window_end();
}

/* Maps a new buffer twice: in the window, and natively. */
#define BEGIN(flavour, size) do {					\
	NEEDS_WINDOW();							\
	ASSERT_TRUE(buffer_make(&self->buffer, flavour, size));		\
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE); \
	ASSERT_NE(NULL, self->memory);					\
	self->device = buffer_map(&self->buffer, self->buffer.real, PROT_READ | PROT_WRITE); \
	ASSERT_NE(NULL, self->device);					\
	ASSERT_EQ(1, window_counter(self->buffer.fwd, "window_mappings")); \
	ASSERT_EQ(0, window_counter(self->buffer.fwd, "copy_mappings"));	\
} while (0)

static inline long long traffic(const struct buffer *buffer)
{
	return window_counter(buffer->fwd, "calls") + window_counter(buffer->fwd, "bytes_in") +
	       window_counter(buffer->fwd, "bytes_out");
}

/*
 * Program and device each see at once what the other has written, and no byte and no call goes
 * over the wire for it.
 */
static inline void coherent(struct __test_metadata *_metadata, struct buffer *buffer, char *memory,
			    char *device, unsigned int times)
{
	size_t size = buffer->size;
	long long before;
	unsigned int i;

	/* The first access has a fault, which counts as traffic. */
	memory[0] = 0;
	before = traffic(buffer);
	for (i = 1; i <= times; i++) {
		ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, i, 0));
		ASSERT_TRUE(memory_is(memory, size, i));
		vgpu_mock_pattern(memory, size, 100 + i, 0);
		ASSERT_EQ(memory_sum(memory, size), buffer_sum(buffer));
		ASSERT_TRUE(memory_is(device, size, 100 + i));
		device[i] = i;
		ASSERT_EQ(i, memory[i]);
		memory[size - i] = i;
		ASSERT_EQ(i, device[size - i]);
	}
	EXPECT_EQ(before, traffic(buffer));
}

static inline int wait_for(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A read-only mapping of a file that is open for writing can become writable, as natively. */
static inline void made_writable(struct __test_metadata *_metadata, struct buffer *buffer)
{
	char *memory = buffer_map(buffer, buffer->fwd, PROT_READ);
	char *device = buffer_map(buffer, buffer->real, PROT_READ);

	ASSERT_NE(NULL, memory);
	ASSERT_NE(NULL, device);
	EXPECT_EQ(SIGSEGV, touch(memory + PAGE, true));
	EXPECT_NE(1, memory[PAGE]);
	ASSERT_EQ(0, mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, touch(memory + PAGE, true));
	EXPECT_EQ(1, device[PAGE]);
	EXPECT_EQ(SIGSEGV, touch(memory, true));
	munmap(device, buffer->size);
	munmap(memory, buffer->size);
}

/*
 * A mapping made for reading is not writable. If @never is set (the file is open for reading
 * only), it cannot become writable.
 */
static inline void read_only(struct __test_metadata *_metadata, struct buffer *buffer, int fd,
			     bool never)
{
	char *memory = buffer_map(buffer, fd, PROT_READ);

	ASSERT_NE(NULL, memory);
	ASSERT_EQ(0, buffer_do(buffer, VGPU_MOCK_IOC_BUF_FILL, 6, 0));
	EXPECT_TRUE(memory_is(memory, buffer->size, 6));
	EXPECT_EQ(SIGSEGV, touch(memory, true));
	if (never) {
		EXPECT_EQ(-1, mprotect(memory, buffer->size, PROT_READ | PROT_WRITE));
		EXPECT_EQ(EACCES, errno);
		EXPECT_EQ(SIGSEGV, touch(memory, true));
	}
	ASSERT_EQ(0, mprotect(memory, buffer->size, PROT_NONE));
	if (never)
		EXPECT_EQ(-1, mprotect(memory, buffer->size, PROT_WRITE));
	ASSERT_EQ(0, mprotect(memory, buffer->size, PROT_READ));
	EXPECT_EQ(SIGSEGV, touch(memory, true));
	/* The kernel cannot write to the mapping either. */
	EXPECT_EQ(-1, pread(buffer->real, memory, 8, 0));
	EXPECT_TRUE(memory_is(memory, buffer->size, 6));
	munmap(memory, buffer->size);
}

static inline struct vgpu_mock_buf_info buffer_info(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };

	if (ioctl(buffer->real, VGPU_MOCK_IOC_BUF_INFO, &info))
		memset(&info, 0xff, sizeof(info));
	return info;
}

#endif /* WINDOW_PROGRAM_H */
