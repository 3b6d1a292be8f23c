// SPDX-License-Identifier: MIT
/*
 * Threads of this shadow: their memory, and their files, which all threads share. The two kinds of
 * shadows have the rest in common (userspace-lib/shadow/thread.c).
 */
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"

#define THREAD_SIZE	(THREAD_GUARD + THREAD_STACK + THREAD_ROOM + 2 * THREAD_BUF)

int thread_prepare(struct thread *thread, unsigned int nr)
{
	return thread_map(thread, slots_base + nr * THREAD_SIZE, THREAD_ROOM, 2 * THREAD_BUF);
}

u8 *thread_buf(const struct thread *thread, unsigned int nr)
{
	return thread_room(thread) + THREAD_ROOM + nr * THREAD_BUF;
}

int thread_start(struct thread *thread, void (*fn)(void *arg), void *arg)
{
	/* CLONE_PTRACE: the tracer of the starting thread traces the new one as well (tracer.c). */
	return thread_run(thread, CLONE_FILES | CLONE_SETTLS | CLONE_PTRACE, fn, arg);
}

long process_start(void (*fn)(void *arg), u8 *stack)
{
	static struct thread thread;

	thread.fn = fn;
	return thread_clone(CLONE_VM | SIGCHLD, stack, &thread.tid, &thread);
}

/* --- numbers of files ----------------------------------------------------- */

int fd_devices, fd_maps, fd_mem;

void fd_close(int fd)
{
	sys3_apart(__NR_close, fd, 0, 0);
}

int fd_up(int fd, int base)
{
	int up = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, base);

	fd_close(fd);
	return up;
}
