// SPDX-License-Identifier: GPL-2.0-only
/*
 * raw_link: measures a 64-byte ping-pong and a stream over vsock in this VM.
 *
 * Prints "ping-pong US" and "stream BYTES-PER-US", medians of several rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "raw.h"

#define ROUNDS	7
#define PINGS	200
#define BYTES	(2u << 20)

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	double ping[ROUNDS], stream[ROUNDS];
	int fd = raw_connect();
	int i;

	raw_ping(fd, PINGS);
	for (i = 0; i < ROUNDS; i++) {
		double start = raw_now_us(), middle;

		raw_ping(fd, PINGS);
		middle = raw_now_us();
		raw_stream(fd, BYTES);
		ping[i] = (middle - start) / PINGS;
		stream[i] = BYTES / (raw_now_us() - middle);
	}
	qsort(ping, ROUNDS, sizeof(*ping), by_value);
	qsort(stream, ROUNDS, sizeof(*stream), by_value);
	printf("ping-pong %.2f\nstream %.3f\n", ping[ROUNDS / 2], stream[ROUNDS / 2]);
	return 0;
}
