/* SPDX-License-Identifier: MIT */
/* Paths of exports: where what is not there yet may come, by the kernel, udev or a person. */
#ifndef VGPUD_PATHS_H
#define VGPUD_PATHS_H

/* Watches the directories of paths that lead nowhere, and of links, in place of those of before. */
void paths_watch(void);

#endif /* VGPUD_PATHS_H */
