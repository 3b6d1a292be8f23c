/* SPDX-License-Identifier: MIT */
/* Requests for what there is: exports, guests and windows. */
#ifndef VGPUD_STATUS_H
#define VGPUD_STATUS_H

#include <stdbool.h>

struct json_object;

/* Describe the exports. Return: the answer. */
struct json_object *request_list(void);
/* Describe exports, guests and windows. @programs: true to name the guests' programs as well. */
struct json_object *request_status(bool programs);

#endif /* VGPUD_STATUS_H */
