// SPDX-License-Identifier: MIT
/* Users and groups of the host, from files. */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/users.h"
#include "shared/number.h"

/* Group of a user that is given by number and is in no file: nogroup. */
#define NO_GROUP	65534

/* Files that list users. Systems with a read-only /usr have their own users in the second one. */
static const char *const files[] = { "/etc/passwd", "/usr/lib/passwd" };

static const char *const group_files[] = { "/etc/group", "/usr/lib/group" };

/* Users as which libvirt runs QEMU, by distribution. */
static const char *const qemu_users[] = { "libvirt-qemu", "qemu", "qemu-libvirtd" };

/*
 * Find the entry of a user by @name, or by @uid if @name is NULL. The entry is valid until the
 * next call. Return: 0; -ENOENT; or the error of reading a file.
 */
static int user_line(const char *name, uint32_t uid, const struct passwd **user)
{
	FILE *file;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		file = fopen(files[i], "re");
		if (!file && errno == ENOENT)
			continue;
		if (!file)
			return -errno;
		do {
			*user = fgetpwent(file);
		} while (*user &&
			 (name ? strcmp((*user)->pw_name, name) != 0 : (*user)->pw_uid != uid));
		fclose(file);
		if (*user)
			return 0;
	}
	return -ENOENT;
}

int user_find(const char *name, uint32_t *uid, uint32_t *gid)
{
	const struct passwd *user;
	bool has_group;
	int ret;

	if (!isdigit((unsigned char)name[0])) {
		ret = user_line(name, 0, &user);
		if (!ret) {
			*uid = user->pw_uid;
			*gid = user->pw_gid;
		}
		return ret;
	}
	if (!number_parse_ids(name, uid, gid, &has_group))
		return -EINVAL;
	if (has_group)
		return 0;
	ret = user_line(NULL, *uid, &user);
	if (!ret)
		*gid = user->pw_gid;
	else if (ret == -ENOENT)
		*gid = NO_GROUP;
	return ret == -ENOENT ? 0 : ret;
}

int user_find_owner(const char *owner, uint32_t *uid, uint32_t *gid)
{
	size_t i;
	int ret;

	if (owner && *owner)
		return user_find(owner, uid, gid);
	for (i = 0; i < sizeof(qemu_users) / sizeof(qemu_users[0]); i++) {
		ret = user_find(qemu_users[i], uid, gid);
		if (ret != -ENOENT)
			return ret;
	}
	*uid = 0;
	*gid = 0;
	return 0;
}

/*
 * Find the entry of a group by @name, or by @gid if @name is NULL. The entry is valid until the
 * next call. Return: 0; -ENOENT; or the error of reading a file.
 */
static int group_line(const char *name, uint32_t gid, const struct group **group)
{
	FILE *file;
	size_t i;

	for (i = 0; i < sizeof(group_files) / sizeof(group_files[0]); i++) {
		file = fopen(group_files[i], "re");
		if (!file && errno == ENOENT)
			continue;
		if (!file)
			return -errno;
		do {
			*group = fgetgrent(file);
		} while (*group &&
			 (name ? strcmp((*group)->gr_name, name) != 0 : (*group)->gr_gid != gid));
		fclose(file);
		if (*group)
			return 0;
	}
	return -ENOENT;
}

/* Check whether a group is the main group of a user. Return: 1, 0 or a negative errno. */
static int is_main_group(uint32_t gid)
{
	const struct passwd *user = NULL;
	bool is = false;
	FILE *file;
	size_t i;

	for (i = 0; !is && i < sizeof(files) / sizeof(files[0]); i++) {
		file = fopen(files[i], "re");
		if (!file && errno == ENOENT)
			continue;
		if (!file)
			return -errno;
		while (!is && (user = fgetpwent(file)))
			is = user->pw_gid == gid;
		fclose(file);
	}
	return is;
}

int group_find(const char *name, uint32_t *gid, bool *has_members)
{
	const bool by_name = !isdigit((unsigned char)name[0]);
	const struct group *group;
	bool has_second;
	uint32_t second;
	int ret;

	if (!by_name && (!number_parse_ids(name, gid, &second, &has_second) || has_second))
		return -EINVAL;
	ret = group_line(by_name ? name : NULL, by_name ? 0 : *gid, &group);
	if (ret && (by_name || ret != -ENOENT))
		return ret;
	if (!ret)
		*gid = group->gr_gid;
	*has_members = !ret && group->gr_mem[0];
	if (*has_members)
		return 0;
	ret = is_main_group(*gid);
	*has_members = ret > 0;
	return ret < 0 ? ret : 0;
}

void user_name(uint32_t uid, char name[40])
{
	const struct passwd *user;

	if (!user_line(NULL, uid, &user))
		snprintf(name, 40, "%s", user->pw_name);
	else
		snprintf(name, 40, "%" PRIu32, uid);
}
