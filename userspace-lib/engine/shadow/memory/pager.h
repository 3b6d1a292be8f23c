/* SPDX-License-Identifier: MIT */
/* The pager: see pager.c. */
#ifndef ESHADOW_PAGER_H
#define ESHADOW_PAGER_H

void pager_init(void);

#endif /* ESHADOW_PAGER_H */
