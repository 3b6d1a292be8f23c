// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls of /dev/vgpu-host, by which vgpud sets up exports, peers, shadows and windows.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "agent/command.h"
#include "agent/control_thread.h"
#include "agent/export.h"
#include "agent/lasting.h"
#include "agent/note.h"
#include "base/cmd.h"
#include "base/keys.h"
#include "call/shadow.h"
#include "memory/ram.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/file.h"
#include "peer/grant.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "session/session.h"
#include "window/window.h"

#define AGENT_FETCH_TIMEOUT_MAX_MS	60000
#define AGENT_PATIENCE_MAX_MS		3600000
#define AGENT_LASTING_MAX_MS		60000

static int agent_become(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_agent *args = cmd->arg;
	struct vgpu_agent *agent, *old;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (args->flags & ~(VGPU_HOST_AGENT_ADOPT | VGPU_HOST_AGENT_ASK))
		return -EOPNOTSUPP;
	if (args->flags & VGPU_HOST_AGENT_ASK)
		return vgpu_agent_ask();
	if (!args->fetch_timeout_ms || args->fetch_timeout_ms > AGENT_FETCH_TIMEOUT_MAX_MS ||
	    args->patience_ms > AGENT_PATIENCE_MAX_MS ||
	    args->lasting_ms > AGENT_LASTING_MAX_MS ||
	    !args->reserved_size || !PAGE_ALIGNED(args->reserved_base | args->reserved_size) ||
	    args->reserved_size > TASK_SIZE_MAX ||
	    args->reserved_base > TASK_SIZE_MAX - args->reserved_size)
		return -EINVAL;

	agent = kzalloc(sizeof(*agent), GFP_KERNEL_ACCOUNT);
	if (!agent)
		return -ENOMEM;
	kref_init(&agent->ref);
	agent->rdev = file_inode(file)->i_rdev;
	agent->reserved_base = args->reserved_base;
	agent->reserved_size = args->reserved_size;
	agent->fetch_timeout_ms = args->fetch_timeout_ms;
	agent->ping_timeout_ms = args->ping_timeout_ms;
	agent->patience_ms = args->patience_ms ?: args->fetch_timeout_ms;
	mutex_init(&agent->lock);
	INIT_LIST_HEAD(&agent->exports);
	xa_init_flags(&agent->peers, XA_FLAGS_ALLOC1);
	mutex_init(&agent->guests_lock);
	INIT_LIST_HEAD(&agent->guests);
	spin_lock_init(&agent->events_lock);
	INIT_LIST_HEAD(&agent->events);
	INIT_LIST_HEAD(&agent->taken);
	init_waitqueue_head(&agent->events_wait);
	agent->rest.ms = args->lasting_ms;
	agent->rest.lasted = args->lasting_ms;
	vgpu_lasting_init(agent);

	if (args->flags & VGPU_HOST_AGENT_ADOPT) {
		ret = vgpu_lasting_adopt(file, agent);
		vgpu_agent_put(agent);
		return ret;
	}
	ret = vgpu_agent_publish(agent, file, &old);
	if (ret)
		vgpu_agent_put(agent);
	else if (old)
		vgpu_lasting_end(old);
	return ret;
}

/* Find the peer with number @id. Return: the peer with a reference, or NULL. */
static struct vgpu_peer *agent_find_peer(struct vgpu_agent *agent, u32 id)
{
	struct vgpu_peer *peer;

	mutex_lock(&agent->lock);
	peer = xa_load(&agent->peers, id);
	if (peer)
		vgpu_peer_get(peer);
	mutex_unlock(&agent->lock);
	return peer;
}

static int agent_export_add(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_export_add *args = cmd->arg;
	struct vgpu_agent *agent = data;
	int ret;

	mutex_lock(&agent->lock);
	ret = vgpuh_export_add(agent, args);
	if (ret > 0) {
		args->out_export = ret;
		ret = vgpu_cmd_respond(cmd);
		if (ret)
			vgpuh_export_del(agent, args->out_export);
	}
	mutex_unlock(&agent->lock);
	return ret;
}

static int agent_export_del(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_export_del *args = cmd->arg;
	struct vgpu_agent *agent = data;
	struct vgpuh_export *export;

	mutex_lock(&agent->lock);
	export = vgpu_agent_find_export(agent, args->export);
	if (export)
		vgpuh_export_end(agent, export);
	mutex_unlock(&agent->lock);
	return export ? 0 : -ENOENT;
}

static int agent_export_change(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_agent *agent = data;
	int ret;

	mutex_lock(&agent->lock);
	ret = vgpuh_export_change(agent, cmd->arg);
	mutex_unlock(&agent->lock);
	return ret;
}

static int agent_export_file(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpu_file_set(data, cmd->arg);
}

/*
 * Check features: WRITE_NAMED needs DEMAND, KEEP_ALONE needs KEEP, and a processor with protection
 * keys. An older vgpud has agreed to the reserved feature with an older guest. Such a guest uses
 * it only where a window has slots for messages, and no window of this module has any.
 */
static bool agent_features_ok(u64 features)
{
	if (features & ~(VGPU_FEATURES | VGPU_FEATURE_RESERVED))
		return false;
	if ((features & VGPU_FEATURE_WRITE_NAMED) && !(features & VGPU_FEATURE_DEMAND))
		return false;
	return !(features & VGPU_FEATURE_KEEP_ALONE) ||
		((features & VGPU_FEATURE_KEEP) && vgpu_keys_there());
}

static int agent_peer_add(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_peer_add *args = cmd->arg;
	struct vgpu_agent *agent = data;
	struct vgpu_peer *peer;
	int ret;

	if (args->flags || args->limits.reserved || !agent_features_ok(args->features))
		return -EOPNOTSUPP;
	args->features &= VGPU_FEATURES;
	peer = vgpu_peer_alloc(agent, args);
	if (IS_ERR(peer))
		return PTR_ERR(peer);

	mutex_lock(&agent->lock);
	/* The number is reserved first; the peer is published when nothing can fail any more. */
	ret = xa_alloc_cyclic(&agent->peers, &peer->id, NULL, XA_LIMIT(1, INT_MAX),
			      &agent->next_peer, GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_put_peer;
	args->out_peer = peer->id;
	ret = vgpu_cmd_respond(cmd);
	if (ret)
		goto err_free_id;
	ret = vgpuh_control_start(peer);
	if (ret)
		goto err_free_id;
	/*
	 * The entry exists, so nothing is allocated. The peer's thread may end already, but
	 * it erases the entry under agent->lock, which is held here.
	 */
	xa_store(&agent->peers, peer->id, peer, GFP_KERNEL_ACCOUNT);
	/* The peer may have a window. */
	vgpuh_control_kick_window(peer);
	mutex_unlock(&agent->lock);
	return 0;

err_free_id:
	xa_release(&agent->peers, peer->id);
err_put_peer:
	mutex_unlock(&agent->lock);
	vgpu_peer_put(peer);
	return ret;
}

static int agent_peer_del(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_peer_del *args = cmd->arg;
	struct vgpu_peer *peer = agent_find_peer(data, args->peer);

	if (!peer)
		return -ENOENT;
	vgpu_conn_shutdown(&peer->control.conn);
	vgpu_peer_put(peer);
	return 0;
}

static int agent_grant(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_grant *args = cmd->arg;
	struct vgpu_agent *agent = data;
	struct vgpuh_export *export;
	struct vgpu_peer *peer;
	int ret = -ENOENT;

	mutex_lock(&agent->lock);
	export = vgpu_agent_find_export(agent, args->export);
	peer = xa_load(&agent->peers, args->peer);
	if (export && peer)
		ret = vgpu_grant_add(peer, export, args);
	mutex_unlock(&agent->lock);
	return ret;
}

static int agent_revoke(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_revoke *args = cmd->arg;
	struct vgpu_agent *agent = data;
	struct vgpuh_export *export;
	struct vgpu_peer *peer;
	int ret = -ENOENT;

	if (args->flags & ~VGPU_HOST_REVOKE_NOW)
		return -EOPNOTSUPP;
	mutex_lock(&agent->lock);
	export = vgpu_agent_find_export(agent, args->export);
	peer = xa_load(&agent->peers, args->peer);
	if (export && peer)
		ret = vgpu_grant_revoke(peer, export, args->flags & VGPU_HOST_REVOKE_NOW);
	mutex_unlock(&agent->lock);
	return ret;
}

static int agent_shadow(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_shadow *args = cmd->arg;
	struct vgpu_peer *peer;
	struct file *shadow;
	int fd, ret;

	if (args->flags)
		return -EOPNOTSUPP;
	peer = agent_find_peer(data, args->peer);
	if (!peer)
		return -ENOENT;
	fd = get_unused_fd_flags(O_CLOEXEC);
	shadow = fd < 0 ? ERR_PTR(fd) : vgpu_shadow_create(peer, args->session);
	ret = vgpu_cmd_respond_file(cmd, &args->out_fd, fd, shadow);
	if (!ret)
		fd_install(fd, shadow);
	vgpu_peer_put(peer);
	return ret;
}

static int agent_memory(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_memory *args = cmd->arg;
	struct vgpu_peer *peer;
	struct file *memory;
	int fd, ret;

	if (args->flags || args->reserved)
		return -EOPNOTSUPP;
	peer = agent_find_peer(data, args->peer);
	if (!peer)
		return -ENOENT;
	fd = get_unused_fd_flags(O_CLOEXEC);
	memory = fd < 0 ? ERR_PTR(fd) : vgpu_ram_create(peer, args->pieces);
	ret = vgpu_cmd_respond_file(cmd, &args->out_fd, fd, memory);
	if (!ret) {
		vgpu_ram_publish(peer, memory);
		fd_install(fd, memory);
	}
	vgpu_peer_put(peer);
	return ret;
}

static int agent_peer_stat(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_peer_stat *args = cmd->arg;
	struct vgpu_peer *peer = agent_find_peer(data, args->peer);

	if (!peer)
		return -ENOENT;
	vgpu_peer_stat(peer, args);
	vgpu_peer_put(peer);
	return vgpu_cmd_respond(cmd);
}

static int agent_guest_stat(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_guest_stat *args = cmd->arg;
	struct vgpu_host_tally *tallies = NULL;
	struct vgpu_agent *agent = data;
	u32 nr = min_t(u32, args->nr, VGPU_HOST_TALLIES_MAX);
	int ret;

	if ((args->flags & ~VGPU_HOST_GUEST_NEXT) || args->reserved)
		return -EOPNOTSUPP;
	if (nr) {
		tallies = kvcalloc(nr, sizeof(*tallies), GFP_KERNEL_ACCOUNT);
		if (!tallies)
			return -ENOMEM;
	}
	mutex_lock(&agent->lock);
	ret = vgpu_peers_guest_stat(agent, args, tallies, nr);
	mutex_unlock(&agent->lock);
	if (!ret && copy_to_user(u64_to_user_ptr(args->tallies), tallies,
				 min(nr, args->out_nr) * sizeof(*tallies)))
		ret = -EFAULT;
	kvfree(tallies);
	return ret ?: vgpu_cmd_respond(cmd);
}

static int agent_session_stat(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_session_stat *args = cmd->arg;
	struct vgpu_peer *peer = agent_find_peer(data, args->peer);
	int ret;

	if (!peer)
		return -ENOENT;
	ret = vgpuh_session_stat(peer, args);
	vgpu_peer_put(peer);
	return ret ?: vgpu_cmd_respond(cmd);
}

static int agent_denials(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_denials *args = cmd->arg;
	struct vgpu_peer *peer;
	int ret;

	if (args->reserved)
		return -EOPNOTSUPP;
	peer = agent_find_peer(data, args->peer);
	if (!peer)
		return -ENOENT;
	ret = vgpu_grant_denials(peer, args);
	vgpu_peer_put(peer);
	return ret ?: vgpu_cmd_respond(cmd);
}

static int agent_peer_limit(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_peer_limit *args = cmd->arg;
	struct vgpu_agent *agent = data;
	struct vgpu_peer *peer;
	int ret = -ENOENT;

	mutex_lock(&agent->lock);
	peer = xa_load(&agent->peers, args->peer);
	if (peer)
		ret = vgpuh_limits_change(peer, args);
	mutex_unlock(&agent->lock);
	return ret;
}

static int agent_peer_use(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	struct vgpu_host_peer_use *args = cmd->arg;
	struct vgpu_peer *peer = agent_find_peer(data, args->peer);

	if (!peer)
		return -ENOENT;
	memset(&args->out_now, 0, sizeof(args->out_now));
	memset(&args->out_most, 0, sizeof(args->out_most));
	vgpuh_limits_use(peer, args);
	vgpuh_sessions_use(peer, &args->out_now);
	vgpu_peer_put(peer);
	return vgpu_cmd_respond(cmd);
}

static int agent_window_create(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpuh_window_create(cmd->arg, cmd);
}

static int agent_window_destroy(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpuh_window_destroy(cmd->arg);
}

static int agent_window_drain(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpuh_window_drain(cmd->arg);
}

static int agent_window_stat(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	int ret = vgpuh_window_stat(cmd->arg);

	return ret ?: vgpu_cmd_respond(cmd);
}

static int agent_settle(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	vgpu_lasting_settle(data);
	return 0;
}

static int agent_note(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpu_note_set(data, cmd->arg, file->f_op);
}

static int agent_note_find(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	return vgpu_note_find(data, cmd->arg, cmd);
}

static const struct vgpu_cmd_op agent_none_ops[] = {
	VGPU_CMD(VGPU_HOST_AGENT, struct vgpu_host_agent, agent_become),
};

static int agent_change(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_host_agent *args = cmd->arg;

	return args->flags ? agent_become(data, file, cmd) : -EBUSY;
}

static const struct vgpu_cmd_op agent_ops[] = {
	VGPU_CMD(VGPU_HOST_AGENT, struct vgpu_host_agent, agent_change),
	{ .cmd = VGPU_HOST_SETTLE, .fn = agent_settle },
	VGPU_CMD(VGPU_HOST_NOTE, struct vgpu_host_note, agent_note),
	VGPU_CMD(VGPU_HOST_NOTE_FIND, struct vgpu_host_note_find, agent_note_find),
	VGPU_CMD(VGPU_HOST_EXPORT_ADD, struct vgpu_host_export_add, agent_export_add),
	VGPU_CMD(VGPU_HOST_EXPORT_DEL, struct vgpu_host_export_del, agent_export_del),
	VGPU_CMD(VGPU_HOST_EXPORT_CHANGE, struct vgpu_host_export_change, agent_export_change),
	VGPU_CMD(VGPU_HOST_EXPORT_FILE, struct vgpu_host_export_file, agent_export_file),
	VGPU_CMD(VGPU_HOST_PEER_ADD, struct vgpu_host_peer_add, agent_peer_add),
	VGPU_CMD(VGPU_HOST_PEER_DEL, struct vgpu_host_peer_del, agent_peer_del),
	VGPU_CMD(VGPU_HOST_GRANT, struct vgpu_host_grant, agent_grant),
	VGPU_CMD(VGPU_HOST_REVOKE, struct vgpu_host_revoke, agent_revoke),
	VGPU_CMD(VGPU_HOST_SHADOW, struct vgpu_host_shadow, agent_shadow),
	VGPU_CMD(VGPU_HOST_MEMORY, struct vgpu_host_memory, agent_memory),
	VGPU_CMD(VGPU_HOST_PEER_STAT, struct vgpu_host_peer_stat, agent_peer_stat),
	VGPU_CMD(VGPU_HOST_GUEST_STAT, struct vgpu_host_guest_stat, agent_guest_stat),
	VGPU_CMD(VGPU_HOST_SESSION_STAT, struct vgpu_host_session_stat, agent_session_stat),
	VGPU_CMD(VGPU_HOST_DENIALS, struct vgpu_host_denials, agent_denials),
	VGPU_CMD(VGPU_HOST_PEER_LIMIT, struct vgpu_host_peer_limit, agent_peer_limit),
	VGPU_CMD(VGPU_HOST_PEER_USE, struct vgpu_host_peer_use, agent_peer_use),
	VGPU_CMD(VGPU_HOST_WINDOW_CREATE, struct vgpu_host_window_create, agent_window_create),
	VGPU_CMD(VGPU_HOST_WINDOW_DESTROY, struct vgpu_host_window_destroy, agent_window_destroy),
	VGPU_CMD(VGPU_HOST_WINDOW_DRAIN, struct vgpu_host_window_drain, agent_window_drain),
	VGPU_CMD(VGPU_HOST_WINDOW_STAT, struct vgpu_host_window_stat, agent_window_stat),
};

long vgpu_agent_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vgpu_agent *agent = vgpu_agent_of(file);

	if (!agent)
		return vgpu_cmd_run(agent_none_ops, ARRAY_SIZE(agent_none_ops), NULL, file, cmd,
				    arg);
	return vgpu_cmd_run(agent_ops, ARRAY_SIZE(agent_ops), agent, file, cmd, arg);
}
