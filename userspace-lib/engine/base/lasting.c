// SPDX-License-Identifier: MIT
/*
 * Files that other processes may still have when the engine has closed them.
 *
 * An epoll instance holds no reference of the files in it. The kernel removes a file when the
 * file's last reference is dropped, in whatever process, just before the driver's ->release
 * (eventpoll_release() in __fput()). So an epoll instance tells which files still exist, without
 * any wait for events: /proc/self/fdinfo lists them (ep_show_fdinfo()).
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

ssize_t lasting_tags(uint64_t **tags)
{
	size_t nr = 0, max = 0, size = 0;
	uint64_t *found = NULL, tag;
	char *line = NULL;
	int err = 0;
	FILE *list;

	*tags = NULL;
	if (instance < 0)
		return 0;
	list = list_open();
	if (!list)
		return -errno;
	while (getline(&line, &size, list) > 0) {
		if (sscanf(line, "tfd: %*d events: %*x data: %" SCNx64, &tag) != 1)
			continue;
		if (nr == max) {
			uint64_t *more = reallocarray(found, max ? 2 * max : 64, sizeof(*found));

			err = more ? 0 : ENOMEM;
			if (err)
				break;
			max = max ? 2 * max : 64;
			found = more;
		}
		found[nr++] = tag;
	}
	if (!err && !feof(list))
		err = EIO;
	free(line);
	fclose(list);
	if (err) {
		free(found);
		return -err;
	}
	if (nr)
		qsort(found, nr, sizeof(*found), tag_compare);
	*tags = found;
	return nr;
}

bool lasting_has(const uint64_t *tags, size_t nr, uint64_t tag)
{
	return nr && bsearch(&tag, tags, nr, sizeof(*tags), tag_compare);
}
