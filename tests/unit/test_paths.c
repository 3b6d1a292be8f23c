// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the watches for paths of exports (userspace-lib/vgpud/device/paths.c): no change of a
 * directory is missed while the watches are replaced.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/log.h"
#include "shared/loop.h"
#include "tap.h"
#include "vgpud/device/paths.h"

/* --- functions that paths.c calls --------------------------------------------------------- */

static struct source *watches;

int source_add(struct source *source, uint32_t events)
{
	watches = source;
	return 0;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

void log_warning(const char *fmt, ...)
{
	tap_expect(false, "a warning: %s", fmt);
}

/* --- tests -------------------------------------------------------------------------------- */

static char dir[] = "/tmp/vgpu-paths-XXXXXX";
static char path[sizeof(dir) + 16];
static unsigned int nr_changes;

static void count(void)
{
	nr_changes++;
}

static void replace(void)
{
	paths_begin();
	paths_watch(path, true);
	paths_end();
}

static void make(const char *name)
{
	char file[sizeof(path)];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	tap_expect(fd >= 0, "%s cannot be made", file);
	close(fd);
	tap_expect(!unlink(file), "%s cannot be removed", file);
}

/* vgpud reviews all exports, then replaces the watches. A file may come in between. */
static void test_between(void)
{
	replace();
	tap_expect(nr_changes == 0, "%u changes at the first watches", nr_changes);
	make("a");
	replace();
	tap_expect(nr_changes == 1, "%u changes, not 1, after a file came", nr_changes);
	replace();
	tap_expect(nr_changes == 1, "%u changes, not 1, after none", nr_changes);
	tap_subject("a change before the watches are replaced");
}

static void test_heard(void)
{
	nr_changes = 0;
	make("b");
	watches->ready(watches, 0);
	tap_expect(nr_changes == 1, "%u changes, not 1, by the loop", nr_changes);
	replace();
	tap_expect(nr_changes == 1, "%u changes, not 1: one was reported twice", nr_changes);
	tap_subject("a change that was reported is not reported again");
}

int main(void)
{
	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	snprintf(path, sizeof(path), "%s/device", dir);
	paths_init(count);
	test_between();
	test_heard();
	rmdir(dir);
	return tap_done();
}
