/* SPDX-License-Identifier: MIT */
/*
 * The rate of the processor's time-stamp counter. A driver may tell programs what the counter was,
 * and a guest needs to know how fast it goes to say what that is of its own.
 */
#ifndef VGPUD_TSC_H
#define VGPUD_TSC_H

#include <stdint.h>

/* Measures it, which takes some milliseconds. */
void tsc_init(void);
/* Return: kHz; 0: there is no such counter. */
uint32_t tsc_khz(void);

#endif /* VGPUD_TSC_H */
