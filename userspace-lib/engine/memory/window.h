/* SPDX-License-Identifier: MIT */
/* Mappings in the guest's window: see window.c. */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct eshadow_bind;
struct eshadow_msg;
struct shadow;
struct vgpu_window_part;

/**
 * window_keeper - use the keeper of the guest's window, to which vgpud has connected the engine
 * @fd: the engine's end of the connection, which becomes window.c's; -1: the connection was lost
 */
void window_keeper(int fd);

/**
 * window_bind - show a part of a mapping in the window
 * @shadow: shadow that has the mapping, and waits for the answer
 * @msg: request of the shadow: the lane that waits, and the object that is mapped
 * @bind: part of the mapping, and its place in the window
 */
void window_bind(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_bind *bind);

/**
 * window_unbind - take a range of the window back from the guest
 * @part: message of the guest, which is answered when nothing in the range is visible any more
 */
void window_unbind(const struct vgpu_window_part *part);

/**
 * window_shadow_gone - hide all that a shadow had mapped
 * @shadow: shadow that has ended, and gets no answers any more
 */
void window_shadow_gone(struct shadow *shadow);
/* Note that the guest has closed the object. Its bindings stay until they are hidden. */
void window_object_closed(uint32_t id);
/* Return: the number of the last binding so far. */
uint64_t window_now(void);
/*
 * Find out whether the engine may own duplicates of memory that NVIDIA's driver was given after
 * window_now() was @since. Return: true if the engine has made, after that, a duplicate of what
 * closed objects had mapped, and has not told the driver to free the duplicate.
 */
bool window_owns_since(uint64_t since);

#endif /* ENGINE_WINDOW_H */
