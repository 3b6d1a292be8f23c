// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a guest lies in files that its hypervisor has mapped as well. A process that
 * has a file of vgpu_ram_create() tells the module by it which files these are. The process is
 * trusted no more than the guest. Only files are accepted whose faults do not wait for another
 * program. A page that the hypervisor has cut off is a bad address for a driver that accesses
 * it.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "base/cmd.h"
#include "drivers/common/kept.h"
#include "memory/ram.h"
#include "peer/peer.h"

/* Maximum of parts of one guest's memory. */
#define RAM_MAX		64

/**
 * struct vgpu_memory - layout of a guest's memory, as one file has described it
 * @ref: reference count: the file, and the peer
 * @lock: mutex that protects @over and @table
 * @over: true if nothing more is accepted: the peer is gone, or another file describes its
 *	memory
 * @table: parts of the memory; NULL: none
 * @pieces: maximum of mappings of the memory that a shadow has at once
 */
struct vgpu_memory {
	struct kref ref;
	/* Mutex that protects @over and @table. */
	struct mutex lock;
	bool over;
	struct vgpu_ram_table *table;
	u32 pieces;
};

/* --- tables, which do not change ------------------------------------------- */

static void ram_free(struct kref *ref)
{
	struct vgpu_ram_table *table = container_of(ref, struct vgpu_ram_table, ref);
	u32 i;

	for (i = 0; i < table->nr; i++)
		fput(table->parts[i].file);
	kfree(table);
}

void vgpu_ram_put(struct vgpu_ram_table *table)
{
	if (table)
		kref_put(&table->ref, ram_free);
}

/* Copy @old, which may be NULL, without part @but and with room for one more part. */
static struct vgpu_ram_table *ram_copy(const struct vgpu_ram_table *old, const struct vgpu_ram *but)
{
	u32 nr = old ? old->nr : 0, i;
	struct vgpu_ram_table *table = kzalloc(struct_size(table, parts, nr + 1),
					       GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	kref_init(&table->ref);
	for (i = 0; i < nr; i++) {
		if (&old->parts[i] == but)
			continue;
		table->parts[table->nr] = old->parts[i];
		get_file(table->parts[table->nr++].file);
	}
	return table;
}

/* --- the memory of a guest -------------------------------------------------- */

static void memory_free(struct kref *ref)
{
	struct vgpu_memory *memory = container_of(ref, struct vgpu_memory, ref);

	vgpu_ram_put(memory->table);
	kfree(memory);
}

static void memory_put(struct vgpu_memory *memory)
{
	if (memory)
		kref_put(&memory->ref, memory_free);
}

static void memory_set(struct vgpu_memory *memory, struct vgpu_ram_table *table)
{
	lockdep_assert_held(&memory->lock);
	vgpu_ram_put(memory->table);
	memory->table = table;
}

static void memory_end(struct vgpu_memory *memory)
{
	mutex_lock(&memory->lock);
	memory->over = true;
	memory_set(memory, NULL);
	mutex_unlock(&memory->lock);
}

/* Make @memory, with a reference, or NULL, the peer's layout, and end the one it had. */
static void memory_replace(struct vgpu_peer *peer, struct vgpu_memory *memory)
{
	mutex_lock(&peer->lock);
	swap(peer->memory.layout, memory);
	mutex_unlock(&peer->lock);
	if (!memory)
		return;
	memory_end(memory);
	memory_put(memory);
}

void vgpu_ram_end(struct vgpu_peer *peer)
{
	memory_replace(peer, NULL);
}

struct vgpu_ram_table *vgpu_ram_get(struct vgpu_peer *peer, u32 *pieces)
{
	struct vgpu_ram_table *table = NULL;
	struct vgpu_memory *memory;

	mutex_lock(&peer->lock);
	memory = peer->memory.layout;
	if (memory) {
		mutex_lock(&memory->lock);
		table = memory->table;
		if (table)
			kref_get(&table->ref);
		mutex_unlock(&memory->lock);
		*pieces = memory->pieces;
	}
	mutex_unlock(&peer->lock);
	return table;
}

/* --- its file ---------------------------------------------------------------- */

/* Check for a file whose pages are the kernel's own: a mapping of it asks no other program. */
static bool ram_file_ok(const struct file *file)
{
	unsigned long magic = file_inode(file)->i_sb->s_magic;

	return S_ISREG(file_inode(file)->i_mode) &&
	       (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC);
}

/*
 * Return the size of the pages in which the file is mapped; hugetlbfs calls that size block
 * size.
 */
static u64 ram_file_page(const struct file *file)
{
	const struct super_block *sb = file_inode(file)->i_sb;

	return sb->s_magic == HUGETLBFS_MAGIC ? sb->s_blocksize : PAGE_SIZE;
}

static int ram_add_locked(struct vgpu_memory *memory, const struct vgpu_ram *part)
{
	struct vgpu_ram_table *table;

	lockdep_assert_held(&memory->lock);
	if (memory->over)
		return -ESHUTDOWN;
	if (memory->table && memory->table->nr == RAM_MAX)
		return -ENOSPC;
	table = ram_copy(memory->table, NULL);
	if (!table)
		return -ENOMEM;
	table->parts[table->nr] = *part;
	get_file(table->parts[table->nr++].file);
	memory_set(memory, table);
	return 0;
}

static int memory_add(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_memory_add *args = cmd->arg;
	struct vgpu_ram part = { .addr = args->addr, .len = args->len, .offset = args->offset };
	struct vgpu_memory *memory = data;
	int ret = -EINVAL;

	if (args->flags || args->reserved)
		return -EOPNOTSUPP;
	if (!part.len || !PAGE_ALIGNED(part.addr | part.len | part.offset) ||
	    part.len > U64_MAX - part.addr || part.offset > LLONG_MAX ||
	    part.len > LLONG_MAX - part.offset)
		return -EINVAL;
	part.file = fget(args->fd);
	if (!part.file)
		return -EBADF;
	part.page = ram_file_page(part.file);
	if (part.page > VGPU_RAM_PAGE_MAX) {
		ret = -EOPNOTSUPP;
	} else if (ram_file_ok(part.file)) {
		mutex_lock(&memory->lock);
		ret = ram_add_locked(memory, &part);
		mutex_unlock(&memory->lock);
	}
	fput(part.file);
	return ret;
}

static const struct vgpu_ram *ram_find(const struct vgpu_ram_table *table, u64 addr, u64 len)
{
	u32 i;

	for (i = 0; table && i < table->nr; i++)
		if (table->parts[i].addr == addr && table->parts[i].len == len)
			return &table->parts[i];
	return NULL;
}

static int memory_remove(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_memory_remove *args = cmd->arg;
	struct vgpu_memory *memory = data;
	struct vgpu_ram_table *table;
	const struct vgpu_ram *part;
	int ret = 0;

	if (args->flags)
		return -EOPNOTSUPP;
	mutex_lock(&memory->lock);
	part = ram_find(memory->table, args->addr, args->len);
	if (memory->over) {
		ret = -ESHUTDOWN;
	} else if (!part) {
		ret = -ENOENT;
	} else {
		table = ram_copy(memory->table, part);
		if (table)
			memory_set(memory, table);
		else
			ret = -ENOMEM;
	}
	mutex_unlock(&memory->lock);
	return ret;
}

static const struct vgpu_cmd_op memory_ops[] = {
	VGPU_CMD(VGPU_MEMORY_ADD, struct vgpu_memory_add, memory_add),
	VGPU_CMD(VGPU_MEMORY_REMOVE, struct vgpu_memory_remove, memory_remove),
};

static long memory_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return vgpu_cmd_run(memory_ops, ARRAY_SIZE(memory_ops), file->private_data, file, cmd, arg);
}

static int memory_release(struct inode *inode, struct file *file)
{
	struct vgpu_memory *memory = file->private_data;

	memory_end(memory);
	memory_put(memory);
	return 0;
}

static const struct file_operations memory_fops = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
	.unlocked_ioctl = memory_ioctl,
	.release = memory_release,
};

struct file *vgpu_ram_create(struct vgpu_peer *peer, u32 pieces)
{
	struct vgpu_memory *memory;
	struct file *file;

	if (!(peer->wire.features & VGPU_FEATURE_KEEP))
		return ERR_PTR(-EOPNOTSUPP);
	memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	kref_init(&memory->ref);
	mutex_init(&memory->lock);
	memory->pieces = pieces;
	file = anon_inode_getfile("[vgpu-memory]", &memory_fops, memory, O_RDWR);
	if (IS_ERR(file))
		memory_put(memory);
	return file;
}

void vgpu_ram_publish(struct vgpu_peer *peer, struct file *file)
{
	struct vgpu_memory *memory = file->private_data;

	kref_get(&memory->ref);
	memory_replace(peer, memory);
	/*
	 * The peer's end sets @closing under peer->lock before it forgets the memory. So the memory
	 * is forgotten there, or here if the peer's end came before this function.
	 */
	if (READ_ONCE(peer->closing))
		vgpu_ram_end(peer);
}
