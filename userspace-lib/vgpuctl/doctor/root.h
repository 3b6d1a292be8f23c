/* SPDX-License-Identifier: MIT */
/*
 * Files of the system that is examined. Paths are absolute in that system, and no symbolic link
 * leads out of it: another system's image is not trusted.
 */
#ifndef VGPUCTL_DOCTOR_ROOT_H
#define VGPUCTL_DOCTOR_ROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/**
 * struct root - root directory of the system
 * @fd: fd of the directory
 * @path: path of the directory; "" for that of the running system
 */
struct root {
	int fd;
	const char *path;
};

/* Open the directory @path; NULL: that of the running system. Return: 0 or a negative errno. */
int root_init(struct root *root, const char *path);
void root_exit(struct root *root);
/* Return: true if this is the running system, whose device files and processes are real. */
static inline bool root_is_live(const struct root *root)
{
	return !*root->path;
}

/* Open a file or directory with @flags of open(). Return: an fd, or a negative errno. */
int root_open(const struct root *root, const char *path, int flags);
/* Return: 0 or a negative errno. */
int root_stat(const struct root *root, const char *path, struct stat *st);
bool root_exists(const struct root *root, const char *path);
DIR *root_dir(const struct root *root, const char *path);
/*
 * Read a file, up to 4 MiB of it; *@size is the number of bytes. Return: the content and a
 * terminating null byte, to be freed by free(); NULL, with errno set: it cannot be read.
 */
char *root_read(const struct root *root, const char *path, size_t *size);
/* Read the first line of a file. Return: false, and "", if it cannot be read. */
bool root_line(const struct root *root, const char *path, char line[256]);
/* Read the target of a symbolic link. Return: false, and "", if there is none. */
bool root_link(const struct root *root, const char *path, char target[256]);
/* Check whether a line of the text is @key, blanks or =, and the word @word. */
bool text_has_line(const char *text, const char *key, const char *word);

#endif /* VGPUCTL_DOCTOR_ROOT_H */
