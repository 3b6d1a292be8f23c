/* SPDX-License-Identifier: MIT */
/* The connection to the agent. Private to libvgpu. */
#ifndef LIBVGPU_CLIENT_H
#define LIBVGPU_CLIENT_H

#include "vgpu.h"

struct json_object;

#define VGPU_PUBLIC __attribute__((visibility("default")))

/*
 * Sends a request, which it puts, and waits for the answer. 0 and the answer,
 * to be put; or the agent's errno, or why it could not be asked.
 */
int agent_ask(struct vgpu_agent *agent, struct json_object *request,
	      struct json_object **answer);

#endif /* LIBVGPU_CLIENT_H */
