/* SPDX-License-Identifier: MIT */
/* Lanes that wait until control messages of the guest are applied. */
#ifndef ENGINE_SYNC_H
#define ENGINE_SYNC_H

struct eshadow_msg;
struct shadow;

/* Answer a lane when all control messages up to the one it names are applied. */
void sync_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* End the wait of a lane that is down. The wait may have been answered already. */
void sync_cancel(struct shadow *shadow, const struct eshadow_msg *msg);
/* Answer the lanes whose control messages have been applied. */
void sync_look(void);
/* Forget the lanes of a shadow that has ended and gets no answers any more. */
void sync_shadow_gone(const struct shadow *shadow);

#endif /* ENGINE_SYNC_H */
