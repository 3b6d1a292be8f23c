// SPDX-License-Identifier: MIT
/* Members of the JSON objects of requests and answers. */
#include <errno.h>
#include <string.h>

#include "base/answer.h"
#include "request/json.h"
#include "shared/json.h"

/* Types of members: SIZE is a number of bytes, ID a CID or port, and CARD a number or true. */
enum type { TEXT, BOOL, SIZE, ID, CARD, ARRAY, OBJECT, TYPES };

/* Table of all members that requests have. */
static const struct {
	const char *name;
	enum type type;
} members[] = {
	{ "op", TEXT }, { "path", TEXT }, { "name", TEXT }, { "profile", TEXT }, { "owner", TEXT },
	{ "master", BOOL }, { "no_demand", BOOL }, { "any_port", BOOL }, { "read_only", BOOL },
	{ "audit", BOOL }, { "now", BOOL }, { "force", BOOL }, { "drain", BOOL }, { "save", BOOL },
	{ "size", SIZE }, { "cid", ID }, { "port", ID }, { "nvidia", CARD }, { "guests", ARRAY },
	{ "set", OBJECT },
};

bool json_is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string) &&
	       strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

/* Check for a number from 0 to @max. */
static bool is_number(struct json_object *value, int64_t max)
{
	int64_t number = json_object_get_int64(value);

	return json_object_is_type(value, json_type_int) && number >= 0 && number <= max;
}

static bool is_of(struct json_object *value, enum type type)
{
	switch (type) {
	case TEXT:
		return json_is_text(value);
	case BOOL:
		return json_object_is_type(value, json_type_boolean);
	case SIZE:
		return is_number(value, INT64_MAX);
	case ID:
		return is_number(value, UINT32_MAX - 1);
	case CARD:
		return is_number(value, INT64_MAX) ||
		       (json_object_is_type(value, json_type_boolean) &&
			json_object_get_boolean(value));
	case ARRAY:
		return json_object_is_type(value, json_type_array);
	default:
		return json_object_is_type(value, json_type_object);
	}
}

int json_check(struct json_object *request, struct answer *words)
{
	static const char *const types[TYPES] = {
		[TEXT] = "a string without zero bytes", [BOOL] = "true or false",
		[SIZE] = "a number of bytes", [ID] = "a number from 0 to 4294967294",
		[CARD] = "the number of a card, or true", [ARRAY] = "an array",
		[OBJECT] = "an object",
	};
	struct json_object *value;
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (json_object_object_get_ex(request, members[i].name, &value) &&
		    !is_of(value, members[i].type))
			return answer_say(words, -EINVAL, "\"%s\" of the request is not %s",
					  members[i].name, types[members[i].type]);
	return 0;
}

/* json-c ends the program if an object or an array is NULL, so such are not passed on. */

/* True if a part of the answer that is being made was lost for lack of memory. */
static bool lost;

static struct json_object *made(struct json_object *value)
{
	lost |= !value;
	return value;
}

struct json_object *json_make_object(void)
{
	return made(json_object_new_object());
}

struct json_object *json_make_array(void)
{
	return made(json_object_new_array());
}

struct json_object *json_make_string(const char *text)
{
	return made(json_object_new_string(text));
}

struct json_object *json_make_number(uint64_t value)
{
	return made(json_object_new_int64(value));
}

void json_append(struct json_object *array, struct json_object *value)
{
	if (array && !json_object_array_add(array, value))
		return;
	lost = true;
	json_object_put(value);
}

void json_put(struct json_object *object, const char *key, struct json_object *value)
{
	/* json-c would copy the key, and lose the copy if it has no memory for the member. */
	if (object && !json_object_object_add_ex(object, key, value, JSON_C_OBJECT_KEY_IS_CONSTANT))
		return;
	lost = true;
	json_object_put(value);
}

void json_put_string(struct json_object *object, const char *key, const char *value)
{
	json_put(object, key, value ? json_make_string(value) : NULL);
}

void json_put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_put(object, key, made(json_object_new_int64(value)));
}

void json_put_bool(struct json_object *object, const char *key, bool value)
{
	json_put(object, key, made(json_object_new_boolean(value)));
}

const char *json_get_string(struct json_object *request, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(request, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

bool json_get_bool(struct json_object *request, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(request, key, &value) &&
	       json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

uint32_t json_get_number(struct json_object *request, const char *key)
{
	struct json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(request, key, &value))
		return 0;
	number = json_object_get_int64(value);
	return number < 1 || number >= UINT32_MAX ? 0 : number;
}

struct json_object *answer_error(int error, const char *message)
{
	struct json_object *answer = json_make_object();

	json_put_bool(answer, "ok", false);
	json_put_number(answer, "errno", -error);
	json_put_string(answer, "message", message);
	return answer;
}

struct json_object *answer_ok(void)
{
	struct json_object *answer = json_make_object();

	json_put_bool(answer, "ok", true);
	return answer;
}

const char *json_text(struct json_object *answer)
{
	static const char nothing[] = "{\"ok\":false,\"errno\":12,\"message\":\"out of memory for an answer: a change may have been made\"}";
	const char *text = json_print(answer, JSON_C_TO_STRING_PLAIN);

	if (lost || !answer || !text)
		text = nothing;
	lost = false;
	return text;
}
