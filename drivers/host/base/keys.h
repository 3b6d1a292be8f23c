/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protection keys of the processor: each mapping has a key, and a register of the current thread
 * (PKRU) says which keys' memory it can access, also in the kernel.
 */
#ifndef _VGPU_HOST_KEYS_H
#define _VGPU_HOST_KEYS_H

#include <linux/mm.h>

#include <asm/pkru.h>

static inline bool vgpu_keys_there(void)
{
	return cpu_feature_enabled(X86_FEATURE_OSPKE);
}

/* Restrict the current thread to user memory with key 0 or @key. */
static inline void vgpu_keys_only(unsigned int key)
{
	/* The register has two bits for each key; the lower one denies all access. */
	write_pkru(0x55555555U & ~(1U | 1U << 2 * key));
}

static inline unsigned long vgpu_keys_vm_flags(unsigned int key)
{
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	return (unsigned long)key << VM_PKEY_SHIFT;
#else
	return 0;
#endif
}

#endif /* _VGPU_HOST_KEYS_H */
