// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of exports: small files of the host's sysfs, with the content that vgpud has read. A
 * guest gets each file once it exists, and again when its content has changed, before it is
 * notified of the change.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "peer/agent.h"
#include "peer/control.h"
#include "peer/file.h"
#include "peer/grant.h"
#include "peer/peer.h"
#include "wire.h"

/* Limits for all files of one export together; files that are gone do not count. */
#define FILES_MAX		512
#define FILES_BYTES_MAX		SZ_1M

/**
 * struct vgpu_host_file - content of a file, or note that it is gone
 * @ref: reference count: the export's list, and each sender
 * @node: list entry in export->files; protected by export->files_lock
 * @version: version of the file; the newest one of the export has the highest
 * @name: name as on the wire
 * @gone: true if the file does not exist any more
 * @told: true if vgpud has sent the file since the last VGPU_HOST_FILE_LAST; protected by
 *	export->files_lock
 * @len: number of bytes of @data
 * @data: content
 */
struct vgpu_host_file {
	struct kref ref;
	struct list_head node;
	u64 version;
	char name[VGPU_FILE_NAME_LEN];
	bool gone;
	bool told;
	u32 len;
	u8 data[];
};

static void file_release(struct kref *ref)
{
	kvfree(container_of(ref, struct vgpu_host_file, ref));
}

static void file_put(struct vgpu_host_file *file)
{
	kref_put(&file->ref, file_release);
}

/* Drop all files of an export that cannot be found any more. */
void vgpu_file_drop_all(struct vgpuh_export *export)
{
	struct vgpu_host_file *file, *next;

	list_for_each_entry_safe(file, next, &export->files, node)
		file_put(file);
}

static struct vgpu_host_file *file_make(const char *name, const void __user *data, u32 len)
{
	struct vgpu_host_file *file;

	file = kvzalloc(struct_size(file, data, len), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	kref_init(&file->ref);
	memcpy(file->name, name, sizeof(file->name));
	file->len = len;
	if (len && copy_from_user(file->data, data, len)) {
		file_put(file);
		return ERR_PTR(-EFAULT);
	}
	return file;
}

/* Add @file to the list in place of @old, which may be NULL. Consumes a reference of each. */
static void file_replace_locked(struct vgpuh_export *export, struct vgpu_host_file *old,
				struct vgpu_host_file *file)
{
	lockdep_assert_held(&export->files_lock);
	file->version = ++export->files_version;
	list_add_tail(&file->node, &export->files);
	if (old) {
		list_del(&old->node);
		file_put(old);
	}
}

/*
 * Add a file that vgpud has read. Consumes the reference of @file.
 * Return: 1: the content is new; 0: it has not changed; or a negative errno.
 */
static int file_tell(struct vgpuh_export *export, struct vgpu_host_file *file)
{
	struct vgpu_host_file *other, *old = NULL;
	u32 nr = 0, bytes = file->len;
	int ret = 1;

	mutex_lock(&export->files_lock);
	list_for_each_entry(other, &export->files, node) {
		if (!strcmp(other->name, file->name)) {
			old = other;
			continue;
		}
		nr += !other->gone;
		bytes += other->len;
	}
	/* The file exists, also if its new content cannot be taken: guests keep the old one. */
	if (old)
		old->told = true;
	if (nr >= FILES_MAX || bytes > FILES_BYTES_MAX) {
		ret = -ENOSPC;
	} else if (old && !old->gone && old->len == file->len &&
		   !memcmp(old->data, file->data, file->len)) {
		ret = 0;
	} else {
		file->told = true;
		file_replace_locked(export, old, file);
	}
	mutex_unlock(&export->files_lock);
	if (ret <= 0)
		file_put(file);
	return ret;
}

/* Note that a file exists, whose new content could not be taken: guests keep the old one. */
static void file_keep(struct vgpuh_export *export, const char *name)
{
	struct vgpu_host_file *file;

	mutex_lock(&export->files_lock);
	list_for_each_entry(file, &export->files, node)
		if (!strcmp(file->name, name))
			file->told = true;
	mutex_unlock(&export->files_lock);
}

/*
 * Return: the highest version that every guest has been sent. Guests that were sent no file yet do
 * not count: they will not get a file that is gone by now. Nor do guests whose connection has
 * ended: a driver may keep their peers for any time.
 */
static u64 files_sent(struct vgpu_agent *agent, const struct vgpuh_export *export)
{
	u64 version = export->files_version;
	struct vgpu_grant *grant;
	struct vgpu_peer *peer;
	unsigned long id;

	lockdep_assert_held(&agent->lock);
	xa_for_each(&agent->peers, id, peer) {
		mutex_lock(&peer->lock);
		list_for_each_entry(grant, &peer->grants.list, node)
			if (!peer->closing && grant->export == export && !grant->revoked &&
			    grant->files_sent)
				version = min(version, grant->files_sent);
		mutex_unlock(&peer->lock);
	}
	return version;
}

/* Forget files that are gone, once every guest has been told. */
static void files_forget(struct vgpu_agent *agent, struct vgpuh_export *export)
{
	struct vgpu_host_file *file, *next;
	u64 version = files_sent(agent, export);

	mutex_lock(&export->files_lock);
	list_for_each_entry_safe(file, next, &export->files, node) {
		if (file->version > version)
			break;
		if (!file->gone)
			continue;
		list_del(&file->node);
		file_put(file);
	}
	mutex_unlock(&export->files_lock);
}

/*
 * Mark files as gone that vgpud has not sent since the previous VGPU_HOST_FILE_LAST.
 * Return: as file_tell().
 */
static int files_end(struct vgpu_agent *agent, struct vgpuh_export *export)
{
	struct vgpu_host_file *file, *next, *gone;
	u64 version = export->files_version;
	int ret = 0;

	files_forget(agent, export);
	mutex_lock(&export->files_lock);
	list_for_each_entry_safe(file, next, &export->files, node) {
		/* This file and all later ones were added by this loop. */
		if (file->version > version)
			break;
		if (file->gone || file->told) {
			file->told = false;
			continue;
		}
		gone = file_make(file->name, NULL, 0);
		if (IS_ERR(gone)) {
			ret = PTR_ERR(gone);
			break;
		}
		gone->gone = true;
		file_replace_locked(export, file, gone);
		ret = 1;
	}
	mutex_unlock(&export->files_lock);
	return ret;
}

static bool peer_has(struct vgpu_peer *peer, const struct vgpuh_export *export)
{
	struct vgpu_grant *grant;
	bool found = false;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node)
		found |= grant->export == export && !grant->revoked;
	mutex_unlock(&peer->lock);
	return found;
}

int vgpu_file_set(struct vgpu_agent *agent, const struct vgpu_host_export_file *args)
{
	bool last = args->flags & VGPU_HOST_FILE_LAST;
	struct vgpu_host_file *file = NULL;
	struct vgpuh_export *export;
	struct vgpu_peer *peer;
	unsigned long id;
	int ret = -ENOENT;

	if (args->flags & ~VGPU_HOST_FILE_LAST)
		return -EOPNOTSUPP;
	if (last ? args->len || args->name[0] :
	    args->len > VGPU_FILE_MAX || !vgpu_wire_file_name_ok((const u8 *)args->name))
		return -EINVAL;
	if (!last)
		file = file_make(args->name, u64_to_user_ptr(args->data), args->len);
	mutex_lock(&agent->lock);
	export = vgpu_agent_find_export(agent, args->export);
	if (IS_ERR(file)) {
		if (export)
			file_keep(export, args->name);
		ret = PTR_ERR(file);
	} else if (export) {
		ret = last ? files_end(agent, export) : file_tell(export, file);
	} else if (file) {
		file_put(file);
	}
	if (ret > 0)
		xa_for_each(&agent->peers, id, peer)
			if (peer_has(peer, export))
				vgpuh_control_kick(peer);
	mutex_unlock(&agent->lock);
	return min(ret, 0);
}

/* Find the oldest file that is newer than @version. Return: the file with a reference, or NULL. */
static struct vgpu_host_file *file_after(struct vgpuh_export *export, u64 version)
{
	struct vgpu_host_file *file, *found = NULL;

	mutex_lock(&export->files_lock);
	/* The list is sorted by version. */
	list_for_each_entry(file, &export->files, node) {
		if (file->version > version) {
			found = file;
			kref_get(&file->ref);
			break;
		}
	}
	mutex_unlock(&export->files_lock);
	return found;
}

/*
 * Choose the next file that the guest has to get. @export: out: number of its grant.
 * Return: the file with a reference; NULL: there is none.
 */
static struct vgpu_host_file *file_next(struct vgpu_peer *peer, u32 *export)
{
	struct vgpu_host_file *file = NULL;
	struct vgpu_grant *grant;

	mutex_lock(&peer->lock);
	list_for_each_entry(grant, &peer->grants.list, node) {
		if (!grant->announced || grant->revoked)
			continue;
		file = file_after(grant->export, grant->files_sent);
		if (!file)
			continue;
		grant->files_sent = file->version;
		*export = grant->id;
		break;
	}
	mutex_unlock(&peer->lock);
	return file;
}

static int file_send(struct vgpu_peer *peer, u32 export, const struct vgpu_host_file *file)
{
	struct vgpu_export_file *msg;
	u32 at = 0, part;
	int ret;

	msg = kmalloc(VGPU_CONTROL_MSG_MAX, GFP_KERNEL_ACCOUNT);
	if (!msg)
		return -ENOMEM;
	do {
		part = min_t(u32, file->len - at, VGPU_FILE_PART);
		memset(msg, 0, sizeof(*msg) + vgpu_wire_pad(part));
		msg->hdr.len = cpu_to_le32(sizeof(*msg) + vgpu_wire_pad(part));
		msg->hdr.type = cpu_to_le16(VGPU_MSG_EXPORT_FILE);
		msg->export = cpu_to_le32(export);
		msg->flags = cpu_to_le32(file->gone ? VGPU_FILE_GONE : 0);
		msg->size = cpu_to_le32(file->len);
		msg->offset = cpu_to_le32(at);
		memcpy(msg->name, file->name, sizeof(msg->name));
		memcpy(msg + 1, file->data + at, part);
		ret = vgpuh_control_send(peer, msg, sizeof(*msg) + vgpu_wire_pad(part));
		at += part;
	} while (!ret && at < file->len);
	kfree(msg);
	return ret;
}

int vgpu_file_announce(struct vgpu_peer *peer)
{
	struct vgpu_host_file *file;
	u32 export = 0;
	int ret = 0;

	while (!ret && (file = file_next(peer, &export))) {
		ret = file_send(peer, export, file);
		file_put(file);
	}
	return ret;
}
