/* SPDX-License-Identifier: MIT */
/* What requests on the control socket do. */
#ifndef VGPUD_REQUEST_H
#define VGPUD_REQUEST_H

#include <stdbool.h>

struct json_object;

/*
 * Does one request; may_change: it comes from root; who: in words, for the log. Returns the
 * answer.
 */
struct json_object *request_run(struct json_object *request, bool may_change, const char *who);

#endif /* VGPUD_REQUEST_H */
