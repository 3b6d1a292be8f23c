// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "users.h"

/* Of a user whose group nobody has named: nogroup. */
#define NO_GROUP	65534

/* The line of a user, by @name or, if that is NULL, by @uid; valid until the next call. */
static const struct passwd *user_line(const char *name, uint32_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;

	if (!file)
		return NULL;
	do {
		user = fgetpwent(file);
	} while (user && (name ? strcmp(user->pw_name, name) != 0 : user->pw_uid != uid));
	fclose(file);
	return user;
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

bool user_find(const char *name, uint32_t *uid, uint32_t *gid)
{
	const struct passwd *user;
	char copy[32], *colon;

	if (!isdigit((unsigned char)name[0])) {
		user = user_line(name, 0);
		if (user) {
			*uid = user->pw_uid;
			*gid = user->pw_gid;
		}
		return user;
	}
	if (strlen(name) >= sizeof(copy))
		return false;
	strcpy(copy, name);
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	if (!parse_id(copy, uid))
		return false;
	if (colon)
		return parse_id(colon + 1, gid);
	user = user_line(NULL, *uid);
	*gid = user ? user->pw_gid : NO_GROUP;
	return true;
}

void user_name(uint32_t uid, char name[40])
{
	const struct passwd *user = user_line(NULL, uid);

	if (user)
		snprintf(name, 40, "%s", user->pw_name);
	else
		snprintf(name, 40, "%" PRIu32, uid);
}
