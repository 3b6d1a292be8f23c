/* SPDX-License-Identifier: MIT */
/*
 * The control socket: one JSON object a line, a request and its answer.
 *
 * Requests have "op": "export", "unexport", "list" or "status", and what the
 * functions in control.c read from them. Answers have "ok"; if it is false,
 * "errno" (a number) and "message" (words for a person).
 *
 * Anybody may ask; only root may change.
 */
#ifndef VGPUD_CONTROL_H
#define VGPUD_CONTROL_H

/* Listens on settings.socket. 0 or a negative errno. */
int control_init(void);
void control_exit(void);

#endif /* VGPUD_CONTROL_H */
