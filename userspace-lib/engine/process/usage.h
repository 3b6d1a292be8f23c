/* SPDX-License-Identifier: MIT */
/* Mappings and lanes of shadows, as the shadows report them. */
#ifndef ENGINE_USAGE_H
#define ENGINE_USAGE_H

struct eshadow_msg;
struct shadow;

/* Answer a lane that asks for room for a mapping. */
void usage_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/*
 * Apply a change that a shadow reports. The report is malformed if the shadow gives back more than
 * it has, or has more mappings or lanes than it may have.
 */
void usage_change(struct shadow *shadow, const struct eshadow_msg *msg);
/* Take back all that a shadow had, as one that was killed has not given it back. */
void usage_shadow_gone(struct shadow *shadow);

#endif /* ENGINE_USAGE_H */
