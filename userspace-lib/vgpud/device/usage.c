// SPDX-License-Identifier: MIT
/*
 * Usage of a card. NVIDIA's driver keeps samples of the last ten seconds, which it lets every
 * process read; nvidia-smi pmon shows them. It translates processes to the reader's pid namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "device/exporter.h"
#include "device/usage.h"
#include "engine/memory/nvidia.h"

#define NVIDIACTL	"/dev/nvidiactl"

static int client_begin(struct nvidia *nvidia)
{
	int control;

	if (nvidia->control >= 0)
		return 0;
	control = open(NVIDIACTL, O_RDWR | O_CLOEXEC);
	return control < 0 ? -errno : nvidia_begin_apart(nvidia, control);
}

static int samples_take(struct nvidia *nvidia, struct rm_samples *samples, uint32_t card,
			struct card_usage *usage)
{
	int ret = client_begin(nvidia);
	uint32_t i;

	if (!ret)
		ret = nvidia_samples(nvidia, card, samples, &usage->card);
	for (i = 0; !ret && i < RM_SAMPLES; i++) {
		const struct rm_sample *sample = &samples->samples[i];

		if (!sample->time)
			continue;
		usage->samples[usage->nr++] = (struct card_sample) {
			.time_ns = sample->time,
			.pid = sample->engines[RM_SAMPLE_GRAPHICS].pid,
			.used = sample->engines[RM_SAMPLE_GRAPHICS].used,
		};
	}
	return ret;
}

void usage_answer(struct nvidia *nvidia, int fd, uint32_t card)
{
	struct card_usage usage = { .minor = card };
	struct rm_samples *samples;

	/* The thread's stack is small, and it allocates nothing from the heap: see exporter.c. */
	samples = mmap(NULL, sizeof(*samples), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (samples == MAP_FAILED) {
		usage.error = -ENOMEM;
	} else {
		usage.error = samples_take(nvidia, samples, card, &usage);
		munmap(samples, sizeof(*samples));
	}
	send(fd, &usage, sizeof(usage), MSG_NOSIGNAL);
}
