// SPDX-License-Identifier: MIT
/*
 * Lasting files: they may still exist when the engine has closed them, as other processes may have
 * them open or mapped.
 *
 * An epoll instance holds no reference of the files in it. The kernel removes a file from the
 * instance when the file's last reference is dropped, in any process, just before the driver's
 * ->release (eventpoll_release() in __fput()). So the instance tells which files still exist,
 * without any wait for events: /proc/self/fdinfo lists them (ep_show_fdinfo()).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/lasting.h"
#include "shared/proto.h"

static int instance = -1;
static uint64_t last_tag;
/* Tags of the files that existed at the last lasting_look(), in rising order. */
static uint64_t *tags;
static size_t nr_tags, max_tags;
/* True if the last lasting_look() has failed: each file may exist then. */
static bool unknown;

int lasting_add(int file, uint64_t *tag)
{
	struct epoll_event event = { .data.u64 = ++last_tag };

	if (instance < 0)
		instance = epoll_create1(EPOLL_CLOEXEC);
	if (instance < 0 || epoll_ctl(instance, EPOLL_CTL_ADD, file, &event))
		return -errno;
	*tag = last_tag;
	return 0;
}

static FILE *list_open(void)
{
	char path[32];
	FILE *list;
	int fd;

	snprintf(path, sizeof(path), "self/fdinfo/%d", instance);
	fd = openat(ENGINE_FD_PROC, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	list = fdopen(fd, "r");
	if (!list)
		close(fd);
	return list;
}

static int tag_compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/* Remember the tag of a file that exists. Return: false if there is no memory. */
static bool tag_found(uint64_t tag)
{
	if (nr_tags == max_tags) {
		size_t max = max_tags ? 2 * max_tags : 64;
		uint64_t *more = reallocarray(tags, max, sizeof(*tags));

		if (!more)
			return false;
		tags = more;
		max_tags = max;
	}
	tags[nr_tags++] = tag;
	return true;
}

void lasting_look(void)
{
	char *line = NULL;
	size_t size = 0;
	uint64_t tag;
	FILE *list;

	nr_tags = 0;
	unknown = false;
	if (instance < 0)
		return;
	list = list_open();
	unknown = !list;
	if (!list)
		return;
	while (!unknown && getline(&line, &size, list) > 0)
		if (sscanf(line, "tfd: %*d events: %*x data: %" SCNx64, &tag) == 1)
			unknown = !tag_found(tag);
	unknown |= !feof(list);
	free(line);
	fclose(list);
	if (nr_tags)
		qsort(tags, nr_tags, sizeof(*tags), tag_compare);
}

bool lasting_has(uint64_t tag)
{
	return unknown || (nr_tags && bsearch(&tag, tags, nr_tags, sizeof(*tags), tag_compare));
}
