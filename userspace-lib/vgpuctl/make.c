// SPDX-License-Identifier: MIT
/* JSON objects that vgpuctl prints, of which no part is missing. */
#include <stdlib.h>

#include "shared/json.h"
#include "make.h"
#include "vgpuctl.h"

static struct json_object *made(struct json_object *value)
{
	if (!value)
		end_without_memory();
	return value;
}

struct json_object *make_object(void)
{
	return made(json_object_new_object());
}

struct json_object *make_array(void)
{
	return made(json_object_new_array());
}

struct json_object *make_string(const char *text)
{
	return made(json_object_new_string(text));
}

struct json_object *make_number(int64_t number)
{
	return made(json_object_new_int64(number));
}

struct json_object *make_unsigned(uint64_t number)
{
	return made(json_object_new_uint64(number));
}

struct json_object *make_double(double number)
{
	return made(json_object_new_double(number));
}

struct json_object *make_bool(bool is_true)
{
	return made(json_object_new_boolean(is_true));
}

void make_member(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add_ex(object, key, value, JSON_C_OBJECT_KEY_IS_CONSTANT)) {
		json_object_put(value);
		end_without_memory();
	}
}

void make_element(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, value)) {
		json_object_put(value);
		end_without_memory();
	}
}

void make_print(FILE *to, struct json_object *value, int flags)
{
	const char *text = json_print(value, flags);

	if (!text)
		end_without_memory();
	fprintf(to, "%s\n", text);
	json_object_put(value);
}
