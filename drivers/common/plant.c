// SPDX-License-Identifier: GPL-2.0-only
/* Planted bugs, see plant.h. */
#include <linux/compiler.h>
#include <linux/moduleparam.h>

#include "plant.h"

static unsigned int plant;
module_param(plant, uint, 0644);
MODULE_PARM_DESC(plant, "number of the planted bug that a fuzzer has to find (default: 0, none)");

bool vgpu_planted(enum vgpu_plant bug)
{
	return READ_ONCE(plant) == bug;
}
