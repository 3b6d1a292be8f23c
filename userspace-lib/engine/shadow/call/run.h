/* SPDX-License-Identifier: MIT */
/* Runs of calls: see run.c. */
#ifndef ESHADOW_RUN_H
#define ESHADOW_RUN_H

struct call;

/* Return: 0, or -EPROTO for a malformed call. */
int call_run(struct call *call);
void call_reject(struct call *call, int error);

#endif /* ESHADOW_RUN_H */
