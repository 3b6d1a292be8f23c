/* SPDX-License-Identifier: MIT */
/* Eventfds that stand for the guest's. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include <stdint.h>

int event_add(uint32_t object, uint32_t number, int fd);
void event_cancel(uint32_t object, uint32_t number);
void events_object_gone(uint32_t object);

#endif /* ENGINE_EVENT_H */
