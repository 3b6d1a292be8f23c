/* SPDX-License-Identifier: MIT */
/* Sessions: how the shadows of the guest's processes come and go. */
#ifndef ENGINE_SESSION_H
#define ENGINE_SESSION_H

#include <stdint.h>

/*
 * Use the connection @fd to the shadow of a new session; -1: the connection was lost. @fd becomes
 * the session's.
 */
void session_add(uint64_t number, int fd);
/* Tell the shadow of a session that the guest has unmapped [addr, addr + len). */
void session_unmap(uint64_t number, uint64_t addr, uint64_t len);
/* Note that the guest has closed the session: its shadow ends with the last lane, or soon. */
void session_close(uint64_t number);
/* Tell vgpud that a session has ended, unless it is there. */
void session_check(uint64_t number);

#endif /* ENGINE_SESSION_H */
