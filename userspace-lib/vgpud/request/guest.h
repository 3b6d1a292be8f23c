/* SPDX-License-Identifier: MIT */
/* Requests about guests by name. */
#ifndef VGPUD_REQUEST_GUEST_H
#define VGPUD_REQUEST_GUEST_H

struct json_object;

/* Tell which guest has a name. Return: the answer. */
struct json_object *request_guest(struct json_object *request);
/* End a guest's connection, with all that the guest has. @who: see request_limit(). */
struct json_object *request_evict(struct json_object *request, const char *who);

#endif /* VGPUD_REQUEST_GUEST_H */
