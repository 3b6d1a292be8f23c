/* SPDX-License-Identifier: MIT */
/* Requests that change windows. */
#ifndef VGPUD_REQUEST_WINDOW_H
#define VGPUD_REQUEST_WINDOW_H

struct json_object;

/* Run a request. @who: description of the user for the log. Return: the answer. */
struct json_object *request_window_create(struct json_object *request, const char *who);
struct json_object *request_window_destroy(struct json_object *request, const char *who);
struct json_object *request_window_drain(struct json_object *request, const char *who);

#endif /* VGPUD_REQUEST_WINDOW_H */
