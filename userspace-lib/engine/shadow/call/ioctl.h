/* SPDX-License-Identifier: MIT */
/* Calls of ioctl: see ioctl.c. */
#ifndef ESHADOW_IOCTL_H
#define ESHADOW_IOCTL_H

#include "engine/shadow/base/lib.h"

struct call;

s64 ioctl_run(struct call *call);

#endif /* ESHADOW_IOCTL_H */
