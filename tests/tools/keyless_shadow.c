// SPDX-License-Identifier: GPL-2.0-only
/* vgpu-shadow, whose lanes do without protection keys, where the processor has some. */
#include "../../userspace-lib/shadow/keys.h"

#define keys_on		0
#include "../../userspace-lib/shadow/lane.c"
