/* SPDX-License-Identifier: MIT */
/* Requests that change exports. */
#ifndef VGPUD_REQUEST_EXPORT_H
#define VGPUD_REQUEST_EXPORT_H

struct json_object;

/* Run a request. @who: description of the user for the log. Return: the answer. */
struct json_object *request_export(struct json_object *request, const char *who);
struct json_object *request_unexport(struct json_object *request, const char *who);

#endif /* VGPUD_REQUEST_EXPORT_H */
