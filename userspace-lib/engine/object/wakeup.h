/* SPDX-License-Identifier: MIT */
/* Messages about wakeups of objects, which wait until the guest reads them: see wakeup.c. */
#ifndef ENGINE_WAKEUP_H
#define ENGINE_WAKEUP_H

#include <stdint.h>

struct object;

int wakeups_init(void);
/* Send messages that wait, as many as the guest reads. Context: the loop. */
void wakeups_send(void);
/* Tell the guest of events of an object. Context: the poller's lock is held. */
void wakeup_tell(struct object *object, uint32_t revents);
/*
 * Send what the guest was to be told of the object even after wakeup_forget(). The end of an export
 * does so once for each of its objects, so such messages are no more than the guest had objects.
 */
void wakeup_keep(struct object *object);
/* Forget what the guest was to be told of the object, which the guest has closed. */
void wakeup_forget(struct object *object);

#endif /* ENGINE_WAKEUP_H */
