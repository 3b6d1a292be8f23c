/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Check whether hypervisors of this machine may show windows.
 */
#ifndef _VGPU_HOST_NESTED_H
#define _VGPU_HOST_NESTED_H

#include "compat.h"

/* Check whether hypervisors may show windows now. Return: 0 or -EPERM. */
#ifdef VGPU_NESTED_KEEPS_PAGES
int vgpu_nested_check(void);
#else
static inline int vgpu_nested_check(void)
{
	return 0;
}
#endif

#endif /* _VGPU_HOST_NESTED_H */
