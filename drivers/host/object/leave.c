// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closed objects whose files are not released yet: those that a guest closes while devices keep
 * memory of the guest, and files of NVIDIA's driver. When these files are released, the guest
 * may use the memory again, and other processes may get the process numbers that NVIDIA's
 * driver remembers. So closed objects stay in a list, in order, until their files are released.
 *
 * When the last call on an object has ended, shadows may still map its file, as they have yet to
 * apply the guest's unmaps. And fput() in a task runs ->release only when the task returns to user
 * mode. So a work item of the peer takes the files over and puts each when no one else holds it:
 * ->release then runs in the work item. Files of other kinds than devices, as dma-bufs, may be
 * held by others for ever and are not waited for.
 *
 * A driver may return, as another object, a file that the guest has closed. If that object is
 * closed as well, the earlier one waits for the file, and the later one only for the earlier
 * one.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "base/work.h"
#include "cover.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/tgid.h"
#include "peer/control.h"
#include "peer/peer.h"

/* Times between two checks whether others have put a file. */
#define LEAVE_POLL_MIN		max(HZ / 100, 1)
#define LEAVE_POLL_MAX		max(HZ / 4, 1)

void vgpu_leave_begin(struct vgpu_peer *peer, struct vgpuh_object *object)
{
	spin_lock(&peer->leaves.lock);
	object->leave.number = ++peer->leaves.last;
	list_add_tail(&object->leave.node, &peer->leaves.list);
	spin_unlock(&peer->leaves.lock);
}

void vgpu_leave_free(struct vgpuh_object *object)
{
	struct vgpu_peer *peer = object->peer;

	spin_lock(&peer->leaves.lock);
	object->leave.state = VGPU_LEAVE_FREE;
	/*
	 * The lock is held, so the object is still in the list when the work is queued. The
	 * peer's end waits only until the list is empty, and the work must not be queued after
	 * that.
	 */
	mod_delayed_work(vgpu_host_patient_wq, &peer->leaves.work, 0);
	spin_unlock(&peer->leaves.lock);
}

bool vgpu_leave_over(struct vgpu_peer *peer, u64 leave)
{
	struct vgpuh_object *first;
	bool over;

	spin_lock(&peer->leaves.lock);
	first = list_first_entry_or_null(&peer->leaves.list, struct vgpuh_object, leave.node);
	over = !first || first->leave.number > leave;
	spin_unlock(&peer->leaves.lock);
	return over;
}

/*
 * A guest may close files on all its lanes while one file takes long to be released. So each object
 * knows the one task that waits for it, and a release wakes no other one.
 */
void vgpu_leave_expect(struct vgpuh_object *object, struct vgpu_leave_wait *wait)
{
	*wait = (struct vgpu_leave_wait){ .task = current };
	spin_lock(&object->peer->leaves.lock);
	object->leave.wait = wait;
	spin_unlock(&object->peer->leaves.lock);
}

static void leave_wake_locked(struct vgpuh_object *object)
{
	struct vgpu_leave_wait *wait = object->leave.wait;

	lockdep_assert_held(&object->peer->leaves.lock);
	if (!wait)
		return;
	object->leave.wait = NULL;
	wait->over = true;
	/* The task goes on when it has the lock. */
	wake_up_process(wait->task);
}

/* Check whether a task need not wait any more; it is not woken from then on. */
static bool leave_wait_is_over(struct vgpu_peer *peer, struct vgpuh_object *object,
			       struct vgpu_leave_wait *wait, unsigned int state)
{
	bool over;

	spin_lock(&peer->leaves.lock);
	/* A wait is over before the object is freed. */
	if (!wait->over && (object->leave.state == VGPU_LEAVE_USED ||
			    signal_pending_state(state, current))) {
		object->leave.wait = NULL;
		wait->over = true;
	}
	/* Without the lock, @wait may still be in use. */
	over = wait->over;
	spin_unlock(&peer->leaves.lock);
	return over;
}

void vgpu_leave_wait(struct vgpu_peer *peer, struct vgpuh_object *object,
		     struct vgpu_leave_wait *wait, unsigned int state)
{
	for (;;) {
		set_current_state(state);
		if (leave_wait_is_over(peer, object, wait, state))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

/*
 * Find the next list entry after @object (NULL: the first) that no call uses. Only the work
 * item removes list entries. Return: the object, or NULL.
 */
static struct vgpuh_object *leave_next(struct vgpu_peer *peer, struct vgpuh_object *object)
{
	struct vgpuh_object *found = NULL;

	spin_lock(&peer->leaves.lock);
	object = list_prepare_entry(object, &peer->leaves.list, leave.node);
	list_for_each_entry_continue(object, &peer->leaves.list, leave.node) {
		if (object->leave.state == VGPU_LEAVE_USED)
			continue;
		found = object;
		break;
	}
	spin_unlock(&peer->leaves.lock);
	return found;
}

/*
 * Check whether an object that this guest closed earlier has the same file, and so a reference
 * of it. A file that a driver gave to two guests is waited for until one of the guests ends.
 */
static bool leave_is_repeated(struct vgpu_peer *peer, const struct vgpuh_object *object)
{
	const struct vgpuh_object *earlier;
	bool repeated = false;

	spin_lock(&peer->leaves.lock);
	list_for_each_entry(earlier, &peer->leaves.list, leave.node) {
		repeated = earlier != object && earlier->file == object->file;
		if (repeated || earlier == object)
			break;
	}
	spin_unlock(&peer->leaves.lock);
	return repeated;
}

/*
 * Put the object's file if it is not waited for any more. @now: put it even if others hold it.
 * Return: true if the file was put.
 */
static bool leave_try(struct vgpu_peer *peer, struct vgpuh_object *object, bool now)
{
	struct file *file = object->file;
	bool repeated = false;

	/* Only the first attempt looks, in state FREE: the list gets no earlier objects later. */
	if (object->leave.state == VGPU_LEAVE_FREE)
		repeated = object->kind == VGPU_OBJECT_DEVICE && leave_is_repeated(peer, object);
	if (object->kind != VGPU_OBJECT_DEVICE || file_count(file) == 1 || now || repeated) {
		__fput_sync(file);
		return true;
	}
	spin_lock(&peer->leaves.lock);
	object->leave.state = VGPU_LEAVE_SHARED;
	leave_wake_locked(object);
	spin_unlock(&peer->leaves.lock);
	return false;
}

static void leave_end(struct vgpu_peer *peer, struct vgpuh_object *object)
{
	vgpu_tgid_released(object);
	vgpuh_object_free_fd(peer, object->fd);
	vgpuh_object_uncount(peer);
	/* The object leaves the list last: the guest may open another file from then on. */
	spin_lock(&peer->leaves.lock);
	list_del(&object->leave.node);
	leave_wake_locked(object);
	spin_unlock(&peer->leaves.lock);
	kfree_rcu(object, rcu);
}

/*
 * Put the files that can be put. *@again: out: true if files are left that others hold.
 * Return: true if files were put.
 */
static bool leave_pass(struct vgpu_peer *peer, bool now, bool *again)
{
	struct vgpuh_object *object, *next;
	bool any = false;

	*again = false;
	for (object = leave_next(peer, NULL); object; object = next) {
		bool released = leave_try(peer, object, now);

		next = leave_next(peer, object);
		if (released)
			leave_end(peer, object);
		any |= released;
		*again |= !released;
		cond_resched();
	}
	return any;
}

static void leave_work(struct work_struct *work)
{
	struct vgpu_peer *peer = container_of(to_delayed_work(work), struct vgpu_peer, leaves.work);
	bool again, any;

	vgpu_cover_start();
	any = leave_pass(peer, false, &again);
	if (READ_ONCE(peer->leaves.now) && again) {
		/* A file may have held a reference of another one that is later in the list. */
		while (leave_pass(peer, false, &again))
			any = true;
		any |= leave_pass(peer, true, &again);
	}
	vgpu_cover_stop();
	if (any) {
		peer->leaves.delay = LEAVE_POLL_MIN;
		/* The peer's end waits until the list is empty. */
		wake_up_all(&peer->wait);
		/* Answers to RELEASE may be due. */
		vgpuh_control_kick(peer);
	}
	if (!again)
		return;
	queue_delayed_work(vgpu_host_patient_wq, &peer->leaves.work, peer->leaves.delay);
	peer->leaves.delay = min(peer->leaves.delay * 2, LEAVE_POLL_MAX);
}

void vgpu_leave_init(struct vgpu_peer *peer)
{
	spin_lock_init(&peer->leaves.lock);
	INIT_LIST_HEAD(&peer->leaves.list);
	INIT_DELAYED_WORK(&peer->leaves.work, leave_work);
	peer->leaves.delay = LEAVE_POLL_MIN;
}

void vgpu_leave_all(struct vgpu_peer *peer)
{
	WRITE_ONCE(peer->leaves.now, true);
	mod_delayed_work(vgpu_host_patient_wq, &peer->leaves.work, 0);
	wait_event_idle(peer->wait, vgpu_leave_over(peer, U64_MAX));
	cancel_delayed_work_sync(&peer->leaves.work);
}
