// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserved range: addresses of a process that its shadow uses for itself. The process keeps them
 * free by a private mapping without access, of a file that gives the mapping a name in
 * /proc/PID/maps. A 32-bit process has no such addresses: each of its ioctls that has segments gets
 * a range of its own while it runs.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/reserve.h"

#define RESERVE_NAME "[vgpu]"

static struct file *reserve_file;

/*
 * Check whether the range is reserved already. A forked child has its parent's mapping, and a
 * process may have one from an earlier load of the module, so any mapping counts that has the name
 * and gives no access.
 */
static bool reserve_exists(u64 base, u64 size)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool reserved;

	mmap_read_lock(mm);
	vma = find_vma(mm, base);
	reserved = vma && vma->vm_start <= base && vma->vm_end >= base + size &&
		!(vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC)) && vma->vm_file &&
		!strcmp(vma->vm_file->f_path.dentry->d_name.name, RESERVE_NAME);
	mmap_read_unlock(mm);
	return reserved;
}

/* Set flags of the VMA that was just made at @addr, unless the program has replaced it. */
static void reserve_set_flags(unsigned long addr, unsigned long flags)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	if (mmap_write_lock_killable(mm))
		return;
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start == addr && vma->vm_file == reserve_file)
		vm_flags_set(vma, flags);
	mmap_write_unlock(mm);
}

/**
 * vgpu_reserve_current - keep the shadow's range free in the process
 * @session: session of the calling process
 *
 * A program whose limits leave no room for the range (RLIMIT_AS, or RLIMIT_MEMLOCK after
 * mlockall()) goes without: it gets no memory there unless it asks for those very addresses.
 *
 * Context: process; mmap_lock is not held.
 * Return: 0, or -ENOMEM: the program has something else there.
 */
int vgpu_reserve_current(struct vgpu_session *session)
{
	u64 base = session->host->terms.reserved_base;
	u64 size = session->host->terms.reserved_size;
	unsigned long addr;
	int ret = 0;

	if (READ_ONCE(session->is_reserved))
		return 0;
	/* Only the process itself can reserve, and a 32-bit one has no such addresses. */
	if (session->mm != current->mm || !size || TASK_SIZE <= base)
		return 0;

	mutex_lock(&session->reserve_lock);
	if (!session->is_reserved) {
		addr = vm_mmap(reserve_file, base, size, PROT_NONE,
			       MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
		/* A core dump of file mappings would read the range page by page. */
		if (!IS_ERR_VALUE(addr))
			reserve_set_flags(base, VM_DONTDUMP);
		if (addr == (unsigned long)-EEXIST && !reserve_exists(base, size))
			ret = -ENOMEM;
		else
			WRITE_ONCE(session->is_reserved, true);
	}
	mutex_unlock(&session->reserve_lock);
	return ret;
}

/**
 * vgpu_reserve_low - keep room free below 4 GiB for the segments of one ioctl
 * @len: length in bytes, a multiple of the page size
 * @addr: out: address of the room
 *
 * The caller is in a 32-bit system call, where the kernel chooses addresses below 4 GiB.
 *
 * Return: 0, or -ENOMEM.
 */
int vgpu_reserve_low(u64 len, unsigned long *addr)
{
	unsigned long at;

	if (len > VGPU_LOW_END)
		return -ENOMEM;
	at = vm_mmap(reserve_file, 0, len, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE, 0);
	if (IS_ERR_VALUE(at))
		return -ENOMEM;
	if (at > VGPU_LOW_END - len) {
		vm_munmap(at, len);
		return -ENOMEM;
	}
	/* Children do not run their parent's ioctls, so they do not get the range either. */
	reserve_set_flags(at, VM_DONTCOPY | VM_DONTDUMP);
	*addr = at;
	return 0;
}

/* Undo vgpu_reserve_low(). */
void vgpu_reserve_low_end(unsigned long addr, u64 len)
{
	vm_munmap(addr, len);
}

int vgpu_reserve_global_init(void)
{
	reserve_file = vgpu_shmem_file_setup(RESERVE_NAME, 0);
	return PTR_ERR_OR_ZERO(reserve_file);
}

void vgpu_reserve_global_exit(void)
{
	fput(reserve_file);
}
