/* SPDX-License-Identifier: MIT */
/* Watches for paths of exports where the kernel, udev or a person may still make a file. */
#ifndef VGPUD_PATHS_H
#define VGPUD_PATHS_H

/* Watch directories of missing paths and of links. Earlier watches are removed. */
void paths_watch(void);

#endif /* VGPUD_PATHS_H */
