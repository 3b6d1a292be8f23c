/* SPDX-License-Identifier: MIT */
/* Pages of memory that vgpud shares with engines and shadows. */
#ifndef VGPUD_PAGE_H
#define VGPUD_PAGE_H

#define PAGE		4096

/*
 * Make a page of shared memory of a sealed size. The mode keeps programs of guests from opening
 * the file once more, with other rights. Return: 0, or a negative errno; *@fd is -1 then.
 */
int page_make(int *fd, void **memory);

#endif /* VGPUD_PAGE_H */
