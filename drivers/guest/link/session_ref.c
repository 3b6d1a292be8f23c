// SPDX-License-Identifier: GPL-2.0-only
/* References of sessions, and the queue of the work items that hold them. */
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "link/host.h"
#include "link/session.h"

static struct workqueue_struct *session_wq;

/* Takes another reference. Return: @session. */
struct vgpu_session *vgpu_session_get(struct vgpu_session *session)
{
	kref_get(&session->ref);
	return session;
}

static void session_free(struct kref *ref)
{
	struct vgpu_session *session = container_of(ref, struct vgpu_session, ref);

	vgpu_host_ops()->session_fini(session);
	mmdrop(session->mm);
	vgpu_host_put(session->host);
	kfree(session);
}

void vgpu_session_put(struct vgpu_session *session)
{
	kref_put(&session->ref, session_free);
}

/* Queues the work item that connects the first lane; @session->users counts it already. */
void vgpu_session_start_later(struct vgpu_session *session)
{
	queue_work(session_wq, &session->start_work);
}

/*
 * Queues a check whether the shadow is dead. Context: any; the session must be kept, by a
 * reference or by a lane that has callbacks.
 */
void vgpu_session_check_later(struct vgpu_session *session)
{
	vgpu_session_get(session);
	if (!queue_work(session_wq, &session->check_work))
		vgpu_session_put(session);
}

int vgpu_session_global_init(void)
{
	session_wq = alloc_workqueue("vgpu_session", WQ_UNBOUND, 0);
	return session_wq ? 0 : -ENOMEM;
}

void vgpu_session_global_exit(void)
{
	destroy_workqueue(session_wq);
	/* Wait for the grace period after which vgpu_mm_free() runs. */
	mmu_notifier_synchronize();
}
