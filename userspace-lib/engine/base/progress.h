/* SPDX-License-Identifier: MIT */
/* Waits for the end of something: see progress.c. */
#ifndef ENGINE_PROGRESS_H
#define ENGINE_PROGRESS_H

#include <stddef.h>

/* Have @nr functions called by progress_notify(). The array stays. */
void progress_init(void (*const *functions)(void), size_t nr);
/* Note that something has ended which lanes or messages of the guest may wait for. */
void progress_notify(void);

#endif /* ENGINE_PROGRESS_H */
