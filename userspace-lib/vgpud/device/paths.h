/* SPDX-License-Identifier: MIT */
/* Watches for paths of exports where the kernel, udev or a person may still make a file. */
#ifndef VGPUD_PATHS_H
#define VGPUD_PATHS_H

#include <stdbool.h>

/* Set the function that is called when a watched directory has changed. */
void paths_init(void (*on_change)(void));
/*
 * Replace the watches: call paths_begin(), paths_watch() for each path, and paths_end(). If the
 * replaced watches have seen a change that was not reported yet, paths_end() reports the change to
 * the function of paths_init().
 */
void paths_begin(void);
void paths_end(void);
/*
 * Watch the links on the way to the file @path, and if it is @missing the directory in which it may
 * be made.
 */
void paths_watch(const char *path, bool missing);
/* Call the function of paths_init() for a change that was seen otherwise. */
void paths_changed(void);

#endif /* VGPUD_PATHS_H */
