/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts how often the threads of a process go to sleep. */
#ifndef SWITCHES_H
#define SWITCHES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define THREADS_MAX	64

/* struct switches: how often threads of a process have gone to sleep. */
struct switches {
	int nr;
	int tid[THREADS_MAX];
	long count[THREADS_MAX];
};

static inline void read_switches(pid_t pid, struct switches *switches)
{
	char path[300], line[100];
	struct dirent *entry;
	FILE *status;
	DIR *dir;

	switches->nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && switches->nr < THREADS_MAX && (entry = readdir(dir))) {
		int at = switches->nr;

		switches->tid[at] = atoi(entry->d_name);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, switches->tid[at]);
		status = switches->tid[at] ? fopen(path, "r") : NULL;
		while (status && fgets(line, sizeof(line), status))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &switches->count[at]) == 1)
				switches->nr = at + 1;
		if (status)
			fclose(status);
	}
	if (dir)
		closedir(dir);
}

/* Returns the number of threads that have slept more than @times times since @before. */
static inline int slept_often(const struct switches *before, const struct switches *now, long times)
{
	int i, j, nr = 0;

	for (i = 0; i < now->nr; i++)
		for (j = 0; j < before->nr; j++)
			nr += before->tid[j] == now->tid[i] &&
			      now->count[i] - before->count[j] > times;
	return nr;
}

#endif /* SWITCHES_H */
