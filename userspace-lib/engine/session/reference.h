/* SPDX-License-Identifier: MIT */
/* The guest's references of objects: they begin with object_take(). See reference.c. */
#ifndef ENGINE_REFERENCE_H
#define ENGINE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct grant;
struct object;
struct shadow;

/*
 * Make an object of a file, or find the object that it is already, and give the guest one more
 * reference. @fd becomes the engine's in any case. Return: 0 and the object in @taken, or a
 * negative errno.
 */
int object_take(int fd, struct grant *grant, uint64_t limits, bool may_be_known,
		struct object **taken);
/*
 * Drop a reference of the guest. Either control message @seq has asked for that, or a call of
 * @shadow's @lane, which is answered once the drop is complete: 1 if the reference was the last,
 * else 0. Return: 0, or -EBADF, with which nothing is answered.
 */
int object_release(uint32_t id, uint32_t reference, uint64_t seq, struct shadow *shadow,
		   uint32_t lane);
/*
 * Note that a shadow has closed an object that it was asked to close. Return: true if it was
 * asked.
 */
bool object_dropped(uint32_t id);
/*
 * Close all objects that came from an export, as if the guest had closed them, and end all shadows
 * that have had one of them.
 */
void objects_cut(uint32_t export);
/* Return: true if the guest has as many objects as it may have. */
bool objects_full(void);
/* Forget that calls of a shadow wait for the end of closes, as the shadow has ended. */
void objects_shadow_gone(struct shadow *shadow);
/*
 * Return: true if all control messages up to @seq are applied, the closes that they ask for
 * included.
 */
bool objects_applied(uint64_t seq);

#endif /* ENGINE_REFERENCE_H */
