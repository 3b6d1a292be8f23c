/* SPDX-License-Identifier: MIT */
/* Fixups of an ioctl: see fixup.c. */
#ifndef ESHADOW_FIXUP_H
#define ESHADOW_FIXUP_H

#include "engine/shadow/base/lib.h"

struct call;

/* Fills in the fields of fixups before the ioctl. Return: 0, or a negative errno. */
int fixups_place(struct call *call);
/* Puts the guest's own values back into the fields of the reply. */
void fixups_undo(struct call *call);
/* Drops the files that fixups_place() has taken, and the file of the ioctl's argument. */
void fixups_remove(struct call *call);
/* Cancels the event, as the driver does not have it. */
void fixups_cancel_event(struct call *call);
/*
 * Makes objects of the files that the driver has made (FD_OUT and FD_RET fixups), after success.
 * @result: result of the ioctl, set to 0 if it was the number of such a file. Return: 0, or a
 * negative errno.
 */
int fixups_answer(struct call *call, s64 *result);

#endif /* ESHADOW_FIXUP_H */
