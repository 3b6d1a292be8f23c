// SPDX-License-Identifier: GPL-2.0-only
/*
 * Service of lanes: a thread of the shadow receives calls (receive.c), runs them and replies.
 *
 * The thread returns to user mode between a call and its reply whenever work is pending there.
 * A final fput() runs ->release only on that way, and the handler of a cancel's signal runs
 * there.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "base/cmd.h"
#include "base/keys.h"
#include "call/receive.h"
#include "call/run.h"
#include "call/serve.h"
#include "conn.h"
#include "cover.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "plant.h"
#include "session/call.h"
#include "session/fdtable.h"
#include "session/lane.h"
#include "session/session.h"
#include "wire.h"

static void lane_count_bytes(struct vgpuh_lane *lane)
{
	struct vgpu_peer *peer = lane->session->peer;
	u64 in = lane->conn.rx_bytes - lane->rx_counted;
	u64 out = lane->conn.tx_bytes - lane->tx_counted;
	u64 rate = READ_ONCE(peer->bounds.rates.bytes);

	atomic64_add(in, &peer->counters.bytes_in);
	atomic64_add(out, &peer->counters.bytes_out);
	/* The guest's next call pays for the bytes that this one has not paid for. */
	if (rate && in + out > lane->call.paid)
		vgpuh_call_charge(&lane->call, rate, in + out - lane->call.paid);
	lane->call.paid = 0;
	lane->rx_counted = lane->conn.rx_bytes;
	lane->tx_counted = lane->conn.tx_bytes;
}

/* --- serving -------------------------------------------------------------- */

/* Send the reply. Return: 0, or -ESHUTDOWN. */
static int lane_reply(struct vgpuh_lane *lane)
{
	struct vgpuh_call *call = &lane->call;
	int ret;

	/* The flag is set first, as the guest owns the objects once the reply is sent. */
	lane->proto.unacked = call->reply.nr_objects;
	ret = vgpuh_call_send_reply(call);
	vgpuh_call_finish(call);
	lane_count_bytes(lane);
	return ret ? -ESHUTDOWN : 0;
}

static bool lane_must_leave(const struct vgpuh_lane *lane)
{
	return lane->call.op->leave || !lane->event || signal_pending(current) ||
	       task_work_pending(current);
}

static int lane_run(struct vgpuh_lane *lane)
{
	int ret;

	for (;;) {
		if (lane->call.done) {
			ret = lane_reply(lane);
			if (ret)
				return ret;
			/*
			 * Files that were put with the call are released before the thread does
			 * anything else.
			 */
			if (task_work_pending(current))
				return 0;
		}
		ret = lane->held ? 0 : vgpuh_lane_recv(lane);
		if (ret == -EINTR)
			return 0;
		if (ret == -ENOMEM) {
			vgpuh_call_reject(&lane->call, ret);
			continue;
		}
		if (ret)
			return ret;
		/* A thread that had no memory for an eventfd may have it by now. */
		lane->held = !lane->event && !lane->held;
		if (lane->held)
			return 0;
		vgpuh_lane_set_running(lane, true);
		ret = vgpuh_call_run(&lane->call);
		vgpuh_lane_set_running(lane, false);
		if (ret) {
			vgpuh_call_finish(&lane->call);
			vgpuh_lane_malformed(lane, VGPU_MSG_CALL);
			return -ESHUTDOWN;
		}
		if (lane_must_leave(lane))
			return 0;
	}
}

static int lane_send_ready(struct vgpuh_lane *lane)
{
	struct vgpu_hdr ready = VGPU_HDR(sizeof(ready), VGPU_MSG_LANE_READY, 0);
	struct kvec vec = { .iov_base = &ready, .iov_len = sizeof(ready) };

	return vgpu_conn_send(&lane->conn, &vec, 1, sizeof(ready), VGPU_MSG_TIMEOUT_MS);
}

/* Bind the lane to the first thread that serves it. */
static int lane_bind(struct vgpuh_lane *lane, const struct vgpu_lane_serve *args)
{
	struct vgpuh_session *session = lane->session;
	int ret;

	if ((args->flags & ~VGPU_LANE_KEYS) || args->reserved ||
	    (args->flags && !vgpu_keys_there()))
		return -EOPNOTSUPP;
	/*
	 * The check is made each time: the thread was in user mode, where it could share its
	 * table.
	 */
	if (!vgpu_fdtable_is_private(lane->file))
		return -EINVAL;
	if (lane->task && lane->task != current)
		return -EBUSY;
	/* This check is made each time, too, as the process may have called exec() meanwhile. */
	if (lane->task)
		return session->process.mm == current->mm ? 0 : -EINVAL;
	if (!args->scratch_len || !PAGE_ALIGNED(args->scratch | args->scratch_len) ||
	    args->scratch_len < VGPU_LANE_SCRATCH_MIN || args->scratch_len > session->peer->agent
	    ->reserved_size || args->scratch < session->peer->agent->reserved_base ||
	    args->scratch - session->peer->agent->reserved_base >
	    session->peer->agent->reserved_size - args->scratch_len)
		return -EINVAL;
	ret = vgpuh_session_bind(session);
	if (ret)
		return ret;

	/* A thread serves one lane: the insertion fails if current serves another one already. */
	ret = xa_insert(&session->lanes.tasks, (unsigned long)current, lane, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -EBUSY : -ENOMEM;
	/* Several threads may get here before one of them becomes the lane's. */
	if (cmpxchg(&lane->task, NULL, get_task_struct(current))) {
		xa_erase(&session->lanes.tasks, (unsigned long)current);
		put_task_struct(current);
		return -EBUSY;
	}
	lane->keys = args->flags & VGPU_LANE_KEYS;
	lane->scratch.addr = args->scratch;
	lane->scratch.len = args->scratch_len;
	/* The content of the scratch memory is unknown. */
	lane->scratch.used = args->scratch_len;
	return 0;
}

/* Take the file that the thread has brought, if it is an eventfd; others do not report signals. */
static int lane_take_event(struct vgpuh_lane *lane, int fd)
{
	struct file *file = fget(fd);
	struct eventfd_ctx *ctx;

	if (!file)
		return -EBADF;
	ctx = eventfd_ctx_fileget(file);
	if (IS_ERR(ctx)) {
		fput(file);
		if (vgpu_planted(VGPU_PLANT_EVENTFD))
			fput(file);
		return PTR_ERR(ctx);
	}
	eventfd_ctx_put(ctx);
	/* Several threads may get here before one of them becomes the lane's. */
	if (cmpxchg(&lane->event, NULL, file)) {
		fput(file);
		return -EBUSY;
	}
	close_fd(fd);
	return 0;
}

static int lane_serve(void *data, struct file *file, struct vgpu_cmd *cmd)
{
	const struct vgpu_lane_serve *args = cmd->arg;
	struct vgpuh_lane *lane = data;
	int ret;

	/* The eventfd leaves the fd table before lane_bind() checks the table. */
	if (args->event_fd >= 0 && (!lane->task || lane->task == current)) {
		ret = lane_take_event(lane, args->event_fd);
		if (ret)
			return ret;
	}
	ret = lane_bind(lane, args);
	if (ret)
		return ret;
	if (!lane->ready) {
		if (lane_send_ready(lane))
			return -ESHUTDOWN;
		lane->ready = true;
	}
	vgpu_cover_start();
	ret = lane_run(lane);
	vgpu_cover_stop();
	return !ret && !lane->event ? VGPU_LANE_NEEDS_EVENT : ret;
}

static const struct vgpu_cmd_op lane_ops[] = {
	VGPU_CMD(VGPU_LANE_SERVE, struct vgpu_lane_serve, lane_serve),
};

static long lane_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return vgpu_cmd_run(lane_ops, ARRAY_SIZE(lane_ops), file->private_data, file, cmd, arg);
}

/* --- lifetime ------------------------------------------------------------- */

static void lane_unpublish(struct vgpuh_lane *lane)
{
	struct vgpuh_session *session = lane->session;

	mutex_lock(&session->lanes.lock);
	list_del(&lane->node);
	WRITE_ONCE(session->lanes.nr, session->lanes.nr - 1);
	mutex_unlock(&session->lanes.lock);
	atomic_dec(&session->peer->sessions.nr_lanes);
	/* The session's end may wait for its last lane. */
	wake_up_all(&session->peer->wait);
}

static void lane_free(struct vgpuh_lane *lane)
{
	kvfree(lane->buf);
	kvfree(lane->reply_buf);
	kfree(lane);
}

static int lane_release(struct inode *inode, struct file *file)
{
	struct vgpuh_lane *lane = file->private_data;
	struct vgpuh_session *session = lane->session;
	struct file *shadow = lane->shadow;
	bool unacked;

	lane_unpublish(lane);
	/* No callback comes after this, and no thread runs on the lane. */
	vgpu_conn_fini(&lane->conn);
	/* Objects that the guest did not acknowledge are taken back. */
	if (lane->proto.unacked || lane->call.done)
		vgpuh_call_take_back(&lane->call);
	vgpuh_call_finish(&lane->call);
	lane_count_bytes(lane);
	if (lane->event)
		fput(lane->event);
	if (lane->task) {
		xa_erase(&session->lanes.tasks, (unsigned long)lane->task);
		put_task_struct(lane->task);
	}
	unacked = lane->proto.unacked;
	lane_free(lane);
	if (!unacked || !vgpu_planted(VGPU_PLANT_UNACKED))
		fput(shadow);
	return 0;
}

static const struct file_operations lane_fops = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
	.unlocked_ioctl = lane_ioctl,
	.release = lane_release,
};

static struct vgpuh_lane *lane_alloc(struct vgpuh_session *session)
{
	struct vgpuh_lane *lane = kzalloc(sizeof(*lane), GFP_KERNEL_ACCOUNT);

	if (!lane)
		return NULL;
	lane->session = session;
	lane->call.lane = lane;
	spin_lock_init(&lane->cancel.lock);
	lane->conn.event = vgpuh_lane_event;
	lane->conn.event_data = lane;
	lane->buf = kvmalloc(VGPU_LANE_BUF, GFP_KERNEL_ACCOUNT);
	lane->reply_buf = kvmalloc(VGPU_LANE_BUF, GFP_KERNEL_ACCOUNT);
	if (lane->buf && lane->reply_buf)
		return lane;
	lane_free(lane);
	return NULL;
}

/* Add the lane to the session's list, where the session's end finds it. */
static int lane_publish(struct vgpuh_lane *lane)
{
	struct vgpuh_session *session = lane->session;
	struct vgpu_peer *peer = session->peer;
	int ret = 0;

	mutex_lock(&session->lanes.lock);
	if (READ_ONCE(session->ending)) {
		ret = -ESHUTDOWN;
	} else if (session->lanes.nr >= READ_ONCE(peer->limits.lanes)) {
		atomic64_inc(&peer->counters.refused);
		ret = -EMFILE;
	} else {
		list_add_tail(&lane->node, &session->lanes.list);
		session->lanes.nr++;
		vgpuh_use_most(&peer->bounds.most.lanes, session->lanes.nr);
	}
	mutex_unlock(&session->lanes.lock);
	if (!ret)
		atomic_inc(&peer->sessions.nr_lanes);
	return ret;
}

struct file *vgpuh_lane_create(struct vgpuh_session *session, struct file *shadow, int sock_fd)
{
	struct vgpuh_lane *lane;
	int ret;

	lane = lane_alloc(session);
	if (!lane)
		return ERR_PTR(-ENOMEM);
	ret = vgpu_conn_attach_fd(&lane->conn, sock_fd);
	if (ret)
		goto err_free_lane;
	ret = lane_publish(lane);
	if (ret)
		goto err_fini_conn;
	/* The release of the file undoes everything above. */
	lane->shadow = get_file(shadow);
	lane->file = anon_inode_getfile("[vgpu-lane]", &lane_fops, lane, O_RDWR);
	if (IS_ERR(lane->file)) {
		ret = PTR_ERR(lane->file);
		goto err_unpublish;
	}
	return lane->file;

err_unpublish:
	lane_unpublish(lane);
	fput(shadow);
err_fini_conn:
	vgpu_conn_fini(&lane->conn);
err_free_lane:
	lane_free(lane);
	if (vgpu_planted(VGPU_PLANT_LANE))
		lane_free(lane);
	return ERR_PTR(ret);
}
