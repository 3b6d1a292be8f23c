/* SPDX-License-Identifier: MIT */
/* Guests that the host module keeps for the next vgpud. */
#ifndef VGPUD_LEFT_H
#define VGPUD_LEFT_H

#include <stdbool.h>

/* Check whether the module has guests that another vgpud may take over, or has taken over. */
bool guests_are_left(void);

#endif /* VGPUD_LEFT_H */
