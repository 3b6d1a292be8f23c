/* SPDX-License-Identifier: MIT */
/* Messages to the guest about its window. */
#ifndef ENGINE_NOTICE_H
#define ENGINE_NOTICE_H

#include <stdint.h>

/* Tell the guest the size of its window in bytes; 0: the window is gone. */
void notice_window(uint64_t id, uint64_t size);
/* Send a struct vgpu_window_part. */
void notice_part(uint16_t type, uint64_t window, uint64_t offset, uint64_t len);

#endif /* ENGINE_NOTICE_H */
