// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "users.h"

/* A user whose group nobody has named gets this one, nogroup. */
#define NO_GROUP	65534

/* The files list users; systems whose /usr is read-only have their own in the second one. */
static const char *const files[] = { "/etc/passwd", "/usr/lib/passwd" };

/*
 * Finds a user's line, by @name or, if that is NULL, by @uid; it is valid until the next call.
 * Return: 0, -ENOENT if there is none, or why that cannot be known.
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

/* Return: all of @text is a number that can be an id. */
static bool parse_id(const char *text, uint32_t *id)
{
	unsigned long long number;

	if (!number_parse(text, &number) || number >= UINT32_MAX)
		return false;
	*id = number;
	return true;
}

int user_find(const char *name, uint32_t *uid, uint32_t *gid)
{
	const struct passwd *user;
	char copy[32], *colon;
	int ret;

	if (!isdigit((unsigned char)name[0])) {
		ret = user_line(name, 0, &user);
		if (!ret) {
			*uid = user->pw_uid;
			*gid = user->pw_gid;
		}
		return ret;
	}
	if (strlen(name) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, name);
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	if (!parse_id(copy, uid) || (colon && !parse_id(colon + 1, gid)))
		return -EINVAL;
	if (colon)
		return 0;
	ret = user_line(NULL, *uid, &user);
	if (!ret)
		*gid = user->pw_gid;
	else if (ret == -ENOENT)
		*gid = NO_GROUP;
	return ret == -ENOENT ? 0 : ret;
}

void user_name(uint32_t uid, char name[40])
{
	const struct passwd *user;

	if (!user_line(NULL, uid, &user))
		snprintf(name, 40, "%s", user->pw_name);
	else
		snprintf(name, 40, "%" PRIu32, uid);
}
