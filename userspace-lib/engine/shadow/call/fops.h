/* SPDX-License-Identifier: MIT */
/* Calls of file operations. */
#ifndef ESHADOW_FOPS_H
#define ESHADOW_FOPS_H

#include "engine/shadow/base/lib.h"

struct call;

s64 fops_open(struct call *call);
s64 fops_close(struct call *call);
s64 fops_read(struct call *call);
s64 fops_write(struct call *call);
s64 fops_llseek(struct call *call);
s64 fops_poll(struct call *call);
s64 fops_fdinfo(struct call *call);

#endif /* ESHADOW_FOPS_H */
