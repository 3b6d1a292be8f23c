/* SPDX-License-Identifier: MIT */
/* Sessions: how the shadows of the guest's processes come and go. */
#ifndef ENGINE_SESSION_H
#define ENGINE_SESSION_H

#include <stdint.h>

void session_add(uint64_t number, int fd);
void session_unmap(uint64_t number, uint64_t addr, uint64_t len);
void session_close(uint64_t number);

#endif /* ENGINE_SESSION_H */
