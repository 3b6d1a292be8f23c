/* SPDX-License-Identifier: MIT */
/*
 * JSON objects that vgpuctl prints. If there is no memory for a part of one, vgpuctl ends, because
 * a reader could not tell that the part is missing.
 */
#ifndef VGPUCTL_MAKE_H
#define VGPUCTL_MAKE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

/* Say that there is no memory, and end vgpuctl with EXIT_FAILED. */
void end_without_memory(void) __attribute__((noreturn));

struct json_object *make_object(void);
struct json_object *make_array(void);
struct json_object *make_string(const char *text);
struct json_object *make_number(int64_t number);
struct json_object *make_unsigned(uint64_t number);
struct json_object *make_double(double number);
struct json_object *make_bool(bool is_true);
/* Add a member. @key: stays valid; @value: NULL: null, as unknown and missing values are. */
void make_member(struct json_object *object, const char *key, struct json_object *value);
void make_element(struct json_object *array, struct json_object *value);
/* Print a value and a newline, and free the value. @flags: JSON_C_TO_STRING_* */
void make_print(FILE *to, struct json_object *value, int flags);

#endif /* VGPUCTL_MAKE_H */
