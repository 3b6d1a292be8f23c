// SPDX-License-Identifier: GPL-2.0-only
/*
 * deaths_run EXPORT SEED: runs programs that use a forwarded mock device in all ways, and check
 * what they read. They begin again when the device was lost. At a SIGTERM the programs are killed,
 * and what they have seen is printed. Exit status 1 if anything that they read was wrong, 3 if no
 * step was finished.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "deaths_load.h"

static volatile sig_atomic_t over;

static void on_term(int signal)
{
	(void)signal;
	over = 1;
}

int main(int argc, char **argv)
{
	unsigned long seed;

	if (argc != 3)
		errx(2, "usage: deaths_run EXPORT SEED");
	seed = strtoul(argv[2], NULL, 0);
	if (!load_begin(argv[1], seed))
		err(1, "programs could not be started");
	/* The programs have been started without it, and end by SIGKILL. */
	signal(SIGTERM, on_term);
	while (!over) {
		load_reap(load_random(&seed));
		usleep(50000);
	}
	load_end();
	load_print_errors();
	printf("%lu steps, %lu mappings lost, %lu wrong\n", load->steps, load->lost, load->wrong);
	return load->wrong ? 1 : load->steps ? 0 : 3;
}
