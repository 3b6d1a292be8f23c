/* SPDX-License-Identifier: MIT */
/* The tracer, which sees the results of drivers for cancelled calls: see tracer.c. */
#ifndef ESHADOW_TRACER_H
#define ESHADOW_TRACER_H

/* Starts the tracer. It traces all threads that start later, if the kernel allows that. */
void tracer_start(void);

#endif /* ESHADOW_TRACER_H */
