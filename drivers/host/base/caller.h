/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of a driver on behalf of a 32-bit program. Drivers recognize the structs of such a
 * program by in_compat_syscall(). It reads a bit of the thread (TS_COMPAT), which the entry of a
 * system call sets and the way out clears. The module sets the bit only around the driver's
 * function. If the shadow entered by a 32-bit system call instead, the bit would be set for
 * everything that the module does: memory for a call would then be mapped below 4 GiB, where all
 * addresses belong to the guest.
 */
#ifndef _VGPU_HOST_CALLER_H
#define _VGPU_HOST_CALLER_H

#include <linux/kconfig.h>
#include <linux/thread_info.h>

/* True if the drivers of this kernel can serve 32-bit programs. */
#define VGPU_CALLER_COMPAT	IS_ENABLED(CONFIG_IA32_EMULATION)

/* Set the bit if @compat: the call is that of a 32-bit program. */
static inline void vgpu_caller_begin(bool compat)
{
	if (VGPU_CALLER_COMPAT && compat)
		current_thread_info()->status |= TS_COMPAT;
}

/* Clear the bit. Shadows enter by 64-bit system calls, so it was not set before the call. */
static inline void vgpu_caller_end(void)
{
	current_thread_info()->status &= ~TS_COMPAT;
}

#endif /* _VGPU_HOST_CALLER_H */
