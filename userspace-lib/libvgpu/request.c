// SPDX-License-Identifier: MIT
/* Requests to the host's agent: the JSON objects of them. */
#include <json-c/json.h>
#include <stddef.h>

#include "request.h"

/* json-c ends the program if an object or an array is NULL, so such are not passed on. */

void request_put(struct request *request, struct json_object *object, const char *key,
		 struct json_object *value)
{
	if (object && value && !json_object_object_add(object, key, value))
		return;
	request->lost = true;
	json_object_put(value);
}

void request_append(struct request *request, struct json_object *array, struct json_object *value)
{
	if (array && value && !json_object_array_add(array, value))
		return;
	request->lost = true;
	json_object_put(value);
}

struct request request_new(const char *op)
{
	struct request request = { .object = json_object_new_object() };

	request_string(&request, "op", op);
	return request;
}

/* Add a member of the request itself. json-c would lose a copy of the key if it had no memory. */
static void put(struct request *request, const char *key, struct json_object *value)
{
	if (request->object && value &&
	    !json_object_object_add_ex(request->object, key, value, JSON_C_OBJECT_KEY_IS_CONSTANT))
		return;
	request->lost = true;
	json_object_put(value);
}

void request_string(struct request *request, const char *key, const char *value)
{
	if (value)
		put(request, key, json_object_new_string(value));
}

void request_number(struct request *request, const char *key, uint64_t value)
{
	if (value)
		put(request, key, json_object_new_int64(value));
}

void request_bool(struct request *request, const char *key, bool value)
{
	if (value)
		put(request, key, json_object_new_boolean(value));
}
