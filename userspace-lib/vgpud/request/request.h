/* SPDX-License-Identifier: MIT */
/* Requests on the control socket. */
#ifndef VGPUD_REQUEST_H
#define VGPUD_REQUEST_H

#include <stdbool.h>

struct json_object;

/*
 * Run a request. @may_change: true if the request comes from root; @who: description of the
 * user for the log. Return: the answer.
 */
struct json_object *request_run(struct json_object *request, bool may_change, const char *who);

#endif /* VGPUD_REQUEST_H */
