/* SPDX-License-Identifier: MIT */
/* Requests: what the lanes of a shadow ask the engine for. */
#ifndef ENGINE_REQUEST_H
#define ENGINE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/proto.h"

struct shadow;

/* Data that follows the struct eshadow_msg of some requests; request_more() tells the length. */
union more {
	struct eshadow_bind bind;
	struct eshadow_memory memory;
};

/* Return: length in bytes of the union more that follows requests of this type; 0: none. */
size_t request_more(uint32_t type);
/* Return: true if a file may come with requests of this type. */
bool request_has_file(uint32_t type);
/* Handle a request. @fd: file that came with the request, or -1. */
void request_handle(struct shadow *shadow, const struct eshadow_msg *msg, const union more *more,
		    int fd);

#endif /* ENGINE_REQUEST_H */
