// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions. A process's first call makes a session. The session ends when two things are gone: the
 * mm, and all mappings that the shadow holds for the guest, those of forked children included.
 *
 * A work item connects the first lane, which makes the host create the shadow. So a task that
 * is killed meanwhile leaves no half-made session behind, and SESSION_CLOSE is never sent
 * before the host knows the session.
 */
#include <linux/err.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "link/control.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"

/**
 * struct vgpu_mm - an mm that has sessions
 * @mn: MMU notifier for the end of the mm, from mmu_notifier_get(), with a reference of each
 *	session
 * @sessions: list of struct vgpu_session (vgpu_mm_lock)
 */
struct vgpu_mm {
	struct mmu_notifier mn;
	struct list_head sessions;
};

static DEFINE_SPINLOCK(vgpu_mm_lock);

static void session_detach(struct vgpu_session *session);

static struct mmu_notifier *vgpu_mm_alloc(struct mm_struct *mm)
{
	struct vgpu_mm *vmm = kzalloc(sizeof(*vmm), GFP_KERNEL);

	if (!vmm)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&vmm->sessions);
	return &vmm->mn;
}

static void vgpu_mm_free(struct mmu_notifier *mn)
{
	kfree(container_of(mn, struct vgpu_mm, mn));
}

static void vgpu_mm_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct vgpu_mm *vmm = container_of(mn, struct vgpu_mm, mn);
	struct vgpu_session *session;

	for (;;) {
		spin_lock(&vgpu_mm_lock);
		session = list_first_entry_or_null(&vmm->sessions, struct vgpu_session, vmm_entry);
		if (session)
			vgpu_session_get(session);
		spin_unlock(&vgpu_mm_lock);
		if (!session)
			return;
		session_detach(session);
		vgpu_session_put(session);
	}
}

static const struct mmu_notifier_ops vgpu_mm_ops = {
	.alloc_notifier = vgpu_mm_alloc,
	.free_notifier = vgpu_mm_free,
	.release = vgpu_mm_release,
};

/* Ends the shadow after its last user. */
static void session_end(struct vgpu_session *session)
{
	struct vgpu_host *host = session->host;

	vgpu_lane_end_all(session);
	spin_lock(&host->lock);
	list_del(&session->entry);
	spin_unlock(&host->lock);
	/* A host that was too slow for the first lane has made the session, or makes it later. */
	if (!session->error || READ_ONCE(session->is_known))
		vgpu_control_session_close(host, session->number);
	vgpu_session_put(session);
}

/**
 * vgpu_session_hold - keep the shadow alive
 * @session: a session; the caller's reference keeps only the structure
 *
 * Mappings hold the shadow until vgpu_session_release(), because they show its memory. The
 * process's own use may end at any time: with the connection, or by an open() that replaces a
 * dead session.
 *
 * Return: false if the last user is gone, and the shadow with it.
 */
bool vgpu_session_hold(struct vgpu_session *session)
{
	return refcount_inc_not_zero(&session->users);
}

void vgpu_session_release(struct vgpu_session *session)
{
	if (refcount_dec_and_test(&session->users))
		session_end(session);
}

/* Ends the process's use of a session; may be called more than once. */
static void session_detach(struct vgpu_session *session)
{
	struct vgpu_mm *vmm = session->vmm;
	bool attached;

	spin_lock(&session->host->lock);
	hash_del(&session->hash);
	spin_unlock(&session->host->lock);

	spin_lock(&vgpu_mm_lock);
	attached = !list_empty(&session->vmm_entry);
	list_del_init(&session->vmm_entry);
	spin_unlock(&vgpu_mm_lock);

	if (attached) {
		mmu_notifier_put(&vmm->mn);
		vgpu_session_release(session);
	}
}

static void session_start(struct work_struct *work)
{
	struct vgpu_session *session = container_of(work, struct vgpu_session, start_work);

	session->error = vgpu_lane_start(session);
	if (session->error)
		vgpu_lane_end_all(session);
	complete_all(&session->started);
	/* Let the next call make a new session. */
	if (session->error)
		session_detach(session);
	vgpu_session_release(session);
}

static void session_check(struct work_struct *work)
{
	struct vgpu_session *session = container_of(work, struct vgpu_session, check_work);

	vgpu_lane_check(session);
	vgpu_session_put(session);
}

static struct vgpu_session *session_alloc(struct vgpu_host *host)
{
	struct vgpu_session *session = kzalloc(sizeof(*session), GFP_KERNEL);

	if (!session)
		return NULL;
	if (vgpu_host_ops()->session_init(session)) {
		kfree(session);
		return NULL;
	}
	kref_init(&session->ref);
	/* The mm is one user, start_work is the other. */
	refcount_set(&session->users, 2);
	session->host = vgpu_host_get(host);
	session->mm = current->mm;
	mmgrab(session->mm);
	session->tgid = task_tgid_nr(current);
	get_task_comm(session->comm, current->group_leader);
	INIT_HLIST_NODE(&session->hash);
	INIT_LIST_HEAD(&session->vmm_entry);
	INIT_WORK(&session->start_work, session_start);
	INIT_WORK(&session->check_work, session_check);
	init_completion(&session->started);
	mutex_init(&session->reserve_lock);
	spin_lock_init(&session->lock);
	INIT_LIST_HEAD(&session->pool.lanes);
	INIT_LIST_HEAD(&session->pool.coming);
	INIT_LIST_HEAD(&session->pool.idle);
	session->pool.lanes_max = host->terms.lanes_max;
	init_waitqueue_head(&session->pool.wait);
	return session;
}

static struct vgpu_session *session_find_locked(struct vgpu_host *host)
{
	struct mm_struct *mm = current->mm;
	struct vgpu_session *session;

	lockdep_assert_held(&host->lock);
	hash_for_each_possible(host->sessions.by_mm, session, hash, (unsigned long)mm) {
		if (session->mm == mm)
			return vgpu_session_get(session);
	}
	return NULL;
}

/* Makes a session. Return: a reference of it, or of a session that another thread has just made. */
static struct vgpu_session *session_create(struct vgpu_host *host, bool mm_locked)
{
	struct vgpu_session *session, *other;
	struct mmu_notifier *mn;

	if (mm_locked)
		mn = mmu_notifier_get_locked(&vgpu_mm_ops, current->mm);
	else
		mn = mmu_notifier_get(&vgpu_mm_ops, current->mm);
	if (IS_ERR(mn))
		return ERR_CAST(mn);
	session = session_alloc(host);
	if (!session) {
		mmu_notifier_put(mn);
		return ERR_PTR(-ENOMEM);
	}
	session->vmm = container_of(mn, struct vgpu_mm, mn);

	spin_lock(&host->lock);
	other = host->down ? ERR_PTR(-ENODEV) : session_find_locked(host);
	if (!other) {
		session->number = ++host->sessions.last;
		/* The second reference is for the caller; session_end() drops the first. */
		vgpu_session_get(session);
		hash_add(host->sessions.by_mm, &session->hash, (unsigned long)session->mm);
		list_add(&session->entry, &host->sessions.list);
		spin_lock(&vgpu_mm_lock);
		list_add(&session->vmm_entry, &session->vmm->sessions);
		spin_unlock(&vgpu_mm_lock);
	}
	spin_unlock(&host->lock);

	if (other) {
		mmu_notifier_put(mn);
		vgpu_session_put(session);
		return other;
	}
	vgpu_session_start_later(session);
	return session;
}

/**
 * vgpu_session_current - find or make the session of the calling process
 * @host: host of the session
 * @flags: VGPU_SESSION_*
 *
 * Context: process. Waits killably for the host to make the shadow.
 * Return: a session with a reference, or an ERR_PTR(): -ENODEV (the host is lost, the shadow is
 * dead, or the caller has no mm), -ENOENT (VGPU_SESSION_FIND), -ENOMEM, -EINTR, or the errno
 * with which the first lane failed.
 */
struct vgpu_session *vgpu_session_current(struct vgpu_host *host, unsigned int flags)
{
	struct vgpu_session *session;
	int ret;

	if (!current->mm || vgpu_host_is_down(host))
		return ERR_PTR(-ENODEV);
	spin_lock(&host->lock);
	session = session_find_locked(host);
	spin_unlock(&host->lock);
	if (session && READ_ONCE(session->dead) && (flags & VGPU_SESSION_RENEW) &&
	    completion_done(&session->started)) {
		session_detach(session);
		vgpu_session_put(session);
		session = NULL;
	}
	if (!session && (flags & VGPU_SESSION_FIND))
		return ERR_PTR(-ENOENT);
	if (!session)
		session = session_create(host, flags & VGPU_SESSION_MM_LOCKED);
	if (IS_ERR(session))
		return session;

	ret = wait_for_completion_killable(&session->started) ? -EINTR : session->error;
	if (!ret && READ_ONCE(session->dead))
		ret = -ENODEV;
	if (!ret)
		return session;
	vgpu_session_put(session);
	return ERR_PTR(ret);
}

/**
 * vgpu_session_any - find a session for a call that concerns no particular process
 * @host: host of the session
 * @number: number of the preferred session; 0: none is preferred
 * @may: function that tells whether a session is suitable; called with host->lock held
 *
 * Return: a session with a reference, which may end at any time, or NULL if there is none.
 */
struct vgpu_session *vgpu_session_any(struct vgpu_host *host, u64 number,
				      bool (*may)(const struct vgpu_session *session))
{
	struct vgpu_session *session, *found = NULL;

	spin_lock(&host->lock);
	list_for_each_entry(session, &host->sessions.list, entry) {
		if (!completion_done(&session->started) || READ_ONCE(session->dead) ||
		    !may(session))
			continue;
		found = session;
		if (session->number == number)
			break;
	}
	if (found)
		vgpu_session_get(found);
	spin_unlock(&host->lock);
	return found;
}

/* Kills all sessions of a host whose connection is lost; host->down prevents new sessions. */
void vgpu_session_abort_all(struct vgpu_host *host)
{
	struct vgpu_session *session;
	LIST_HEAD(aborted);

	spin_lock(&host->lock);
	while (!list_empty(&host->sessions.list)) {
		session = list_first_entry(&host->sessions.list, struct vgpu_session, entry);
		list_move(&session->entry, &aborted);
		vgpu_session_get(session);
		spin_unlock(&host->lock);
		vgpu_lane_end_all(session);
		session_detach(session);
		vgpu_session_put(session);
		spin_lock(&host->lock);
	}
	/* Sessions whose shadow is still in use stay listed until session_end(). */
	list_splice(&aborted, &host->sessions.list);
	spin_unlock(&host->lock);
}
