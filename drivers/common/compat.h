/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that the modules build for (6.1, 6.12, 7.x). All checks of a
 * kernel version are in this file.
 */
#ifndef VGPU_COMPAT_H
#define VGPU_COMPAT_H

#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/poll.h>
#include <linux/shmem_fs.h>
#include <linux/shrinker.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/version.h>

/* PFNs had a type of their own until 6.17. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#include <linux/pfn_t.h>
#endif

/* bind and connect take struct sockaddr_unsized from 6.19. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define sockaddr_unsized sockaddr
#endif

#ifndef ITER_SOURCE
#define ITER_SOURCE WRITE
#define ITER_DEST READ
#endif

/*
 * Page faults of file-backed VMAs may hold only the VMA lock from 6.6. A fault handler that
 * waits drops the lock of the fault by this helper.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline void release_fault_lock(struct vm_fault *vmf)
{
	mmap_read_unlock(vmf->vma->vm_mm);
}
#endif

/* Helpers write VMA flags from 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Per-processor workqueues, the default before, need a flag from 6.18. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define VGPU_WQ_PERCPU 0
#else
#define VGPU_WQ_PERCPU WQ_PERCPU
#endif

/* Timers got their functions by an assignment before 6.13. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* The class of sound devices was a pointer before 6.6. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define VGPU_SOUND_CLASS sound_class
#else
#define VGPU_SOUND_CLASS (&sound_class)
#endif

/* The argument of class->devnode is const from 6.2. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define VGPU_CLASS_DEVICE struct device
#else
#define VGPU_CLASS_DEVICE const struct device
#endif

/*
 * DRM drivers may use offsets above LLONG_MAX. A mode of the file allows this, and from 6.12 a
 * flag of the file operations.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define VGPU_FOPS_UNSIGNED_OFFSET
static inline void vgpu_set_unsigned_offset(struct file *file)
{
	file->f_mode |= FMODE_UNSIGNED_OFFSET;
}
#else
#define VGPU_FOPS_UNSIGNED_OFFSET .fop_flags = FOP_UNSIGNED_OFFSET,
static inline void vgpu_set_unsigned_offset(struct file *file)
{
}
#endif

/* struct drm_driver has a date until 6.14. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define VGPU_DRM_DRIVER_DATE .date = "0",
#else
#define VGPU_DRM_DRIVER_DATE
#endif

/*
 * Take a reference of a file that is found through a pointer which the file's release clears.
 * The caller holds the lock of the pointer.
 *
 * Return: the file, or NULL if it is being released.
 */
static inline struct file *vgpu_file_get_active(struct file **file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return get_file_rcu(*file) ? *file : NULL;
#else
	return get_file_active(file);
#endif
}

/* Flags of shmem files have a type of their own from 7.0. */
static inline struct file *vgpu_shmem_file_setup(const char *name, loff_t size)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	return shmem_file_setup(name, size, VM_NORESERVE);
#else
	return shmem_file_setup(name, size, mk_vma_flags(VMA_NORESERVE_BIT));
#endif
}

/* zap_vma_ptes() was renamed in 7.1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define zap_special_vma_range zap_vma_ptes
#endif

/*
 * PMD mappings of PFNs without struct page need 6.12 and transparent huge pages. Older kernels
 * have no mark that distinguishes them from PMD mappings of ordinary pages:
 * get_user_pages_fast() takes references of pages that do not exist. KVM does not find them
 * either (follow_pte() looks for page tables only), and stops a machine if a page is missing
 * after a fault.
 */
#ifdef CONFIG_ARCH_SUPPORTS_PMD_PFNMAP
#define VGPU_HAVE_HUGE
#endif

#ifdef VGPU_HAVE_HUGE
/* Return: true if a PMD mapping exists at the address of the fault. */
static inline bool vgpu_fault_is_huge(const struct vm_fault *vmf)
{
	return pmd_leaf(pmdp_get_lockless(vmf->pmd));
}

/* Insert a PMD mapping, as vmf_insert_pfn_pmd(). PFNs had a type of their own until 6.17. */
static inline vm_fault_t vgpu_insert_pfn_pmd(struct vm_fault *vmf, unsigned long pfn, bool write)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return vmf_insert_pfn_pmd(vmf, __pfn_to_pfn_t(pfn, PFN_DEV), write);
#else
	return vmf_insert_pfn_pmd(vmf, pfn, write);
#endif
}
#else
static inline bool vgpu_fault_is_huge(const struct vm_fault *vmf)
{
	return false;
}
#endif

/* Find an address for a mapping as the kernel does for files without ->get_unmapped_area. */
static inline unsigned long vgpu_get_unmapped_area(struct file *file, unsigned long addr,
						   unsigned long len, unsigned long pgoff,
						   unsigned long flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return current->mm->get_unmapped_area(file, addr, len, pgoff, flags);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	return mm_get_unmapped_area(current->mm, file, addr, len, pgoff, flags);
#else
	return mm_get_unmapped_area(file, addr, len, pgoff, flags);
#endif
}

/**
 * struct vgpu_entry - contents of a page table entry
 * @pfn: PFN that is mapped
 * @prot: protection and cache attribute of the mapping
 * @huge: true if the entry maps 2 MiB or more
 */
struct vgpu_entry {
	unsigned long pfn;
	pgprot_t prot;
	bool huge;
};

/*
 * Look up the page table entry at @addr of a VM_IO or VM_PFNMAP VMA. The caller holds the mmap
 * lock.
 *
 * Return: 0, or -ENOENT: nothing is mapped, or @write is set and the entry is read-only.
 */
static inline int vgpu_follow_pfn(struct vm_area_struct *vma, unsigned long addr, bool write,
				  struct vgpu_entry *entry)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	spinlock_t *lock;
	int ret = 0;
	pte_t *pte;

	if (follow_pte(vma->vm_mm, addr, &pte, &lock))
		return -ENOENT;
	__acquire(lock);
	if (write && !pte_write(*pte))
		ret = -ENOENT;
	entry->pfn = pte_pfn(*pte);
	entry->prot = pte_pgprot(*pte);
	entry->huge = false;
	pte_unmap_unlock(pte, lock);
	return ret;
#else
	struct follow_pfnmap_args args = { .vma = vma, .address = addr };
	int ret = 0;

	if (follow_pfnmap_start(&args))
		return -ENOENT;
	if (write && !args.writable)
		ret = -ENOENT;
	entry->pfn = args.pfn;
	entry->huge = !args.ptep;
	/* PMD entries have other bits for the cache attribute. */
	entry->prot = entry->huge ? pgprot_large_2_4k(args.pgprot) : args.pgprot;
	follow_pfnmap_end(&args);
	return ret;
#endif
}

/* Take a reference of one page of another mm; the VMAs were among the results until 6.5. */
static inline long vgpu_get_user_page_remote(struct mm_struct *mm, unsigned long addr,
					     unsigned int flags, struct page **page, int *locked)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, addr, 1, flags, page, NULL, locked);
#else
	return get_user_pages_remote(mm, addr, 1, flags, page, locked);
#endif
}

/*
 * Insert a PFN into a VM_MIXEDMAP VMA as if it had no struct page: no reference is taken. PFNs
 * had a type of their own until 6.17.
 */
static inline vm_fault_t vgpu_insert_mixed(struct vm_area_struct *vma, unsigned long addr,
					   unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return vmf_insert_mixed(vma, addr, __pfn_to_pfn_t(pfn, PFN_DEV));
#else
	return vmf_insert_mixed(vma, addr, pfn);
#endif
}

/* Call ->mmap, or ->mmap_prepare, of another file for a VMA. call_mmap() was renamed in 6.17. */
static inline int vgpu_call_mmap(struct file *file, struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return call_mmap(file, vma);
#else
	return vfs_mmap(file, vma);
#endif
}

/*
 * Nested VMX before 6.13 keeps PFNs from the hypervisor's page tables, whatever changes there
 * later.
 */
#if defined(CONFIG_X86) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define VGPU_NESTED_KEEPS_PAGES
#endif

/*
 * KVM before 6.13 takes a reference of each page that it finds in the hypervisor's page tables,
 * and stops the machine if it cannot. Tail pages of an allocation that has one reference count
 * for all its pages cannot be referenced.
 *
 * Return: true if KVM can map the page.
 */
static inline bool vgpu_kvm_takes_pfn(unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	return !pfn_valid(pfn) || PageReserved(pfn_to_page(pfn)) ||
		page_ref_count(pfn_to_page(pfn));
#else
	return true;
#endif
}

/*
 * KVM before 6.13 takes a reference only of the faulting page of a PMD mapping. Before a fix in
 * the stable kernels it dropped a reference of the first of the 512 pages instead
 * (kvm_mmu_hugepage_adjust() rounds fault->pfn), so that page was freed while it was in use.
 * 6.12.107 is the first kernel that was seen with the fix; an older one may have it.
 *
 * Return: true if KVM can map the 2 MiB from @pfn on.
 */
static inline bool vgpu_kvm_takes_huge(unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	unsigned long i;

	for (i = pfn; i < pfn + PTRS_PER_PTE; i++) {
		if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 107) && pfn_valid(i) &&
		    !PageReserved(pfn_to_page(i)))
			return false;
		if (!vgpu_kvm_takes_pfn(i))
			return false;
	}
#endif
	return true;
}

/*
 * The field driver_override moved from the devices of each bus to struct device in 7.1; stable
 * kernels got the change as well. Kbuild finds out which of them the kernel has.
 */
#ifdef VGPU_HAVE_DEVICE_OVERRIDE
#define vgpu_device_override(xdev, driver)	device_set_driver_override(&(xdev)->dev, driver)
#else
#define vgpu_device_override(xdev, driver)	\
	driver_set_override(&(xdev)->dev, &(xdev)->driver_override, driver, strlen(driver))
#endif

/* The faux bus, for devices without a bus, exists from 6.14. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#include <linux/device/faux.h>
#define VGPU_HAVE_FAUX
#endif

/* The core allocates shrinkers from 6.7; they have private data from then on. */
struct vgpu_shrinker {
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	struct shrinker shrinker;
	void *data;
#else
	struct shrinker *shrinker;
#endif
};

typedef unsigned long (*vgpu_shrinker_fn)(struct shrinker *shrinker, struct shrink_control *sc);

static inline void *vgpu_shrinker_data(struct shrinker *shrinker)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return container_of(shrinker, struct vgpu_shrinker, shrinker)->data;
#else
	return shrinker->private_data;
#endif
}

static inline int vgpu_shrinker_start(struct vgpu_shrinker *s, vgpu_shrinker_fn count,
				      vgpu_shrinker_fn scan, void *data)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	s->data = data;
	s->shrinker.count_objects = count;
	s->shrinker.scan_objects = scan;
	s->shrinker.seeks = DEFAULT_SEEKS;
	return register_shrinker(&s->shrinker, KBUILD_MODNAME);
#else
	s->shrinker = shrinker_alloc(0, KBUILD_MODNAME);
	if (!s->shrinker)
		return -ENOMEM;
	s->shrinker->count_objects = count;
	s->shrinker->scan_objects = scan;
	s->shrinker->private_data = data;
	shrinker_register(s->shrinker);
	return 0;
#endif
}

static inline void vgpu_shrinker_stop(struct vgpu_shrinker *s)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	unregister_shrinker(&s->shrinker);
#else
	shrinker_free(s->shrinker);
#endif
}

/*
 * All shared mappings counted as writable before 6.7 (mm/mmap.c, __vma_link_file()), so a file
 * that was sealed against writing could have none.
 */
static inline bool vgpu_shared_counts_as_writable(void)
{
	return LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0);
}

/* eventfd_signal() always adds one from 6.8. */
static inline void vgpu_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

/* Check the name that the driver of a fence has. A helper is needed from 6.17. */
static inline bool vgpu_fence_is_of(struct dma_fence *fence, const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return !strcmp(fence->ops->get_driver_name(fence), name);
#else
	bool is;

	rcu_read_lock();
	is = !strcmp((const char __force *)dma_fence_driver_name(fence), name);
	rcu_read_unlock();
	return is;
#endif
}

/*
 * Return: true if the caller of ->poll does not wait. poll_does_not_wait() was removed in 7.2.
 */
static inline bool vgpu_poll_only_looks(const poll_table *table)
{
	return !table || !table->_qproc;
}

/*
 * Files may have ->mmap_prepare instead of ->mmap from 6.16; the helper that checks for both
 * exists from 6.17.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
static inline bool can_mmap_file(struct file *file)
{
	return file->f_op->mmap;
}
#endif

#endif /* VGPU_COMPAT_H */
