/* SPDX-License-Identifier: MIT */
/*
 * The control socket: each line is a JSON object, a request or its answer.
 *
 * Requests have a member "op", such as "export" or "list", and the members that the functions
 * of this folder read. Answers have "ok"; if it is false, also "errno" (a number) and "message"
 * (text for a person).
 *
 * asker.h says who may ask for what. Users who may change nothing can send two lines only, as
 * libvgpu writes them: {"op":"list"} and {"op":"status"}.
 */
#ifndef VGPUD_CONTROL_H
#define VGPUD_CONTROL_H

struct text;

/* Listen on settings.socket. Return: 0 or a negative errno. */
int control_init(void);
void control_exit(void);
/*
 * Reload: see reload_run(). The group in 'control-group' is looked for again, too. If there is none,
 * although a setting names it, nothing is changed.
 */
int control_reload(const char *by, struct text *words);

#endif /* VGPUD_CONTROL_H */
