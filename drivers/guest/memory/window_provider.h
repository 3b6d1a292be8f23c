/* SPDX-License-Identifier: GPL-2.0-only */
/* Providers of windows: they make the memory of a window reachable from this kernel. */
#ifndef VGPU_WINDOW_PROVIDER_H
#define VGPU_WINDOW_PROVIDER_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpu_window;
struct vgpu_window_area;
struct vgpu_window_range;
struct vm_fault;

/**
 * struct vgpu_window_provider - operations that reach a window
 * @name: name of the provider for messages
 * @open: finds the window by window->id, checks that the memory has window->size bytes (the
 *	host names this size, which is not checked yet), and sets window->data. Return: 0, or an
 *	errno if this provider does not have the window
 * @close: ends the use of the window
 * @bind: prepares a range, which the host has bound, for PTEs with the given cache attribute
 *	(VGPU_CACHE_*); NULL if there is nothing to prepare. Return: 0, or an errno if the range
 *	cannot be mapped with that attribute
 * @unbind: undoes @bind, after the host has nothing bound in the range any more
 * @insert: inserts the PTE for the page at @area->offset of the window into the VMA of the
 *	fault, with the cache attribute @cache (VGPU_CACHE_*), writable at once if both
 *	@writable and the VMA are. Also inserts PTEs for those neighbours within @area that the
 *	provider has. Called under window->use and range->insert; does not wait. Return: the
 *	result of a fault handler; VM_FAULT_RETRY asks the caller to call @resolve and then
 *	@insert again
 * @insert_huge: inserts a PMD mapping for the 2 MiB that contain @offset; NULL if the provider
 *	cannot. Called like @insert. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: the caller
 *	tries @insert
 * @resolve: waits, killably, until @insert may succeed; called without locks; NULL if @insert
 *	never returns VM_FAULT_RETRY. Return: 0 or -EINTR
 *
 * A provider calls vgpu_window_zap() when the host changes pages that @insert has shown.
 */
struct vgpu_window_provider {
	const char *name;
	int (*open)(struct vgpu_window *window);
	void (*close)(struct vgpu_window *window);
	int (*bind)(struct vgpu_window_range *range, u32 cache);
	void (*unbind)(struct vgpu_window_range *range);
	vm_fault_t (*insert)(struct vgpu_window *window, struct vm_fault *vmf,
			     const struct vgpu_window_area *area, bool writable, u32 cache);
	vm_fault_t (*insert_huge)(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
				  bool writable, u32 cache);
	int (*resolve)(struct vgpu_window *window, u64 offset);
};

/**
 * struct vgpu_window_area - the part of a window that one fault may map
 * @offset: offset of the faulting page in the window, in bytes
 * @first: offset of the first byte that may be mapped together with the page
 * @end: offset behind the last byte that may be mapped together with the page
 */
struct vgpu_window_area {
	u64 offset;
	u64 first;
	u64 end;
};

extern const struct vgpu_window_provider vgpu_window_loopback;
extern const struct vgpu_window_provider vgpu_window_provider_device;

#ifdef CONFIG_PCI
int vgpu_window_ivshmem_init(void);
void vgpu_window_ivshmem_exit(void);
#else
static inline int vgpu_window_ivshmem_init(void)
{
	return 0;
}

static inline void vgpu_window_ivshmem_exit(void)
{
}
#endif

#ifdef VGPU_HAVE_VIRTIO
int vgpu_window_virtio_init(void);
void vgpu_window_virtio_exit(void);
#else
static inline int vgpu_window_virtio_init(void)
{
	return 0;
}

static inline void vgpu_window_virtio_exit(void)
{
}
#endif

#endif /* VGPU_WINDOW_PROVIDER_H */
