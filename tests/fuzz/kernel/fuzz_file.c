// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of file operations: each step is run on the mock device (VGPU_REAL) and on the same
 * device forwarded (VGPU_FWD). Results, errnos, the memory of the arguments and the position of the
 * file must be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "draw.h"
#include "file.h"
#include "fuzz.h"
#include "vgpu_mock.h"

#define PAGE		4096U
/* Time in seconds after which an operation of a forwarded file is interrupted. */
#define PATIENCE_S	60

/**
 * struct side - files of one device
 * @path: path of the device
 * @fds: opened files
 * @object: object that the last FD_OUT has made, or -1
 * @id: number of the buffer that the last BUF_CREATE has made
 * @offset: its offset for mmap
 * @memory: arena after the last step
 * @result: result of the last step, or -errno
 * @position: position of the file after the step
 * @touched: sum of what a mapping showed, or the signal of an access
 */
struct side {
	const char *path;
	int fds[FILE_FILES];
	int object;
	uint32_t id;
	uint64_t offset;
	uint8_t memory[FILE_ARENA];
	long result;
	long position;
	uint64_t touched;
};

static struct side sides[2] = {
	{ .fds = { -1, -1 }, .object = -1 }, { .fds = { -1, -1 }, .object = -1 },
};
/* Memory of the arguments, at the same address for both devices, before memory without access. */
static uint8_t *arena;
static sigjmp_buf fault;

static void on_fault(int signr)
{
	siglongjmp(fault, signr);
}

static void on_alarm(int signr)
{
	(void)signr;
}

static void reopen(struct side *side, unsigned int where, int access)
{
	if (side->fds[where] >= 0)
		close(side->fds[where]);
	/* No call blocks, as nothing would end it. */
	side->fds[where] = open(side->path, access | O_NONBLOCK | O_CLOEXEC);
	side->result = side->fds[where] < 0 ? -errno : 0;
}

static bool start(void)
{
	struct sigaction faults = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct sigaction alarms = { .sa_handler = on_alarm };

	sides[0].path = getenv("VGPU_REAL");
	sides[1].path = getenv("VGPU_FWD");
	arena = mmap((void *)0x300000000000, FILE_ARENA + PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	sigaction(SIGBUS, &faults, NULL);
	sigaction(SIGSEGV, &faults, NULL);
	sigaction(SIGALRM, &alarms, NULL);
	return sides[0].path && sides[1].path && arena != MAP_FAILED &&
	       !mprotect(arena + FILE_ARENA, PAGE, PROT_NONE);
}

/* --- steps -------------------------------------------------------------- */

/* Keeps commands away that wait, that both devices share, or whose results cannot be the same. */
static uint32_t tame_command(uint32_t cmd)
{
	static const uint32_t tame[] = {
		VGPU_MOCK_IOC_IN, VGPU_MOCK_IOC_OUT, VGPU_MOCK_IOC_INOUT, VGPU_MOCK_IOC_INTEGER,
		VGPU_MOCK_IOC_ERROR, VGPU_MOCK_IOC_RETURN, VGPU_MOCK_IOC_BIG, VGPU_MOCK_IOC_SIZED,
		VGPU_MOCK_IOC_EXTENSIBLE, VGPU_MOCK_BARE, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_BARE),
		VGPU_MOCK_IOC_ARRAY_IN, VGPU_MOCK_IOC_ARRAY_OUT, VGPU_MOCK_IOC_ARRAY_INOUT,
		VGPU_MOCK_IOC_ARRAYS, VGPU_MOCK_IOC_STRUCTS, VGPU_MOCK_IOC_STRIDE,
		VGPU_MOCK_IOC_LARGE_IN, VGPU_MOCK_IOC_LARGE_OUT, VGPU_MOCK_IOC_LARGE_INOUT,
		VGPU_MOCK_IOC_EITHER, VGPU_MOCK_IOC_MOVED, VGPU_MOCK_IOC_TABLE,
		VGPU_MOCK_IOC_CONTROLS, VGPU_MOCK_IOC_WAKE, VGPU_MOCK_IOC_FD_OUT,
		VGPU_MOCK_IOC_FD_IN, VGPU_MOCK_IOC_OBJ_INFO, VGPU_MOCK_IOC_IO_MODE,
		VGPU_MOCK_IOC_BUF_CREATE, VGPU_MOCK_IOC_BUF_FILL, VGPU_MOCK_IOC_BUF_SUM,
	};
	/* The twins of these cannot be forwarded (vgpu_mock.h). */
	static const uint32_t no_twins[] = { VGPU_MOCK_IOC_FD_OUT, VGPU_MOCK_IOC_FD_IN };
	unsigned int i;

	for (i = 0; i < sizeof(no_twins) / sizeof(no_twins[0]); i++)
		if (cmd == VGPU_MOCK_UNDESCRIBED(no_twins[i]))
			return no_twins[i];
	for (i = 0; i < sizeof(tame) / sizeof(tame[0]); i++)
		if ((cmd & ~VGPU_MOCK_UNDESCRIBED_BIT) == (tame[i] & ~VGPU_MOCK_UNDESCRIBED_BIT))
			return cmd;
	return VGPU_MOCK_IOC_NOOP;
}

/* Fills the arena, and replaces what differs between the devices. */
static void fill_arena(const struct side *side, const struct step *step, uint32_t cmd)
{
	const struct file_args *args = (const struct file_args *)step->data;
	uint32_t i, len = step->len - sizeof(*args);
	uint32_t plain = cmd & ~VGPU_MOCK_UNDESCRIBED_BIT;
	uint64_t address;

	for (i = 0; i < FILE_ARENA; i++)
		arena[i] = i * 7 + (i >> 8);
	memcpy(arena, args + 1, len < FILE_ARENA ? len : FILE_ARENA);
	for (i = 0; i < args->nr_patches && i < FILE_PATCHES; i++) {
		address = (uintptr_t)arena + args->patches[i].to % (FILE_ARENA + 1);
		if (args->patches[i].at <= FILE_ARENA - sizeof(address))
			memcpy(arena + args->patches[i].at, &address, sizeof(address));
	}
	if (plain == VGPU_MOCK_IOC_FD_IN)
		memcpy(arena, &side->object, sizeof(side->object));
	if (plain == VGPU_MOCK_IOC_BUF_FILL || plain == VGPU_MOCK_IOC_BUF_SUM) {
		memcpy(arena, &side->id, sizeof(side->id));
		memset(arena + offsetof(struct vgpu_mock_buf_range, delay_ms), 0, 8);
	}
	/* These results would be restarted for ever, as no signal is pending. */
	if (plain == VGPU_MOCK_IOC_RETURN || plain == VGPU_MOCK_IOC_ERROR)
		while (*(int32_t *)arena <= -512 || *(int32_t *)arena >= 512)
			*(int32_t *)arena /= 2;
	if (plain == VGPU_MOCK_IOC_RETURN)
		*(int64_t *)arena = *(int32_t *)arena;
	if (plain == VGPU_MOCK_IOC_BUF_CREATE) {
		((struct vgpu_mock_buf_create *)arena)->size %= 16 * PAGE + 1;
		((struct vgpu_mock_buf_create *)arena)->flavour %= 6;
	}
}

/* Takes what differs between the devices out of the arena. */
static void take_results(struct side *side, uint32_t cmd)
{
	struct vgpu_mock_fd_out *out = (void *)arena;
	struct vgpu_mock_buf_create *create = (void *)arena;

	switch (cmd & ~VGPU_MOCK_UNDESCRIBED_BIT) {
	case VGPU_MOCK_IOC_FD_OUT:
		if (!side->result) {
			if (side->object >= 0)
				close(side->object);
			side->object = out->out_fd;
			out->out_fd = 0;
		}
		break;
	case VGPU_MOCK_IOC_FD_IN:
	case VGPU_MOCK_IOC_BUF_FILL:
	case VGPU_MOCK_IOC_BUF_SUM:
		memset(arena, 0, sizeof(uint32_t));
		break;
	case VGPU_MOCK_IOC_BUF_CREATE:
		if (!side->result) {
			side->id = create->out_id;
			side->offset = create->out_offset;
			create->out_id = 0;
			create->out_offset = 0;
		}
		break;
	}
}

static void make_ioctl(struct side *side, int fd, const struct step *step, uint32_t cmd)
{
	const struct file_args *args = (const struct file_args *)step->data;
	unsigned long arg = step->flags & FILE_POINTER ? (uintptr_t)arena : args->position;

	if (step->flags & FILE_OBJECT && side->object >= 0)
		fd = side->object;
	side->result = syscall(SYS_ioctl, fd, cmd, arg);
	if (side->result == -1)
		side->result = -errno;
	take_results(side, cmd);
}

/* Maps the last buffer, reads and writes each page, and unmaps it. */
static void use_mapping(struct side *side, int fd, const struct file_args *args)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE, PROT_NONE };
	size_t len = (1 + args->number % 4) * PAGE;
	int prot = prots[args->number / 4 % 4], signr;
	volatile uint8_t *memory;
	size_t i;

	memory = mmap(NULL, len, prot, args->number / 16 % 8 ? MAP_SHARED : MAP_PRIVATE, fd,
		      side->offset + args->position % (64 * PAGE));
	side->result = memory == MAP_FAILED ? -errno : 0;
	side->touched = 0;
	if (side->result)
		return;
	signr = sigsetjmp(fault, 1);
	if (!signr) {
		for (i = 0; i < len; i += PAGE) {
			side->touched = side->touched * 31 + memory[i + args->offset % PAGE];
			if (prot & PROT_WRITE)
				memory[i] = args->number >> 8;
		}
	} else {
		side->touched = signr;
	}
	munmap((void *)memory, len);
}

static void run_step(struct side *side, const struct step *step)
{
	const struct file_args *args = (const struct file_args *)step->data;
	unsigned int where = step->where % FILE_FILES;
	uint8_t *memory = arena + args->offset % (FILE_ARENA + 1);
	int fd = side->fds[where];
	struct pollfd pfd = { .fd = fd, .events = args->number };
	uint32_t cmd = tame_command(args->number);

	fill_arena(side, step, step->kind == FILE_IOCTL ? cmd : 0);
	errno = 0;
	switch (step->kind % FILE_STEPS) {
	case FILE_READ:
		side->result = read(fd, memory, args->number % (2 * FILE_ARENA));
		break;
	case FILE_WRITE:
		side->result = write(fd, memory, args->number % (2 * FILE_ARENA));
		break;
	case FILE_PREAD:
		side->result = pread(fd, memory, args->number % (2 * FILE_ARENA), args->position);
		break;
	case FILE_PWRITE:
		side->result = pwrite(fd, memory, args->number % (2 * FILE_ARENA), args->position);
		break;
	case FILE_SEEK:
		side->result = lseek(fd, args->position, args->number);
		break;
	case FILE_IOCTL:
		make_ioctl(side, fd, step, cmd);
		break;
	case FILE_POLL:
		side->result = poll(&pfd, 1, 0);
		side->touched = pfd.revents;
		break;
	case FILE_FLAGS:
		side->result = fcntl(fd, F_SETFL, O_NONBLOCK | (args->number % 2 ? O_APPEND : 0));
		break;
	case FILE_REOPEN:
		reopen(side, where, args->number % 3);
		break;
	case FILE_MAP:
		use_mapping(side, fd, args);
		break;
	}
	if (side->result == -1 && step->kind % FILE_STEPS != FILE_IOCTL)
		side->result = -errno;
	side->position = lseek(side->fds[where], 0, SEEK_CUR);
	memcpy(side->memory, arena, FILE_ARENA);
}

/* --- comparison -------------------------------------------------------------- */

static const char *compare(const struct step *step)
{
	const struct file_args *args = (const struct file_args *)step->data;
	static char text[256];
	size_t i = 0;

	if (sides[0].result != sides[1].result || sides[0].position != sides[1].position ||
	    sides[0].touched != sides[1].touched) {
		snprintf(text, sizeof(text),
			 "step %u (%#x, %#llx) differs: result %ld, forwarded %ld; position %ld, %ld; %#llx, %#llx",
			 step->kind, args->number, (unsigned long long)args->position,
			 sides[0].result, sides[1].result, sides[0].position, sides[1].position,
			 (unsigned long long)sides[0].touched, (unsigned long long)sides[1].touched);
		return text;
	}
	/*
	 * How much of an argument was copied before a bad address was found is not defined. A read
	 * that fails has no bytes (Documentation/internals/protocol.rst).
	 */
	if (sides[0].result == -EFAULT || (sides[0].result < 0 && step->kind != FILE_IOCTL))
		return NULL;
	while (i < FILE_ARENA && sides[0].memory[i] == sides[1].memory[i])
		i++;
	if (i == FILE_ARENA)
		return NULL;
	snprintf(text, sizeof(text),
		 "step %u (%#x, result %ld) differs at byte %zu of its memory: %#x, forwarded %#x",
		 step->kind, args->number, sides[0].result, i, sides[0].memory[i],
		 sides[1].memory[i]);
	return text;
}

/*
 * Return: only one side has found a bad address. A forwarded operation takes all memory that the
 * program names, while a driver may look at less of it.
 */
static bool one_fault(void)
{
	return (sides[0].result == -EFAULT) != (sides[1].result == -EFAULT);
}

static const char *run(struct input *input)
{
	struct step *step = NULL;
	const char *wrong = NULL;
	unsigned int i, j;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < FILE_FILES; j++)
			reopen(&sides[i], j, O_RDWR);
		if (sides[i].object >= 0)
			close(sides[i].object);
		sides[i].object = -1;
		sides[i].id = 0;
		sides[i].offset = 0;
	}
	while (!wrong && (step = input_next(input, step))) {
		if (step->len < sizeof(struct file_args))
			continue;
		for (i = 0; i < 2; i++) {
			sides[i].touched = 0;
			fuzz_messages++;
			alarm(PATIENCE_S);
			run_step(&sides[i], step);
			alarm(0);
		}
		/* From there on the files differ. */
		if (one_fault())
			break;
		wrong = compare(step);
	}
	return wrong;
}

static const char *stop(void)
{
	return NULL;
}

static const struct fuzz fuzz_file = {
	.name = "fuzz_file",
	.own = true,
	.start = start,
	.make = file_make,
	.change = file_change,
	.run = run,
	.stop = stop,
};

int main(int argc, char **argv)
{
	return fuzz_main(&fuzz_file, argc, argv);
}
