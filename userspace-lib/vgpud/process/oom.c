// SPDX-License-Identifier: MIT
/* Ranks of vgpud and of the programs of guests for the kernel's OOM killer. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "process/oom.h"

/*
 * vgpud.service sets the first number as well. A shadow of vgpud with this number has 0, as any
 * other program. Each step is worth a quarter of the memory that the kernel looks at: that of the
 * guest's group, or of the host.
 */
#define OOM_VGPUD	(-500)
#define OOM_STEP	250
#define OOM_MOST	1000

#define OOM_FILE	"oom_score_adj"

/* Number of vgpud, which its children inherit. */
static int own;
/* True if the numbers of processes can be changed. */
static bool is_used;

/* Steps above vgpud. */
static const int steps[SPAWN_KINDS] = {
	[SPAWN_SHADOW] = 2,
	[SPAWN_ENGINE] = 1,
	[SPAWN_ENGINE_SHADOW] = 2,
	[SPAWN_KEEPER] = 1,
	[SPAWN_MASTER] = 1,
};

static int file_open(void)
{
	int fd = open("/proc/self/" OOM_FILE, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int oom_open(void)
{
	return is_used ? file_open() : -1;
}

static int oom_write(int fd, int value)
{
	char text[12];
	int len = snprintf(text, sizeof(text), "%d", value);

	return write(fd, text, len) == len ? 0 : -errno;
}

int oom_rank(int fd, enum spawn_kind kind)
{
	const int value = own + steps[kind] * OOM_STEP;

	if (fd < 0)
		return 0;
	return oom_write(fd, value < OOM_MOST ? value : OOM_MOST);
}

void oom_init(void)
{
	char text[12] = "";
	int fd = file_open();

	if (fd < 0)
		return;
	is_used = true;
	sysfs_read("/proc/self", OOM_FILE, text, sizeof(text) - 1);
	own = atoi(text);
	if (own > OOM_VGPUD && !oom_write(fd, OOM_VGPUD))
		own = OOM_VGPUD;
	close(fd);
}
