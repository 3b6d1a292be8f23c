/* SPDX-License-Identifier: MIT */
/* Request for counters of guests, by export and program. */
#ifndef VGPUD_METRICS_H
#define VGPUD_METRICS_H

#include <stdbool.h>

struct json_object;

/*
 * Describe the counters of all guests that the host remembers. @programs: true to name the guests'
 * programs as well. Return: the answer.
 */
struct json_object *request_metrics(bool programs);

#endif /* VGPUD_METRICS_H */
