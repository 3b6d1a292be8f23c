// SPDX-License-Identifier: GPL-2.0-only
/*
 * window_look SECONDS MARK=WINDOW...: looks at windows of guests as a hypervisor would, while
 * mock_hunt runs in each guest with that MARK. A guest's window must show nothing that another
 * guest's program, or the device for it, has written, and nothing that a driver has freed.
 *
 * Guests allocate small ranges one behind the other, so the part that is looked at grows with
 * the place where something was seen. A page that was seen is looked at again in each later
 * pass: it would stay as it was if the host failed to remove it.
 *
 * Prints what was seen. Exit status 1 if a window showed something that it must not show, or
 * never showed what the guest's program, or the device for it, has written, as that is not
 * where this program looks.
 */
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hunt.h"

#define WINDOWS		8
/* The first page is the window's header. */
#define FIRST		4096UL
/* The part that is looked at ends so far behind the last place with something. */
#define AHEAD		(32UL << 20)
/* Most pieces that programs write are longer than this. */
#define STEP		64

struct window {
	unsigned int mark;
	const volatile char *memory;
	size_t size;
	size_t end;		/* end of the part that is looked at */
	uint64_t own;
	uint64_t filled;	/* words that the device wrote for this guest */
};

static uint64_t looked, wrong;

/* Duplicates a file of process @pid that has this path. Return: the copy, or -1. */
static int file_of(const char *pid, const char *path)
{
	char folder[64], name[300], target[300];
	struct dirent *entry;
	int pidfd, fd = -1;
	ssize_t len;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
	files = opendir(folder);
	while (files && fd < 0 && (entry = readdir(files))) {
		snprintf(name, sizeof(name), "%s/%.20s", folder, entry->d_name);
		len = readlink(name, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		if (strcmp(target, path))
			continue;
		pidfd = syscall(SYS_pidfd_open, atoi(pid), 0);
		fd = syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
		close(pidfd);
	}
	if (files)
		closedir(files);
	return fd;
}

/*
 * Opens a window, or duplicates a hypervisor's file of it, as a window that a hypervisor has
 * open cannot be opened.
 */
static int window_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct dirent *entry;
	DIR *processes;

	if (fd >= 0 || errno != EBUSY)
		return fd;
	processes = opendir("/proc");
	while (processes && fd < 0 && (entry = readdir(processes)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fd = file_of(entry->d_name, path);
	if (processes)
		closedir(processes);
	return fd;
}

static void window_open(struct window *window, char *argument)
{
	char *path;
	off_t size;
	int fd;

	window->mark = strtoul(argument, &path, 10);
	if (!window->mark || *path++ != '=')
		errx(2, "not a mark and a window: %s", argument);
	/* The kernel takes a mapping for shared only if its file is writable. */
	fd = window_file(path);
	size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < 0)
		err(2, "%s", path);
	window->size = size;
	window->end = AHEAD < window->size ? AHEAD : window->size;
	window->memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (window->memory == MAP_FAILED)
		err(2, "mmap of %s", path);
	close(fd);
}

static void window_look(struct window *window)
{
	size_t at, last = 0;

	for (at = FIRST; at < window->end; at += STEP) {
		uint64_t word = *(const volatile uint64_t *)(window->memory + at);
		unsigned int mark = hunt_mark(word), filled = 0;

		looked++;
		if (!mark && word && word != HUNT_POISON)
			filled = hunt_filled(word, at % HUNT_PAGE);
		/*
		 * The word is none of those that the programs know. A range that shows no mapping
		 * may have such words: the guest's own bytes, in no driver's page.
		 */
		if (!mark && !filled && word != HUNT_POISON)
			continue;
		last = at;
		if (mark == window->mark)
			window->own++;
		else if (filled == window->mark)
			window->filled++;
		else if (wrong++ < 3)
			printf("0x%016llx at 0x%zx of %u's window\n", (unsigned long long)word,
			       at, window->mark);
	}
	/* Ranges begin at a page, and the window's size is whole pages, too. */
	last += AHEAD;
	last -= last % FIRST;
	if (last > window->end)
		window->end = last < window->size ? last : window->size;
}

int main(int argc, char **argv)
{
	struct window windows[WINDOWS];
	unsigned int passes = 0;
	int i, nr = argc - 2;
	uint64_t own = 0;
	time_t until;

	if (nr < 1 || nr > WINDOWS)
		errx(2, "usage: window_look SECONDS MARK=WINDOW...");
	for (i = 0; i < nr; i++) {
		windows[i] = (struct window){ };
		window_open(&windows[i], argv[i + 2]);
	}
	until = time(NULL) + atoi(argv[1]);
	do {
		for (i = 0; i < nr; i++)
			window_look(&windows[i]);
		passes++;
	} while (time(NULL) < until);
	printf("%llu words of windows looked at in %u passes", (unsigned long long)looked, passes);
	for (i = 0; i < nr; i++) {
		printf(", %llu of %u's own and %llu that it had filled up to %zu MiB",
		       (unsigned long long)windows[i].own, windows[i].mark,
		       (unsigned long long)windows[i].filled, windows[i].end >> 20);
		own += windows[i].own && windows[i].filled;
	}
	printf(", %llu of others or poison\n", (unsigned long long)wrong);
	return wrong || own < (uint64_t)nr ? 1 : 0;
}
