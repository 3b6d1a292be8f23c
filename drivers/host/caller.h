/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who calls a driver. in_compat_syscall(), by which drivers tell a 32-bit
 * program's structs, is a bit that the entry of a system call sets for its thread
 * and that the way out clears. It is set here around the driver's function alone:
 * with a shadow that entered by a 32-bit system call it would hold for all that
 * the module does for it, and the memory that it maps for a call would be looked
 * for below 4 GiB, where all belongs to the guest.
 */
#ifndef VGPU_CALLER_H
#define VGPU_CALLER_H

#include <linux/kconfig.h>
#include <linux/thread_info.h>

#include "host.h"

/* This kernel's drivers can be told. */
#define VGPU_CALLER_COMPAT	IS_ENABLED(CONFIG_IA32_EMULATION)

static inline bool vgpu_caller_is_compat(const struct vgpu_hcall *call)
{
	return le16_to_cpu(call->view.call->flags) & VGPU_CALL_COMPAT;
}

static inline void vgpu_caller_begin(const struct vgpu_hcall *call)
{
	if (VGPU_CALLER_COMPAT && vgpu_caller_is_compat(call))
		current_thread_info()->status |= TS_COMPAT;
}

/* Shadows enter by 64-bit system calls, so it was not set before. */
static inline void vgpu_caller_end(void)
{
	current_thread_info()->status &= ~TS_COMPAT;
}

#endif /* VGPU_CALLER_H */
