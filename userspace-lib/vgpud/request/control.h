/* SPDX-License-Identifier: MIT */
/*
 * The control socket: each line is a JSON object, a request or its answer.
 *
 * Requests have a member "op", such as "export" or "list", and the members that the functions
 * of this folder read. Answers have "ok"; if it is false, also "errno" (a number) and "message"
 * (text for a person).
 *
 * Any user may send requests; only root may change something.
 */
#ifndef VGPUD_CONTROL_H
#define VGPUD_CONTROL_H

/* Listen on settings.socket. Return: 0 or a negative errno. */
int control_init(void);
void control_exit(void);

#endif /* VGPUD_CONTROL_H */
