/* SPDX-License-Identifier: MIT */
/* Events: eventfds that stand for eventfds of the guest. See event.c. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include <stdint.h>

/*
 * Tell the guest when a driver signals @fd, which stands for the guest's eventfd @number, and then
 * close @fd. Return: 0, or a negative errno, with which @fd stays the caller's.
 */
int event_add(uint32_t object, uint32_t number, int fd);
/* Forget an event that the driver did not get. */
void event_cancel(uint32_t object, uint32_t number);
/* Forget all events of an object that the guest has closed. */
void events_object_gone(uint32_t object);

#endif /* ENGINE_EVENT_H */
