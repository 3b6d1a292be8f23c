/* SPDX-License-Identifier: MIT */
/* Requests of users who may not change anything. */
#ifndef VGPUD_OTHER_H
#define VGPUD_OTHER_H

#include <stdbool.h>

/* Check whether a line is one of the two requests that every user may make. */
bool other_may_ask(const char *line);
/* Return the text of the answer to such a request, until the next call; NULL: no memory. */
const char *other_answer(const char *line);

#endif /* VGPUD_OTHER_H */
