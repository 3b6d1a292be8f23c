/* SPDX-License-Identifier: MIT */
/* Requests about limits of guests. */
#ifndef VGPUD_REQUEST_LIMIT_H
#define VGPUD_REQUEST_LIMIT_H

struct json_object;

/* Tell the limits of a guest, and what the guest uses. Return: the answer. */
struct json_object *request_limits(struct json_object *request);
/* Change limits of a guest. @who: description of the user for the log. Return: the answer. */
struct json_object *request_limit(struct json_object *request, const char *who);

#endif /* VGPUD_REQUEST_LIMIT_H */
