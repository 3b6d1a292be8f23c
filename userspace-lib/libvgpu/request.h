/* SPDX-License-Identifier: MIT */
/*
 * Requests to the host's agent; private to libvgpu. A request that lacks a member for which there
 * was no memory might be another request, such as an export that may be written to. It is not sent.
 */
#ifndef LIBVGPU_REQUEST_H
#define LIBVGPU_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct vgpu_agent;

/**
 * struct request - a request that is being made
 * @object: JSON object of the request; NULL: no memory
 * @lost: true if there was no memory for a part of the request
 */
struct request {
	struct json_object *object;
	bool lost;
};

/* Begin a request. agent_ask() ends it. */
struct request request_new(const char *op);

/*
 * Add a member, or do nothing if it is NULL, 0 or false, which is what the agent takes a missing
 * member for. @key: a literal.
 */
void request_string(struct request *request, const char *key, const char *value);
void request_number(struct request *request, const char *key, uint64_t value);
void request_bool(struct request *request, const char *key, bool value);

/*
 * Add a member to @object, which is part of the request. @key is copied. @value: NULL: no memory.
 */
void request_put(struct request *request, struct json_object *object, const char *key,
		 struct json_object *value);
/* Add an element to @array, which is part of the request. @value: NULL: no memory. */
void request_append(struct request *request, struct json_object *array, struct json_object *value);

/*
 * Send a request and wait for the answer. The request is freed in any case. The caller frees the
 * answer (json_object_put()). Return: 0 and the answer; or the agent's error; or an error of the
 * connection; or -ENOMEM, with a message in @agent.
 */
int agent_ask(struct vgpu_agent *agent, struct request *request, struct json_object **answer);

#endif /* LIBVGPU_REQUEST_H */
