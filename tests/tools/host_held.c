// SPDX-License-Identifier: GPL-2.0-only
/*
 * host_held DEVICE GUEST: prints all that this machine, a host, holds for guests: what is alive on
 * the mock device, the figures of vgpud and of GUEST's limits, processes, files, control groups.
 * One number a line; ordeals compare them with earlier ones.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "baseline.h"

int main(int argc, char **argv)
{
	struct baseline held = { };

	if (argc != 3)
		errx(2, "usage: host_held DEVICE GUEST");
	setenv("VGPU_REAL", argv[1], 1);
	baseline_mock(&held);
	baseline_kernel(&held);
	baseline_agent(&held, argv[2]);
	baseline_processes(&held);
	fputs(held.text, stdout);
	return 0;
}
