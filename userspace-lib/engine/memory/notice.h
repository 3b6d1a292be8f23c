/* SPDX-License-Identifier: MIT */
/* Messages to the guest about the window, and a record of UNBIND messages: see notice.c. */
#ifndef ENGINE_NOTICE_H
#define ENGINE_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

struct eshadow_bind;

/**
 * struct unbind - an UNBIND message of the guest, one of the last UNBINDS
 * @seq: number of the message; 0: the entry is free
 * @window: number of the window that the message names
 * @offset: place of the range in the window, in bytes
 * @len: length of the range in bytes
 */
struct unbind {
	uint64_t seq;
	uint64_t window;
	uint64_t offset;
	uint64_t len;
};

/* Remember a message in place of the oldest one. */
void unbind_note(const struct unbind *unbind);
/*
 * Return: true if the guest has given a range of the BIND back after it had sent the BIND. Calls
 * and UNBIND messages come by different connections, and the guest would not give the range back
 * a second time.
 */
bool unbind_since(const struct eshadow_bind *bind);

/* Tell the guest the size of its window in bytes; 0: the window is gone. */
void notice_window(uint64_t id, uint64_t size);
/* Send a struct vgpu_window_part. */
void notice_part(uint16_t type, uint64_t window, uint64_t offset, uint64_t len);

#endif /* ENGINE_NOTICE_H */
