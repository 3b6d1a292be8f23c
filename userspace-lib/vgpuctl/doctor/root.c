// SPDX-License-Identifier: MIT
/* Files of the system that is examined. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vgpuctl/doctor/root.h"
#include "vgpuctl/make.h"

#define READ_MAX	(4UL << 20)

int root_init(struct root *root, const char *path)
{
	root->path = path ? path : "";
	root->fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root->fd < 0 ? -errno : 0;
}

void root_exit(struct root *root)
{
	close(root->fd);
}

int root_open(const struct root *root, const char *path, int flags)
{
	struct open_how how = {
		/* O_NONBLOCK keeps a FIFO from making doctor wait for its other end. */
		.flags = flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd = syscall(SYS_openat2, root->fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int root_stat(const struct root *root, const char *path, struct stat *st)
{
	int fd = root_open(root, path, O_PATH), ret;

	if (fd < 0)
		return fd;
	ret = fstat(fd, st) ? -errno : 0;
	close(fd);
	return ret;
}

bool root_exists(const struct root *root, const char *path)
{
	int fd = root_open(root, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

DIR *root_dir(const struct root *root, const char *path)
{
	int fd = root_open(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

char *root_read(const struct root *root, const char *path, size_t *size)
{
	size_t len = 0, room = 4096;
	int fd = root_open(root, path, O_RDONLY);
	char *text, *more;
	ssize_t got = -1;
	struct stat st;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	text = malloc(room);
	if (!text)
		end_without_memory();
	/* Only regular files are read, as reading from a device may do something. */
	while (text && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		got = read(fd, text + len, room - 1 - len);
		if (got <= 0)
			break;
		len += got;
		if (len < room - 1)
			continue;
		if (room >= READ_MAX)
			break;
		more = realloc(text, room * 2);
		if (!more)
			end_without_memory();
		text = more;
		room *= 2;
	}
	close(fd);
	if (got < 0) {
		free(text);
		errno = EIO;
		return NULL;
	}
	text[len] = '\0';
	if (size)
		*size = len;
	return text;
}

bool root_line(const struct root *root, const char *path, char line[256])
{
	char *text = root_read(root, path, NULL);
	bool done = text;

	snprintf(line, 256, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
	return done;
}

bool root_link(const struct root *root, const char *path, char target[256])
{
	int fd = root_open(root, path, O_PATH | O_NOFOLLOW);
	ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, 255);

	if (fd >= 0)
		close(fd);
	target[len > 0 ? len : 0] = '\0';
	return len > 0;
}

bool text_has_line(const char *text, const char *key, const char *word)
{
	size_t len = strlen(word);
	const char *line, *at;

	for (line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\n");
		if (strncmp(line, key, strlen(key)))
			continue;
		at = line + strlen(key);
		if (!strspn(at, " \t="))
			continue;
		at += strspn(at, " \t=");
		if (!strncmp(at, word, len) && (!at[len] || strchr(" \t\n", at[len])))
			return true;
	}
	return false;
}
