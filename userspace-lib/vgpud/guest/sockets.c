// SPDX-License-Identifier: MIT
/*
 * Sockets of guests' connections that others have: how many are open, and the bytes of their large
 * buffers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "guest/sockets.h"
#include "shared/loop.h"

/*
 * A count reads a line for each socket of the guest. So that no guest can occupy vgpud, there is
 * one count for each 1/COUNT_PART of the guest's sockets that are added, or one after COUNT_MS
 * milliseconds.
 */
#define COUNT_PART	64
#define COUNT_MS	1000

/* List of the sockets of all guests, and their sums. */
static LIST_HEAD(, sockets) all = LIST_HEAD_INITIALIZER(all);
static unsigned int all_nr;
static uint64_t all_bytes;

int sockets_open(struct sockets *sockets)
{
	*sockets = (struct sockets){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	if (sockets->epoll_fd < 0)
		return -errno;
	LIST_INSERT_HEAD(&all, sockets, node);
	return 0;
}

static void sockets_set(struct sockets *sockets, unsigned int nr, uint64_t bytes)
{
	all_nr += nr - sockets->nr;
	all_bytes += bytes - sockets->bytes;
	sockets->nr = nr;
	sockets->bytes = bytes;
}

void sockets_close(struct sockets *sockets)
{
	sockets_set(sockets, 0, 0);
	LIST_REMOVE(sockets, node);
	close(sockets->epoll_fd);
}

/* Count the sockets that are open. If that fails, the old numbers stay, which are no smaller. */
static void sockets_count(struct sockets *sockets)
{
	unsigned int nr = 0;
	uint64_t bytes = 0;
	char path[48], line[256], *data;
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", sockets->epoll_fd);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "tfd:", 4))
			continue;
		nr++;
		data = strstr(line, "data:");
		bytes += data ? strtoull(data + 5, NULL, 16) : 0;
	}
	ok = !ferror(file);
	fclose(file);
	if (!ok)
		return;
	sockets_set(sockets, nr, bytes);
	sockets->added = 0;
	sockets->counted_ms = now_ms();
}

void sockets_adopt(struct sockets *sockets, int epoll_fd)
{
	*sockets = (struct sockets){ .epoll_fd = epoll_fd };
	LIST_INSERT_HEAD(&all, sockets, node);
	sockets_count(sockets);
}

/* Count the sockets of a guest, unless they were counted a short time ago. */
static void sockets_review(struct sockets *sockets)
{
	if (sockets->added > sockets->nr / COUNT_PART ||
	    now_ms() - sockets->counted_ms >= COUNT_MS)
		sockets_count(sockets);
}

static void sockets_review_all(void)
{
	struct sockets *sockets;

	LIST_FOREACH(sockets, &all, node)
		sockets_review(sockets);
}

int sockets_add(struct sockets *sockets, int fd, unsigned int most, unsigned int all_most)
{
	struct epoll_event event = { 0 };

	if (sockets->nr >= most)
		sockets_review(sockets);
	if (all_nr >= all_most)
		sockets_review_all();
	if (sockets->nr >= most || all_nr >= all_most)
		return -EMFILE;
	if (epoll_ctl(sockets->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	sockets->added++;
	sockets_set(sockets, sockets->nr + 1, sockets->bytes);
	return 0;
}

static bool bytes_fit(uint64_t used, uint64_t bytes, uint64_t most)
{
	return bytes <= most && used <= most - bytes;
}

int sockets_charge(struct sockets *sockets, int fd, uint64_t bytes, uint64_t most,
		   uint64_t all_most)
{
	struct epoll_event event = { .data.u64 = bytes };

	if (!bytes_fit(sockets->bytes, bytes, most))
		sockets_review(sockets);
	if (!bytes_fit(all_bytes, bytes, all_most))
		sockets_review_all();
	if (!bytes_fit(sockets->bytes, bytes, most) || !bytes_fit(all_bytes, bytes, all_most))
		return -ENOBUFS;
	if (epoll_ctl(sockets->epoll_fd, EPOLL_CTL_MOD, fd, &event))
		return -errno;
	sockets_set(sockets, sockets->nr, sockets->bytes + bytes);
	return 0;
}
