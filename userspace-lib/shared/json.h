/* SPDX-License-Identifier: MIT */
/* JSON as text. json-c leaves out what it has no memory for, and tells by errno only. */
#ifndef SHARED_JSON_H
#define SHARED_JSON_H

#include <json-c/json.h>

/*
 * Parse a text. Return: the value, to be freed (json_object_put()); NULL: the text is no JSON, or
 * there is no memory for all of it; errno is ENOMEM then.
 */
struct json_object *json_parse(const char *text);

/*
 * Return the text of a value, which is valid as long as the value; NULL: there is no memory for all
 * of it. @flags: JSON_C_TO_STRING_*
 */
const char *json_print(struct json_object *value, int flags);

#endif /* SHARED_JSON_H */
