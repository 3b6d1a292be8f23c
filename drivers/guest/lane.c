// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lanes of a session. A lane is on the session's list from before the host
 * is asked for it, so that the session's end reaches it in every state.
 *
 * Calls that wait for the device keep their lanes, and as many threads as there are lanes may
 * make such calls. So the last ones (LANE_RESERVE) go only to calls of which none of the same
 * kind is on a lane: those that wait are of few kinds, and the call that ends their wait is of
 * another.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "uapi/linux/vgpu_wire.h"

#include "deadline.h"
#include "host.h"
#include "lane.h"
#include "session.h"
#include "slot.h"

/* One attempt; a lost host is noticed between two. */
#define LANE_CONNECT_TIMEOUT_MS	1000
#define LANE_CONNECT_ATTEMPTS	10
/* A host that has no time for a new connection resets it. */
#define LANE_RESETS_MAX		10
#define LANE_RESET_DELAY_MS	10
/* How many lanes are not for more of the same, if there are eight times as many; else fewer. */
#define LANE_RESERVE		8U
/* The host makes a process for the first lane of a session. */
#define LANE_READY_TIMEOUT_MS	20000

/**
 * struct lane_coming - a lane that is counted and is being connected
 * @entry: in session->coming (session->lock)
 * @kind: of the call for which it is
 */
struct lane_coming {
	struct list_head entry;
	u64 kind;
};

static void lane_free(struct kref *ref)
{
	struct vgpu_lane *lane = container_of(ref, struct vgpu_lane, ref);

	vgpu_conn_fini(&lane->conn);
	if (lane->slot)
		vgpu_slot_put(lane->slot);
	kfree(lane);
}

/* Return: the caller has to put the list's reference. */
static bool lane_unlist_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	if (list_empty(&lane->entry))
		return false;
	list_del_init(&lane->entry);
	session->nr_idle -= !list_empty(&lane->idle_entry);
	list_del_init(&lane->idle_entry);
	if (session->mm_lane == lane)
		session->mm_lane = NULL;
	session->nr_lanes--;
	return true;
}

/* The end of the lane for class mm tells that the shadow is gone. Atomic context. */
static void lane_event(void *data)
{
	struct vgpu_lane *lane = data;
	struct vgpu_session *session = lane->session;

	/* The session is there for as long as a lane of it has callbacks. */
	if (READ_ONCE(session->mm_lane) == lane && vgpu_conn_was_ended(&lane->conn))
		vgpu_session_check_later(session);
}

/*
 * Keeps a lane for class mm. Return: it has ended already, of which lane_event() may have said
 * nothing, so vgpu_session_check_later() is to be called.
 */
static bool lane_keep_mm_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	WRITE_ONCE(session->mm_lane, lane);
	/* Pairs with the barrier in conn_changed(), which comes before lane_event(). */
	smp_mb();
	return vgpu_conn_was_ended(&lane->conn);
}

/* The same for an idle lane, if none is kept for class mm. */
static bool lane_keep_idle_locked(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	lane = list_first_entry_or_null(&session->idle, struct vgpu_lane, idle_entry);
	if (!lane || session->mm_lane || session->mm_lane_busy)
		return false;
	list_del_init(&lane->idle_entry);
	session->nr_idle--;
	return lane_keep_mm_locked(session, lane);
}

/* The shadow has died by itself. */
static void lane_lost(struct vgpu_session *session)
{
	/* The program finds dead files, and nothing else here tells why. */
	if (!READ_ONCE(session->dead))
		pr_info_ratelimited("%s (%u): host %s has ended its session\n", session->comm,
				    session->tgid, session->host->name);
	vgpu_session_kill(session);
}

/* How long a step may take that may take @most_ms. */
static unsigned int lane_time(unsigned long deadline, unsigned int most_ms)
{
	return min_not_zero(vgpu_deadline_ms(deadline), most_ms);
}

static int lane_hello(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_session *session = lane->session;
	struct vgpu_lane_hello hello = {
		.hdr.len = cpu_to_le32(sizeof(hello)),
		.hdr.type = cpu_to_le16(VGPU_MSG_LANE),
		.magic = cpu_to_le32(VGPU_WIRE_MAGIC),
		.tgid = cpu_to_le32(session->tgid),
		.session = cpu_to_le64(session->number),
	};
	struct kvec vec = { .iov_base = &hello, .iov_len = sizeof(hello) };
	unsigned int i;
	int ret;

	memcpy(hello.secret, session->host->secret, sizeof(hello.secret));
	/* A process names itself as it likes; the wire takes printable ASCII. */
	for (i = 0; i < sizeof(hello.comm) - 1 && session->comm[i]; i++)
		hello.comm[i] = session->comm[i] >= 0x20 && session->comm[i] < 0x7f ?
			session->comm[i] : '?';
	ret = vgpu_conn_send(&lane->conn, &vec, 1, sizeof(hello),
			     lane_time(deadline, LANE_READY_TIMEOUT_MS));
	memzero_explicit(&hello, sizeof(hello));
	return ret;
}

/* -ENODEV is the host's word alone that the session is over. */
static int lane_recv(struct vgpu_lane *lane, void *buf, size_t len, unsigned long deadline)
{
	int ret = vgpu_conn_recv(&lane->conn, buf, len,
				 lane_time(deadline, LANE_READY_TIMEOUT_MS));

	return ret == -ENODEV ? -ECONNRESET : ret;
}

static int lane_ready(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_refuse refuse;
	struct vgpu_hdr *hdr = &refuse.hdr;
	u32 len;
	int ret;

	ret = lane_recv(lane, hdr, sizeof(*hdr), deadline);
	if (ret)
		return ret;
	len = le32_to_cpu(hdr->len);
	if (vgpu_wire_hdr_check(hdr, &lane->session->host->limits) || len > sizeof(refuse))
		return -EPROTO;
	if (le16_to_cpu(hdr->type) == VGPU_MSG_LANE_READY)
		return vgpu_wire_msg_check(hdr, len, &lane->session->host->limits);
	if (le16_to_cpu(hdr->type) != VGPU_MSG_REFUSE)
		return -EPROTO;
	ret = lane_recv(lane, hdr + 1, len - sizeof(*hdr), deadline);
	if (ret)
		return ret;
	return -(int)min_t(u32, le32_to_cpu(refuse.error), MAX_ERRNO) ?: -EPROTO;
}

static int lane_connect_conn(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_host *host = lane->session->host;
	unsigned int i;
	int ret = -ENODEV;

	for (i = 0; i < LANE_CONNECT_ATTEMPTS; i++) {
		if (vgpu_host_is_down(host) || READ_ONCE(lane->session->dead))
			return -ENODEV;
		memset(&lane->conn, 0, sizeof(lane->conn));
		lane->conn.event = lane_event;
		lane->conn.event_data = lane;
		ret = vgpu_conn_connect(&lane->conn, host->cid, host->port, false,
					lane_time(deadline, LANE_CONNECT_TIMEOUT_MS));
		if (ret != -ETIMEDOUT || vgpu_deadline_passed(deadline))
			break;
	}
	return ret;
}

/*
 * One attempt to connect a lane that session->nr_lanes counts already; after a
 * failure it does not any more.
 *
 * Return: the lane with the caller's reference, or an ERR_PTR(): -ECONNRESET if
 * the host closed it without a word.
 */
static struct vgpu_lane *lane_connect_once(struct vgpu_session *session, unsigned long deadline)
{
	struct vgpu_lane *lane;
	bool dead;
	int ret;

	lane = kzalloc(sizeof(*lane), GFP_KERNEL);
	if (!lane) {
		ret = -ENOMEM;
		goto err_uncount;
	}
	kref_init(&lane->ref);
	lane->session = session;
	lane->slot_after = jiffies;
	INIT_LIST_HEAD(&lane->entry);
	INIT_LIST_HEAD(&lane->idle_entry);
	ret = lane_connect_conn(lane, deadline);
	if (ret) {
		kfree(lane);
		goto err_uncount;
	}

	spin_lock(&session->lock);
	dead = session->dead;
	if (!dead) {
		kref_get(&lane->ref);
		list_add(&lane->entry, &session->lanes);
	}
	spin_unlock(&session->lock);
	if (dead) {
		kref_put(&lane->ref, lane_free);
		ret = -ENODEV;
		goto err_uncount;
	}

	ret = lane_hello(lane, deadline);
	if (ret == -ENODEV)
		ret = -ECONNRESET;
	if (!ret)
		ret = lane_ready(lane, deadline);
	if (ret) {
		vgpu_lane_drop(lane);
		if (ret == -ENODEV)
			lane_lost(session);
		return ERR_PTR(ret);
	}
	return lane;

err_uncount:
	spin_lock(&session->lock);
	session->nr_lanes--;
	spin_unlock(&session->lock);
	wake_up_all(&session->wait);
	return ERR_PTR(ret);
}

/*
 * Connects a lane, as lane_connect_once(). The host's listen queue may be full
 * and its agent late on a busy machine; where the shadow is dead, the agent
 * says so in the end.
 * @deadline: jiffies; 0: as long as that takes
 */
static struct vgpu_lane *lane_connect(struct vgpu_session *session, unsigned long deadline)
{
	struct vgpu_lane *lane;
	unsigned int i;

	for (i = 0;; i++) {
		lane = lane_connect_once(session, deadline);
		if (lane != ERR_PTR(-ECONNRESET) || i == LANE_RESETS_MAX ||
		    vgpu_deadline_passed(deadline) ||
		    vgpu_host_is_down(session->host) || READ_ONCE(session->dead))
			return lane;
		schedule_timeout_killable(msecs_to_jiffies(LANE_RESET_DELAY_MS << min(i, 5U)));
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		spin_lock(&session->lock);
		session->nr_lanes++;
		spin_unlock(&session->lock);
	}
}

/* What a program gets for a lane that could not be made. */
static int lane_error(const struct vgpu_session *session, int error)
{
	switch (error) {
	case -EINTR:
	case -ENOMEM:
	case -EACCES:
	case -EBUSY:
	case -EMFILE:
		return error;
	}
	/* A program that is told of no device would not find out why. */
	if (!READ_ONCE(session->dead) && !vgpu_host_is_down(session->host))
		pr_warn_ratelimited("%s (%u): no lane to host %s (%d)\n", session->comm,
				    session->tgid, session->host->name, error);
	return -ENODEV;
}

/**
 * vgpu_lane_start - connect the first lane of a session
 * @session: a new one
 *
 * It is kept for calls of class mm.
 *
 * Return: 0 or a negative errno that a program may see.
 */
int vgpu_lane_start(struct vgpu_session *session)
{
	struct vgpu_lane *lane;
	bool ended = false;

	spin_lock(&session->lock);
	session->nr_lanes++;
	spin_unlock(&session->lock);
	lane = lane_connect(session, 0);
	if (IS_ERR(lane))
		return lane_error(session, PTR_ERR(lane));
	spin_lock(&session->lock);
	if (!list_empty(&lane->entry))
		ended = lane_keep_mm_locked(session, lane);
	spin_unlock(&session->lock);
	kref_put(&lane->ref, lane_free);
	if (ended)
		vgpu_session_check_later(session);
	return 0;
}

/* How many lanes may be connected still. The one for class mm has its room. */
static unsigned int lane_room_locked(const struct vgpu_session *session)
{
	unsigned int used = session->nr_lanes + (!session->mm_lane && !session->mm_lane_busy);

	lockdep_assert_held(&session->lock);
	return used < session->lanes_max ? session->lanes_max - used : 0;
}

static bool lane_has_kind_locked(const struct vgpu_session *session, u64 kind)
{
	const struct lane_coming *coming;
	const struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	list_for_each_entry(lane, &session->lanes, entry) {
		if (lane->kind == kind)
			return true;
	}
	list_for_each_entry(coming, &session->coming, entry) {
		if (coming->kind == kind)
			return true;
	}
	return false;
}

/* One of the lanes that are not kept for class mm may be used, or made, for this. */
static bool lane_is_for_locked(const struct vgpu_session *session,
			       const struct vgpu_lane_want *want)
{
	unsigned int spare = session->nr_idle + lane_room_locked(session);

	if (spare > clamp(session->lanes_max / 8, 1U, LANE_RESERVE))
		return true;
	if (!spare || want->mm_class)
		return false;
	return !want->kind || !lane_has_kind_locked(session, want->kind);
}

/* How lane_try_get() goes on. */
enum lane_connect {
	LANE_CONNECT_NONE,
	LANE_CONNECT_ANY,	/* none is free, but another may be made; it is counted */
	LANE_CONNECT_MM,	/* likewise the one that is kept for class mm */
};

/* One attempt to get a lane without waiting. If one is to be connected, it is @coming. */
static struct vgpu_lane *lane_try_get(struct vgpu_session *session,
				      const struct vgpu_lane_want *want,
				      struct lane_coming *coming, enum lane_connect *connect)
{
	struct vgpu_lane *lane = NULL;
	bool any;

	*connect = LANE_CONNECT_NONE;
	spin_lock(&session->lock);
	any = lane_is_for_locked(session, want);
	if (any)
		lane = list_first_entry_or_null(&session->idle, struct vgpu_lane, idle_entry);
	if (session->dead) {
		lane = ERR_PTR(-ENODEV);
	} else if (lane) {
		list_del_init(&lane->idle_entry);
		session->nr_idle--;
		lane->kind = want->kind;
		kref_get(&lane->ref);
	} else if (want->mm_class && session->mm_lane && !session->mm_lane_busy) {
		lane = session->mm_lane;
		session->mm_lane_busy = true;
		kref_get(&lane->ref);
	} else if (want->mm_class && !session->mm_lane && !session->mm_lane_busy) {
		/* A killed call took the lane for class mm with it: it gets a new one. */
		session->mm_lane_busy = true;
		session->nr_lanes++;
		*connect = LANE_CONNECT_MM;
	} else if (any && !want->connected) {
		session->nr_lanes++;
		*connect = LANE_CONNECT_ANY;
	}
	if (*connect != LANE_CONNECT_NONE) {
		coming->kind = want->kind;
		list_add(&coming->entry, &session->coming);
	}
	spin_unlock(&session->lock);
	return lane;
}

/* For wait_event: lane_try_get() would find something to do. */
static bool lane_may_get(struct vgpu_session *session, const struct vgpu_lane_want *want)
{
	bool may;

	spin_lock(&session->lock);
	may = session->dead || (want->mm_class && !session->mm_lane_busy) ||
		((session->nr_idle || !want->connected) && lane_is_for_locked(session, want));
	spin_unlock(&session->lock);
	return may;
}

/* Return: 0: look again; -ERESTARTSYS, -EINTR (killed), -ETIMEDOUT. */
static int lane_wait(struct vgpu_session *session, const struct vgpu_lane_want *want)
{
	long left = vgpu_deadline_left(want->deadline);

	if (want->interruptible)
		left = wait_event_interruptible_timeout(session->wait,
							lane_may_get(session, want), left);
	else
		left = wait_event_killable_timeout(session->wait, lane_may_get(session, want),
						   left);
	if (left > 0)
		return 0;
	if (!left)
		return -ETIMEDOUT;
	return want->interruptible && !fatal_signal_pending(current) ? -ERESTARTSYS : -EINTR;
}

/* @lane: just connected for class mm, or why it was not. */
static void lane_set_mm(struct vgpu_session *session, struct vgpu_lane *lane)
{
	bool ended = false;

	spin_lock(&session->lock);
	if (!IS_ERR(lane) && !list_empty(&lane->entry)) {
		ended = lane_keep_mm_locked(session, lane);
	} else if (IS_ERR(lane)) {
		session->mm_lane_busy = false;
		ended = lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->wait);
}

/* @lane: just connected, or why it was not. */
static void lane_has_come(struct vgpu_session *session, struct lane_coming *coming,
			  struct vgpu_lane *lane)
{
	spin_lock(&session->lock);
	list_del(&coming->entry);
	if (!IS_ERR(lane))
		lane->kind = coming->kind;
	spin_unlock(&session->lock);
	/* Calls of its kind have waited for it, and may have one connected themselves now. */
	if (IS_ERR(lane))
		wake_up_all(&session->wait);
}

/*
 * The host has no more lanes for us than there are: from now on, wait for one
 * of them.
 */
static bool lane_limit(struct vgpu_session *session, int error)
{
	bool limited = false;

	if (error != -EMFILE)
		return false;
	spin_lock(&session->lock);
	if (session->nr_lanes > 1) {
		session->lanes_max = session->nr_lanes;
		limited = true;
	}
	spin_unlock(&session->lock);
	return limited;
}

/**
 * vgpu_lane_get - take a lane for one call
 * @session: whose
 * @wanted: for what
 *
 * Calls of class mm wait only for others of that class. Where the host gives no more lanes,
 * for whatever reason, they wait for those that are there: a fault has nobody to tell. It fails
 * all the same if that class has no lane of its own at that time, as a call that was killed, or had
 * no time left, took it along.
 *
 * Return: a lane, to be given back by vgpu_lane_put() or vgpu_lane_drop(), or an
 * ERR_PTR(): -ENODEV, -EINTR (killed), -ERESTARTSYS, -ETIMEDOUT, ...
 */
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, const struct vgpu_lane_want *wanted)
{
	struct vgpu_lane_want now = *wanted, *want = &now;
	enum lane_connect connect;
	struct lane_coming coming;
	struct vgpu_lane *lane;
	int ret;

	for (;;) {
		lane = lane_try_get(session, want, &coming, &connect);
		if (lane)
			return lane;
		if (connect == LANE_CONNECT_NONE) {
			ret = lane_wait(session, want);
			if (ret)
				return ERR_PTR(ret);
			continue;
		}
		lane = lane_connect(session, want->deadline);
		lane_has_come(session, &coming, lane);
		if (connect == LANE_CONNECT_MM)
			lane_set_mm(session, lane);
		if (!IS_ERR(lane))
			return lane;
		if (vgpu_deadline_passed(want->deadline))
			return ERR_PTR(-ETIMEDOUT);
		if (connect == LANE_CONNECT_ANY && lane_limit(session, PTR_ERR(lane)))
			continue;
		ret = lane_error(session, PTR_ERR(lane));
		if (connect == LANE_CONNECT_MM || !want->mm_class || ret == -EINTR)
			return ERR_PTR(ret);
		want->connected = true;
	}
}

/* The call on @lane is over, the next one may have it. */
void vgpu_lane_put(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	bool ended = false;

	spin_lock(&session->lock);
	lane->kind = 0;
	if (session->mm_lane == lane) {
		session->mm_lane_busy = false;
	} else if (!list_empty(&lane->entry)) {
		list_add(&lane->idle_entry, &session->idle);
		session->nr_idle++;
		ended = lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	if (wq_has_sleeper(&session->wait))
		wake_up_all(&session->wait);
	kref_put(&lane->ref, lane_free);
}

/**
 * vgpu_lane_check - a lane ended: is it the shadow's end?
 * @session: whose it was
 *
 * The host may end one lane alone, after a page fetch that took too long. If it has ended the lane
 * for class mm too, whether that is used or not, the session is killed. A lane that a killed
 * thread, or one without time, left in mid-message tells nothing.
 */
void vgpu_lane_check(struct vgpu_session *session)
{
	bool ended;

	spin_lock(&session->lock);
	ended = session->mm_lane && vgpu_conn_was_ended(&session->mm_lane->conn);
	spin_unlock(&session->lock);
	if (ended)
		lane_lost(session);
}

/**
 * vgpu_lane_drop - the call on a lane is over, and so is the lane
 * @lane: the lane, whose end may be the shadow's
 */
void vgpu_lane_drop(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	bool listed, mm_lane, ended = false;

	/* When it is not the lane for class mm any more, it tells nothing. */
	vgpu_lane_check(session);
	spin_lock(&session->lock);
	mm_lane = session->mm_lane == lane;
	listed = lane_unlist_locked(session, lane);
	if (mm_lane) {
		session->mm_lane_busy = false;
		ended = lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	vgpu_conn_shutdown(&lane->conn);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->wait);
	if (listed)
		kref_put(&lane->ref, lane_free);
	kref_put(&lane->ref, lane_free);
}

/* Ends all lanes; the calls on them return. The session is dead: none follows. */
void vgpu_lane_end_all(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	for (;;) {
		spin_lock(&session->lock);
		lane = list_first_entry_or_null(&session->lanes, struct vgpu_lane, entry);
		if (lane)
			lane_unlist_locked(session, lane);
		spin_unlock(&session->lock);
		if (!lane)
			return;
		vgpu_conn_shutdown(&lane->conn);
		kref_put(&lane->ref, lane_free);
	}
}
