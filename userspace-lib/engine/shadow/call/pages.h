/* SPDX-License-Identifier: MIT */
/* Pages of device mappings: see pages.c. */
#ifndef ESHADOW_PAGES_H
#define ESHADOW_PAGES_H

#include "engine/shadow/base/lib.h"

struct call;

s64 mapping_read_pages(struct call *call);
s64 mapping_write_pages(struct call *call);

#endif /* ESHADOW_PAGES_H */
