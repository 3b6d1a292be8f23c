/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of messages of the wire protocol, by what their fields mean. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include "input.h"

/* Changes the message in @step, which has @room bytes. Return: its new length. */
size_t message_change(struct step *step, size_t room);

#endif /* MESSAGE_H */
