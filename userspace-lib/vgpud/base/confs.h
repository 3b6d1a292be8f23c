/* SPDX-License-Identifier: MIT */
/* Directories of files of settings: exports.d and guests.d. */
#ifndef VGPUD_CONFS_H
#define VGPUD_CONFS_H

/*
 * Call @fn with the path of each file of the directory whose name ends in .conf and does not begin
 * with a dot, in alphabetical order, until @fn returns an error. Return: 0, the error of @fn, or a
 * negative errno if the directory cannot be read.
 */
int confs_each(const char *dir, int (*fn)(void *data, const char *path), void *data);

#endif /* VGPUD_CONFS_H */
