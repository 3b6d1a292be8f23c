/* SPDX-License-Identifier: MIT */
/*
 * Rate of the processor's time-stamp counter. Drivers may report values of the host's counter
 * to programs, and a guest needs the rate to convert them to its own counter.
 */
#ifndef VGPUD_TSC_H
#define VGPUD_TSC_H

#include <stdint.h>

/* Measure the rate, which takes some milliseconds. */
void tsc_init(void);
/* Return the rate in kHz; 0: it is not known. */
uint32_t tsc_khz(void);

#endif /* VGPUD_TSC_H */
