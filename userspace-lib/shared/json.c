// SPDX-License-Identifier: MIT
/* JSON as text: no member is missing without a word if there is no memory. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "shared/json.h"

/*
 * json-c resets errno when it reads a number, before it allocates: so errno is looked at after each
 * byte.
 */
struct json_object *json_parse(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *value = NULL;
	bool missing = false;

	if (!tokener) {
		errno = ENOMEM;
		return NULL;
	}
	do {
		errno = 0;
		value = json_tokener_parse_ex(tokener, text, 1);
		missing |= errno == ENOMEM;
	} while (!value && json_tokener_get_error(tokener) == json_tokener_continue && *text++);
	json_tokener_free(tokener);
	if (missing) {
		json_object_put(value);
		value = NULL;
	}
	errno = missing ? ENOMEM : 0;
	return value;
}

const char *json_print(struct json_object *value, int flags)
{
	const char *text;

	errno = 0;
	text = json_object_to_json_string_ext(value, flags);
	return errno == ENOMEM ? NULL : text;
}
