// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects. The guest keeps one reference to each object at the host. If replies name an object
 * more often, the further references are given back at once.
 *
 * A dying object leaves host->objects.by_id before its CLOSE is sent. If a reply names the object
 * meanwhile, the guest makes a new struct vgpu_object, which has a reference of its own. A CLOSE
 * names its reference by number, so it closes no other reference, and may be sent twice: by a
 * call, and by a message if the call ends without a reply.
 */
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "argument/schema.h"
#include "file/class.h"
#include "file/event.h"
#include "file/object.h"
#include "file/op.h"
#include "file/ready.h"
#include "link/call.h"
#include "link/control.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/keep.h"
#include "memory/space.h"

static void object_free(struct vgpu_object *object)
{
	vgpu_event_drop_all(object);
	vgpu_blank_free(object);
	if (!IS_ERR_OR_NULL(object->memory.space))
		vgpu_space_put(object->memory.space);
	if (object->node.drm)
		drm_dev_put(object->node.drm);
	put_device(object->node.device);
	put_pid(object->opener.pid);
	kfree(object->ahead);
	if (object->export->class_ops->free)
		object->export->class_ops->free(object);
	vgpu_export_put(object->export);
	vgpu_host_put(object->host);
	kfree(object);
}

static struct vgpu_object *object_alloc(struct vgpu_export *export,
					const struct vgpu_schema *schema,
					const struct vgpu_object_desc *desc)
{
	struct vgpu_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return NULL;
	kref_init(&object->ref);
	INIT_LIST_HEAD(&object->events);
	INIT_LIST_HEAD(&object->memory.keep.kept);
	object->export = vgpu_export_get(export);
	object->host = vgpu_host_get(export->host);
	object->id = le32_to_cpu(desc->object);
	object->reference = le32_to_cpu(desc->reference);
	object->kind = le32_to_cpu(desc->kind);
	object->fops = le32_to_cpu(desc->fops);
	object->flags = le32_to_cpu(desc->flags);
	object->f_flags = le32_to_cpu(desc->f_flags);
	object->size = le64_to_cpu(desc->size);
	object->schema = schema;
	/*
	 * Objects that calls return get the keepers (enum vgpu_schema_keepers) of the export,
	 * too: their files may hold the driver's memory.
	 */
	object->memory.keep.keepers = vgpu_schema_keepers(vgpu_export_schema(export),
							  export->driver, export->title);
	object->opener.pid = get_task_pid(current, PIDTYPE_PID);
	object->node.card = -1;
	xa_init_flags(&object->node.queued, XA_FLAGS_ACCOUNT);
	mutex_init(&object->file_lock);
	init_waitqueue_head(&object->readiness.wait);
	spin_lock_init(&object->readiness.lock);
	/* Must differ from readiness.gen, which begins with 0. */
	object->readiness.renewed = U32_MAX;
	spin_lock_init(&object->times.lock);
	/* ALSA's files begin with this clock; files of other drivers use no VGPU_CLOCK_FILE. */
	object->times.clock = VGPU_CLOCK_REALTIME;
	object->memory.space = vgpu_space_get(object->host, le64_to_cpu(desc->space));
	if (IS_ERR(object->memory.space)) {
		object_free(object);
		return NULL;
	}
	return object;
}

/* Return: an object that is not dying, with another reference, or NULL. */
static struct vgpu_object *object_find_locked(struct vgpu_host *host, u32 id)
{
	struct vgpu_object *object;

	lockdep_assert_held(&host->lock);
	hash_for_each_possible(host->objects.by_id, object, hash, id) {
		if (object->id == id && kref_get_unless_zero(&object->ref))
			return object;
	}
	return NULL;
}

/**
 * vgpu_object_adopt - make or find the object whose reference a reply gave
 * @export: export on which the call was made, whose counters the object uses
 * @schema: schema of the object's ioctls, if the object is new here
 * @desc: description of the object in the reply
 * @session: session of the call
 * @from: object of the call, or NULL if the call was OPEN
 *
 * Return: the object with a reference for the caller, or ERR_PTR(-ENOMEM) after the host's
 * reference was given back.
 */
struct vgpu_object *vgpu_object_adopt(struct vgpu_export *export,
				      const struct vgpu_schema *schema,
				      const struct vgpu_object_desc *desc,
				      struct vgpu_session *session, struct vgpu_object *from)
{
	struct vgpu_host *host = export->host;
	u32 id = le32_to_cpu(desc->object), reference = le32_to_cpu(desc->reference);
	struct vgpu_object *object, *other;

	object = object_alloc(export, schema, desc);
	if (object && vgpu_keep_open(object, session, from)) {
		object_free(object);
		object = NULL;
	}
	if (!object) {
		vgpu_control_close(host, id, reference, false);
		return ERR_PTR(-ENOMEM);
	}
	spin_lock(&host->lock);
	other = object_find_locked(host, id);
	if (!other)
		hash_add(host->objects.by_id, &object->hash, id);
	spin_unlock(&host->lock);
	if (!other)
		return object;
	vgpu_keep_name(session, from ?: object, other);
	/* A reference of @other is held, so its last CLOSE cannot be sent before this one. */
	vgpu_control_close(host, id, reference, false);
	vgpu_keep_close(object);
	object_free(object);
	return other;
}

static void object_unhash(struct kref *ref)
{
	struct vgpu_object *object = container_of(ref, struct vgpu_object, ref);

	spin_lock(&object->host->lock);
	hash_del(&object->hash);
	spin_unlock(&object->host->lock);
}

/*
 * Closes the host's file by a call, and waits until the driver's release has run. Return: false
 * if the host may not have closed the file. A call that is given up may have been executed, or
 * may be executed later, or never, if the session ends before the host has read the lane.
 */
static bool object_close_wait(struct vgpu_object *object)
{
	struct vgpu_session *session;
	struct vgpu_guest_call xcall;
	bool closed;

	/* A dying task must not wait: it sends a message. */
	if (!current->mm || (current->flags & (PF_EXITING | PF_KTHREAD)) ||
	    fatal_signal_pending(current))
		return false;
	/* A process without a session, which closes an inherited file, gets no new one. */
	session = vgpu_session_current(object->host, VGPU_SESSION_FIND);
	if (IS_ERR(session))
		return false;
	vgpu_guest_call_init(&xcall, VGPU_OP_CLOSE, object->id);
	xcall.flags = VGPU_GUEST_CALL_NO_CANCEL;
	xcall.msg.args.close.reference = cpu_to_le32(object->reference);
	xcall.stats = &object->export->stats;
	closed = !vgpu_op_run(session, object, &xcall) &&
		!(le32_to_cpu(xcall.reply.reply->flags) & VGPU_REPLY_REFUSED);
	vgpu_guest_call_fini(&xcall);
	vgpu_session_put(session);
	return closed;
}

/* Drops a reference; sends the object's CLOSE, after the last one, without waiting for the host. */
void vgpu_object_put(struct vgpu_object *object)
{
	if (!kref_put(&object->ref, object_unhash))
		return;
	vgpu_control_close(object->host, object->id, object->reference, false);
	vgpu_keep_close(object);
	object_free(object);
}

/**
 * vgpu_object_release - drop the reference of a file that is closed
 * @object: the object
 *
 * After the last reference, waits killably until the host has closed its file, because a device
 * may allow only one open file at a time. Does not wait for a fence: programs close one with
 * each frame, and the end of a fence has no visible effect. Does not wait either for a file
 * whose driver may have pinned memory (vgpu_keep_may()): later calls wait for that close on the
 * host.
 */
void vgpu_object_release(struct vgpu_object *object)
{
	bool fence = vgpu_ready_is_fence(object), closed = false;

	if (!kref_put(&object->ref, object_unhash))
		return;
	if (fence)
		vgpu_ready_fence_closed(object);
	if (fence || vgpu_keep_may(object))
		atomic64_inc(&object->export->stats.calls);
	else
		closed = object_close_wait(object);
	if (!closed)
		vgpu_control_close(object->host, object->id, object->reference, fence);
	vgpu_keep_close(object);
	object_free(object);
}

/* Wakes all pollers of a host whose connection is lost. */
void vgpu_object_hangup_all(struct vgpu_host *host)
{
	struct vgpu_object *object;
	int i;

	spin_lock(&host->lock);
	hash_for_each(host->objects.by_id, i, object, hash)
		wake_up_all(&object->readiness.wait);
	spin_unlock(&host->lock);
}

/**
 * vgpu_object_poll_event - handle the host's report that an armed object became ready
 * @host: the host
 * @event: the message; its object may be gone, or not known yet
 */
void vgpu_object_poll_event(struct vgpu_host *host, const struct vgpu_poll_event *event)
{
	u32 id = le32_to_cpu(event->object);
	struct vgpu_object *object;
	bool found = false;

	/*
	 * Take no reference: it may turn into the last one, and this thread, which receives all
	 * messages, would have to free the object.
	 */
	spin_lock(&host->lock);
	hash_for_each_possible(host->objects.by_id, object, hash, id) {
		if (object->id == id) {
			vgpu_ready_event(object, event);
			found = true;
		}
	}
	if (!found)
		WRITE_ONCE(host->objects.events_missed, host->objects.events_missed + 1);
	spin_unlock(&host->lock);
}
