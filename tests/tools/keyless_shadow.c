// SPDX-License-Identifier: GPL-2.0-only
/* This is vgpu-shadow with lanes that do not use protection keys where the processor has some. */
#include "../../userspace-lib/shadow/keys.h"

#define keys_on		0
#include "../../userspace-lib/shadow/lane.c"
