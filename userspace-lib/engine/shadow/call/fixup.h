/* SPDX-License-Identifier: MIT */
/* Fixups of an ioctl: see fixup.c. */
#ifndef ESHADOW_FIXUP_H
#define ESHADOW_FIXUP_H

#include "engine/shadow/base/lib.h"

struct call;

/* Fills in the fields of fixups before the ioctl. Return: 0, or a negative errno. */
int fixups_place(struct call *call);
/* Gives fields of the reply the values that the guest knows. */
void fixups_undo(struct call *call);
/* Forgets the files that were placed. */
void fixups_remove(struct call *call);
/* Cancels the event, as the driver does not have it. */
void fixups_cancel_event(struct call *call);
/* Handles FD_OUT and FD_RET fixups after success. */
int fixups_answer(struct call *call, s64 *result);

#endif /* ESHADOW_FIXUP_H */
