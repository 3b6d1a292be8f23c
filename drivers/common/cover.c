// SPDX-License-Identifier: GPL-2.0-only
/* Coverage of threads that serve others, see cover.h. */
#include <linux/kcov.h>
#include <linux/moduleparam.h>

#include "cover.h"

static unsigned int cover;
module_param(cover, uint, 0644);
MODULE_PARM_DESC(cover, "KCOV's common handle of the process that gets the coverage (default: 0, none)");

void vgpu_cover_start(void)
{
	unsigned int handle = READ_ONCE(cover);

	if (handle)
		kcov_remote_start_common(handle);
}

void vgpu_cover_stop(void)
{
	kcov_remote_stop();
}
