// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of the stand-in for NVIDIA's driver: the pages that the resource manager has assigned to
 * a file, whatever memory they belong to by then.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "nvidia.h"
#include "nvidia_object.h"
#include "vgpu_mock_nvidia.h"

/* Number of calls of vm_ops->access, which debuggers use. */
static atomic_t rm_looks;

static int rm_get_looks(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&rm_looks));
}

static const struct kernel_param_ops rm_looks_ops = { .get = rm_get_looks };
module_param_cb(looks, &rm_looks_ops, NULL, 0444);
MODULE_PARM_DESC(looks, "number of accesses to mappings by access_process_vm(), as debuggers make");

/* A mapping of system memory holds a reference of the memory. */
static void rm_vma_open(struct vm_area_struct *vma)
{
	struct rm_memory *memory = vma->vm_private_data;

	kref_get(&memory->ref);
}

static void rm_vma_close(struct vm_area_struct *vma)
{
	struct rm_memory *memory = vma->vm_private_data;

	mutex_lock(&rm_lock);
	kref_put(&memory->ref, rm_memory_free);
	mutex_unlock(&rm_lock);
}

/* Release 595 of the driver dereferences a NULL pointer in this operation. */
static int rm_vma_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			 int write)
{
	atomic_inc(&rm_looks);
	return -EINVAL;
}

static const struct vm_operations_struct rm_vm_ops = {
	.open = rm_vma_open,
	.close = rm_vma_close,
	.access = rm_vma_access,
};

/* Takes a reference of the memory for the mapping, unless the memory was freed before mmap(). */
static void rm_vma_take(struct mock_nvidia_file *file, struct vm_area_struct *vma)
{
	struct rm_memory *memory;

	list_for_each_entry(memory, &rm_memories, node) {
		if (memory->id != file->map->id)
			continue;
		kref_get(&memory->ref);
		vma->vm_private_data = memory;
		vma->vm_ops = &rm_vm_ops;
		return;
	}
}

/**
 * mock_nvidia_rm_mmap() - map the pages that RM has assigned to the file
 * @file: file of a card, or a control file
 * @vma: the mapping
 *
 * Return: 0, -EINVAL if the file has no assigned pages or the mapping does not fit them, or another
 * errno.
 */
int mock_nvidia_rm_mmap(struct mock_nvidia_file *file, struct vm_area_struct *vma)
{
	unsigned long i;
	int ret = 0;

	mutex_lock(&rm_lock);
	if (!file->map || vma->vm_pgoff)
		ret = -EINVAL;
	/* The card's memory can only be mapped as a whole, system memory also in part. */
	else if (vma_pages(vma) > file->map->nr ||
		 (vma_pages(vma) < file->map->nr && !file->is_control))
		ret = -EINVAL;
	for (i = 0; !ret && i < vma_pages(vma); i++)
		ret = remap_pfn_range(vma, vma->vm_start + (i << PAGE_SHIFT),
				      page_to_pfn(file->map->pages[i]), PAGE_SIZE,
				      vma->vm_page_prot);
	if (!ret && file->is_control)
		rm_vma_take(file, vma);
	mutex_unlock(&rm_lock);
	return ret;
}
