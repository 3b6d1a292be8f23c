// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes that an agent leaves for the next one: a few bytes and a file each, to which the module
 * gives no meaning.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "agent/note.h"
#include "base/cmd.h"
#include "peer/agent.h"

/**
 * struct vgpu_note - a note
 * @node: node of agent->notes
 * @peer: first part of the name
 * @key: second part of the name
 * @file: file that the note holds, or NULL
 * @len: number of bytes of @data
 * @data: bytes, which may be a secret
 */
struct vgpu_note {
	struct rb_node node;
	u32 peer;
	u64 key;
	struct file *file;
	u32 len;
	u8 data[];
};

static void note_free(struct vgpu_note *note)
{
	if (!note)
		return;
	if (note->file)
		fput(note->file);
	kfree_sensitive(note);
}

static int note_compare(const struct vgpu_note *note, u32 peer, u64 key)
{
	if (note->peer != peer)
		return note->peer < peer ? -1 : 1;
	if (note->key != key)
		return note->key < key ? -1 : 1;
	return 0;
}

/* Find the first note whose name is not less than @peer and @key. Return: the note, or NULL. */
static struct vgpu_note *note_first_locked(struct vgpu_agent *agent, u32 peer, u64 key)
{
	struct rb_node *node = agent->notes.rb_node;
	struct vgpu_note *note, *found = NULL;

	lockdep_assert_held(&agent->notes_lock);
	while (node) {
		note = rb_entry(node, struct vgpu_note, node);
		if (note_compare(note, peer, key) < 0) {
			node = node->rb_right;
		} else {
			found = note;
			node = node->rb_left;
		}
	}
	return found;
}

static void note_insert_locked(struct vgpu_agent *agent, struct vgpu_note *new)
{
	struct rb_node **link = &agent->notes.rb_node, *parent = NULL;
	struct vgpu_note *note;

	lockdep_assert_held(&agent->notes_lock);
	while (*link) {
		parent = *link;
		note = rb_entry(parent, struct vgpu_note, node);
		link = note_compare(note, new->peer, new->key) < 0 ? &parent->rb_right :
								     &parent->rb_left;
	}
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &agent->notes);
}

static struct vgpu_note *note_make(const struct vgpu_host_note *args,
				   const struct file_operations *own)
{
	struct vgpu_note *note;
	int ret = -EFAULT;

	note = kzalloc(struct_size(note, data, args->len), GFP_KERNEL_ACCOUNT);
	if (!note)
		return ERR_PTR(-ENOMEM);
	note->peer = args->peer;
	note->key = args->key;
	note->len = args->len;
	if (copy_from_user(note->data, u64_to_user_ptr(args->data), args->len))
		goto err_free;
	if (args->fd < 0)
		return note;
	ret = -EBADF;
	note->file = fget(args->fd);
	if (!note->file)
		goto err_free;
	/* A note that held the agent's own file would keep it from being released. */
	ret = -EINVAL;
	if (note->file->f_op == own)
		goto err_free;
	return note;

err_free:
	note_free(note);
	return ERR_PTR(ret);
}

int vgpu_note_set(struct vgpu_agent *agent, const struct vgpu_host_note *args,
		  const struct file_operations *own)
{
	struct vgpu_note *note = NULL, *old;

	if (args->flags || args->reserved)
		return -EOPNOTSUPP;
	if (args->len > VGPU_HOST_NOTE_MAX)
		return -EINVAL;
	if (args->len) {
		note = note_make(args, own);
		if (IS_ERR(note))
			return PTR_ERR(note);
	}
	mutex_lock(&agent->notes_lock);
	old = note_first_locked(agent, args->peer, args->key);
	if (old && note_compare(old, args->peer, args->key))
		old = NULL;
	if (old)
		rb_erase(&old->node, &agent->notes);
	if (note)
		note_insert_locked(agent, note);
	mutex_unlock(&agent->notes_lock);
	note_free(old);
	return note || old ? 0 : -ENOENT;
}

int vgpu_note_find(struct vgpu_agent *agent, struct vgpu_host_note_find *args,
		   struct vgpu_cmd *cmd)
{
	struct vgpu_note *note;
	struct file *file = NULL;
	int fd, ret;

	/* The file is referenced for the caller's table, so a note may go away meanwhile. */
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	mutex_lock(&agent->notes_lock);
	note = note_first_locked(agent, args->peer, args->key);
	ret = note ? 0 : -ENOENT;
	if (!ret && copy_to_user(u64_to_user_ptr(args->data), note->data,
				 min(args->len, note->len)))
		ret = -EFAULT;
	if (!ret) {
		args->out_len = note->len;
		args->out_peer = note->peer;
		args->out_key = note->key;
		file = note->file ? get_file(note->file) : NULL;
	}
	mutex_unlock(&agent->notes_lock);
	args->out_fd = file ? fd : -1;
	if (!ret)
		ret = vgpu_cmd_respond(cmd);
	if (!ret && file) {
		fd_install(fd, file);
		return 0;
	}
	put_unused_fd(fd);
	if (file)
		fput(file);
	return ret;
}

bool vgpu_note_has(struct vgpu_agent *agent, u32 peer, u64 key)
{
	const struct vgpu_note *note;
	bool has;

	mutex_lock(&agent->notes_lock);
	note = note_first_locked(agent, peer, key);
	has = note && !note_compare(note, peer, key);
	mutex_unlock(&agent->notes_lock);
	return has;
}

void vgpu_note_drop_all(struct vgpu_agent *agent)
{
	struct vgpu_note *note, *next;
	struct rb_root notes;

	mutex_lock(&agent->notes_lock);
	notes = agent->notes;
	agent->notes = RB_ROOT;
	mutex_unlock(&agent->notes_lock);
	rbtree_postorder_for_each_entry_safe(note, next, &notes, node)
		note_free(note);
}
