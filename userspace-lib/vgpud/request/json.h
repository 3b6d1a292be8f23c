/* SPDX-License-Identifier: MIT */
/* Members of the JSON objects of requests and answers. */
#ifndef VGPUD_JSON_H
#define VGPUD_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct answer;

/*
 * Make a value. Return: the value; NULL if there is no memory. All functions below take NULL for an
 * object or an array as well. What is lost for lack of memory is remembered until json_text().
 */
struct json_object *json_make_object(void);
struct json_object *json_make_array(void);
struct json_object *json_make_string(const char *text);
struct json_object *json_make_number(uint64_t value);

/* Add a value to an array, or a member to an object, which takes the caller's reference. */
void json_append(struct json_object *array, struct json_object *value);
/* A @value that is NULL becomes the value null. */
void json_put(struct json_object *object, const char *key, struct json_object *value);
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
/*
 * Return the text of an answer, or of an error if anything of the answer was lost. @answer: NULL if
 * all of it was lost. The text is valid as long as the answer.
 */
const char *json_text(struct json_object *answer);

#endif /* VGPUD_JSON_H */
