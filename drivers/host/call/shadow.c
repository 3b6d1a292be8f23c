// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of a shadow: the process maps its guest's memory through the file, receives lanes by
 * it, and lends a thread that applies unmaps. The release of the file ends the session.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/module.h>

#include "base/cmd.h"
#include "base/keys.h"
#include "call/serve.h"
#include "call/shadow.h"
#include "cover.h"
#include "memory/demand.h"
#include "memory/kept.h"
#include "memory/mapping.h"
#include "memory/page.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "session/room.h"
#include "session/session.h"
#include "session/unmap.h"

static int shadow_lane(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_shadow_lane *args = cmd->arg;
	struct vgpuh_session *session = data;
	struct file *lane;
	int fd, ret;

	if (args->reserved)
		return -EOPNOTSUPP;
	ret = vgpuh_session_bind(session);
	if (ret)
		return ret;
	vgpuh_control_adopt(session->peer);
	fd = get_unused_fd_flags(O_CLOEXEC);
	lane = fd < 0 ? ERR_PTR(fd) : vgpuh_lane_create(session, file, args->sock_fd);
	ret = vgpu_cmd_respond_file(cmd, &args->out_fd, fd, lane);
	if (!ret)
		fd_install(fd, lane);
	return ret;
}

static int shadow_service(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpuh_session *session = data;
	u32 reach;
	int ret;

	ret = vgpuh_session_bind(session);
	if (ret)
		return ret;
	ret = wait_event_interruptible(session->unmaps.wait,
				       READ_ONCE(session->ending) ||
				       vgpu_unmap_first(session, U64_MAX));
	if (ret)
		return 0;
	if (READ_ONCE(session->ending))
		return -ESHUTDOWN;
	/*
	 * The driver is notified of the end of its mapping, and must not reach the memory of
	 * the shadow's own program.
	 */
	reach = read_pkru();
	vgpu_keys_only(0);
	vgpu_cover_start();
	ret = vgpuh_mapping_apply_unmaps(session, file, U64_MAX);
	vgpu_cover_stop();
	write_pkru(reach);
	/* Return to user mode each time: the last reference of a file may have been put. */
	return ret == -EINTR ? 0 : ret;
}

static const struct vgpu_cmd_op shadow_ops[] = {
	VGPU_CMD(VGPU_SHADOW_LANE, struct vgpu_shadow_lane, shadow_lane),
	{ .cmd = VGPU_SHADOW_SERVICE, .fn = shadow_service },
};

static long shadow_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return vgpu_cmd_run(shadow_ops, ARRAY_SIZE(shadow_ops), file->private_data, file, cmd,
			    arg);
}

static int shadow_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpuh_session *session = file->private_data;
	int ret;

	ret = vgpuh_session_bind(session);
	if (ret)
		return ret;
	if (vma->vm_pgoff == VGPU_KEPT_OFFSET >> PAGE_SHIFT)
		return vgpu_kept_mmap(session, vma);
	return vma->vm_flags & VM_SHARED ? vgpu_demand_mmap(session, vma) : vgpu_room_mmap(vma);
}

/*
 * Tear the session down. Every lane and every VMA of the shadow held the shadow's file, so only
 * references that came from vgpuh_session_find() are left.
 */
static void shadow_close(struct vgpuh_session *session)
{
	WRITE_ONCE(session->ending, true);
	/*
	 * A shadow without its file has nothing to do. vgpud kills such a shadow, but there may be
	 * no vgpud for a while.
	 */
	if (READ_ONCE(session->peer->agent->rest.lasted))
		vgpuh_session_kill(session);
	vgpuh_mapping_drop_all(session);
	vgpuh_page_fini(session);
	vgpuh_session_withdraw(session);
}

static int shadow_release(struct inode *inode, struct file *file)
{
	shadow_close(file->private_data);
	return 0;
}

static const struct file_operations shadow_fops = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
	.unlocked_ioctl = shadow_ioctl,
	.mmap = shadow_mmap,
	.release = shadow_release,
};

static struct file *shadow_file(struct vgpuh_session *session)
{
	struct file *file;

	file = anon_inode_getfile("[vgpu-shadow]", &shadow_fops, session, O_RDWR);
	/*
	 * Each shadow has an address_space of its own, else a zap would walk the VMAs of all
	 * shadows.
	 */
	if (!IS_ERR(file))
		file->f_mapping = session->inode->i_mapping;
	return file;
}

struct file *vgpu_shadow_create(struct vgpu_peer *peer, u64 number)
{
	struct vgpuh_session *session;
	struct file *file;
	int ret;

	session = vgpuh_session_alloc(peer, number);
	if (IS_ERR(session))
		return ERR_CAST(session);
	vgpuh_page_init(&session->demand);
	ret = vgpuh_session_publish(session);
	if (ret) {
		vgpuh_session_put(session);
		return ERR_PTR(ret);
	}
	file = shadow_file(session);
	if (IS_ERR(file))
		shadow_close(session);
	return file;
}
