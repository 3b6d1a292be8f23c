/* SPDX-License-Identifier: MIT */
/* The budget of the session's memory for messages and replies. */
#ifndef ESHADOW_BUDGET_H
#define ESHADOW_BUDGET_H

#include "engine/shadow/base/lib.h"

/*
 * Allocates memory for a message or a reply, which counts against a budget. Return: NULL if there
 * is none.
 */
void *budget_get(u64 len);
void budget_put(void *memory, u64 len);

#endif /* ESHADOW_BUDGET_H */
