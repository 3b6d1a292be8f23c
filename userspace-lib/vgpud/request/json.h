/* SPDX-License-Identifier: MIT */
/* Members of the JSON objects of requests and answers. */
#ifndef VGPUD_JSON_H
#define VGPUD_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct answer;

/* Add a member to an object. A string that is NULL becomes the value null. */
void json_put_string(struct json_object *object, const char *key, const char *value);
void json_put_number(struct json_object *object, const char *key, uint64_t value);
void json_put_bool(struct json_object *object, const char *key, bool value);

/*
 * Check that each member of a request that vgpud knows has a value of its type. A member that is
 * not understood must not count as missing, which often means that more is allowed. Return: 0, or
 * -EINVAL with words in @words.
 */
int json_check(struct json_object *request, struct answer *words);
/* Check that a value is a string without a byte that is 0, which would end it early. */
bool json_is_text(struct json_object *value);

/* Return a string, or NULL if it is missing or of another type. */
const char *json_get_string(struct json_object *request, const char *key);
/* Return a value that is true or false; false if it is missing or of another type. */
bool json_get_bool(struct json_object *request, const char *key);
/* Return a CID or port, 1 to 2^32-2; 0 if it is missing or out of range. */
uint32_t json_get_number(struct json_object *request, const char *key);

/* Make the answer to a request that has failed with a negative errno. */
struct json_object *answer_error(int error, const char *message);
struct json_object *answer_ok(void);

#endif /* VGPUD_JSON_H */
