// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded (LD_PRELOAD), or to be linked with --wrap, that lets a chosen allocation
 * of a program fail. The file that VGPU_FAIL_ALLOC names begins with a struct fail_alloc, which a
 * test shares with the program and may change at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail_alloc.h"

#ifdef FAIL_ALLOC_WRAP
#define ALLOC(name)	__wrap_ ## name
#define REAL(name)	__real_ ## name
#else
#define ALLOC(name)	name
#define REAL(name)	__libc_ ## name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t nr, size_t size);
void *REAL(realloc)(void *old, size_t size);
void REAL(free)(void *memory);
void *ALLOC(malloc)(size_t size);
void *ALLOC(calloc)(size_t nr, size_t size);
void *ALLOC(realloc)(void *old, size_t size);
void ALLOC(free)(void *memory);

static struct fail_alloc *shared;

static void __attribute__((constructor)) fail_alloc_begin(void)
{
	const char *path = getenv("VGPU_FAIL_ALLOC");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		shared = memory;
}

/* Counts an allocation. Return: it is to fail. */
static bool fails(void)
{
	uint32_t nth;

	if (!shared)
		return false;
	nth = __atomic_load_n(&shared->nth, __ATOMIC_RELAXED);
	do {
		if (!nth)
			return false;
	} while (!__atomic_compare_exchange_n(&shared->nth, &nth, nth - 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	if (nth > 1)
		return false;
	errno = ENOMEM;
	return true;
}

static void *count(void *memory, int change)
{
	if (shared && memory)
		__atomic_add_fetch(&shared->live, change, __ATOMIC_RELAXED);
	return memory;
}

void *ALLOC(malloc)(size_t size)
{
	return fails() ? NULL : count(REAL(malloc)(size), 1);
}

void *ALLOC(calloc)(size_t nr, size_t size)
{
	return fails() ? NULL : count(REAL(calloc)(nr, size), 1);
}

void *ALLOC(realloc)(void *old, size_t size)
{
	void *memory = fails() ? NULL : REAL(realloc)(old, size);

	return old ? memory : count(memory, 1);
}

void ALLOC(free)(void *memory)
{
	count(memory, -1);
	REAL(free)(memory);
}

#ifdef FAIL_ALLOC_WRAP
/* In a program that is linked with --wrap these functions of libc call no function above. */
char *__wrap_strdup(const char *text);
void *__wrap_reallocarray(void *old, size_t nr, size_t size);

char *__wrap_strdup(const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = ALLOC(malloc)(len);

	return copy ? memcpy(copy, text, len) : NULL;
}

void *__wrap_reallocarray(void *old, size_t nr, size_t size)
{
	return ALLOC(realloc)(old, nr * size);
}
#endif
