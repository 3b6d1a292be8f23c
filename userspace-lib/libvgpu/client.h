/* SPDX-License-Identifier: MIT */
/* Connection to the host's agent; private to libvgpu. */
#ifndef LIBVGPU_CLIENT_H
#define LIBVGPU_CLIENT_H

#include "vgpu.h"

struct json_object;

#define VGPU_PUBLIC __attribute__((visibility("default")))

/*
 * Send a request and wait for the answer. The request is freed in any case (json_object_put()).
 * The caller frees the answer. Return: 0 and the answer; or the agent's error; or an error of the
 * connection.
 */
int agent_ask(struct vgpu_agent *agent, struct json_object *request,
	      struct json_object **answer);

#endif /* LIBVGPU_CLIENT_H */
