// SPDX-License-Identifier: MIT
/* Members of the JSON objects of requests and answers. */
#include "request/json.h"

void json_put_string(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, value ? json_object_new_string(value) : NULL);
}

void json_put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void json_put_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
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

	return json_object_object_get_ex(request, key, &value) && json_object_get_boolean(value);
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
	struct json_object *answer = json_object_new_object();

	json_put_bool(answer, "ok", false);
	json_put_number(answer, "errno", -error);
	json_put_string(answer, "message", message);
	return answer;
}

struct json_object *answer_ok(void)
{
	struct json_object *answer = json_object_new_object();

	json_put_bool(answer, "ok", true);
	return answer;
}
