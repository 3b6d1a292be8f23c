/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes and files of NVIDIA's driver in a guest, as tests find them. */
#ifndef NVIDIA_NODE_H
#define NVIDIA_NODE_H

#include <ftw.h>
#include <glob.h>

#include "host_played.h"

#define PROC	"/proc/driver/nvidia"
#define STAND_IN "vgpu_mock_nvidia"

/*
 * Results of traces(), which looks for them in this process itself: starting another process for
 * each look would take most of a slow machine's time.
 */
static char found[64][128];
static unsigned int nr_found;

static inline int trace_add(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (type != FTW_D && nr_found < 64)
		snprintf(found[nr_found++], sizeof(found[0]), "%s ", path + 1);
	return 0;
}

static inline int trace_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Returns all nodes, files and module entries of NVIDIA's driver, one word each. */
static inline const char *traces(void)
{
	static char words[sizeof(found)];
	glob_t paths = {};
	unsigned int i;

	nr_found = 0;
	glob("/dev/nvidia*", 0, NULL, &paths);
	glob(PROC, GLOB_APPEND, NULL, &paths);
	for (i = 0; i < paths.gl_pathc; i++)
		nftw(paths.gl_pathv[i], trace_add, 8, FTW_PHYS);
	globfree(&paths);
	glob("/sys/module/nvidia*", 0, NULL, &paths);
	for (i = 0; i < paths.gl_pathc; i++)
		trace_add(paths.gl_pathv[i], NULL, FTW_F, NULL);
	globfree(&paths);
	qsort(found, nr_found, sizeof(found[0]), trace_compare);
	words[0] = '\0';
	for (i = 0; i < nr_found; i++)
		strcat(words, found[i]);
	return words;
}

static inline bool is_left(void)
{
	glob_t paths = {};
	bool none = glob("/sys/class/vgpu/vgpu*", 0, NULL, &paths) == GLOB_NOMATCH;

	globfree(&paths);
	return none && !*traces();
}

static inline void end(void)
{
	uint64_t deadline = tool_now_ms() + 30000;

	if (!getenv("VGPU_TIMES")) {
		host_end();
		return;
	}
	close(control);
	close(listener);
	while (!is_left() && tool_now_ms() < deadline)
		usleep(20000);
}

#endif /* NVIDIA_NODE_H */
