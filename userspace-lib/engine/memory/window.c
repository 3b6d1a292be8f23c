// SPDX-License-Identifier: MIT
/*
 * The guest's window, and the mappings that are visible in the window. The guest chooses the
 * place of a mapping. The keeper of the window (engine/keeper) has the hypervisor map a file at
 * that place. The engine never waits for the two: it answers the lane that has asked when the
 * keeper has answered.
 *
 * A range is bound when the keeper is asked to show a mapping there, and free again when the
 * keeper says that the mapping is hidden. Memory that the engine owns for the mapping (owner.h)
 * is given back then, and never before: freed memory may become another guest's.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/memory/lend.h"
#include "engine/memory/notice.h"
#include "engine/memory/window.h"
#include "engine/object/object.h"
#include "engine/process/shadow.h"
#include "shared/keeper_proto.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Time limit of a BIND in milliseconds. The guest waits a second for the answer. */
#define BIND_WAIT_MS	500
#define PAGE_MASK	4095ULL

enum binding_state {
	BINDING_NEW,	/* the keeper was asked to show the mapping */
	BINDING_THERE,	/* the guest sees the mapping */
	BINDING_OLD,	/* the keeper was asked to hide the mapping */
};

/**
 * struct binding - a range of the window in which a mapping is visible, or may be
 * @node: list entry of bindings
 * @tag: number by which the keeper's answers name the binding; never used for another one
 * @state: the last request to the keeper, and whether the keeper has done it
 * @offset: place of the range in the window, in bytes
 * @len: length of the range in bytes
 * @shadow: shadow whose mapping is shown; NULL: the shadow has ended
 * @lane: index of the shadow's lane that waits for an answer, if @asked
 * @asked: true if a lane waits for an answer
 * @object: number of the object whose memory is shown; 0: the guest has closed the object
 * @unwanted: true if the mapping is to be hidden as soon as the keeper has shown it
 * @lent: memory that is shown, to be given back when it is no longer visible
 * @timer: deadline of the answer; runs while @asked
 */
struct binding {
	LIST_ENTRY(binding) node;
	uint64_t tag;
	enum binding_state state;
	uint64_t offset;
	uint64_t len;
	struct shadow *shadow;
	uint32_t lane;
	bool asked;
	bool unwanted;
	uint32_t object;
	struct lent lent;
	struct timer timer;
};

/**
 * struct unbound - a range for which the guest waits until nothing is visible in it
 * @node: list entry of unbounds
 * @offset: place of the range in the window, in bytes
 * @len: length of the range in bytes
 */
struct unbound {
	STAILQ_ENTRY(unbound) node;
	uint64_t offset;
	uint64_t len;
};

static void keeper_ready(struct source *source, uint32_t events);

static struct source keeper = { .fd = -1, .ready = keeper_ready };
/* Number and length of the window that the guest was told of; 0: the guest has no window. */
static uint64_t window_id, window_len;
/*
 * Tag of the last READY message of the keeper. Requests to the keeper name the window by this
 * tag.
 */
static uint64_t last_ready;
static LIST_HEAD(, binding) bindings = LIST_HEAD_INITIALIZER(bindings);
static unsigned int nr_bindings;
static uint64_t bound_bytes;
static uint64_t last_tag;
static STAILQ_HEAD(, unbound) unbounds = STAILQ_HEAD_INITIALIZER(unbounds);
static unsigned int nr_unbounds;

/* --- bindings ----------------------------------------------------------------------- */

static struct binding *binding_at(uint64_t offset, uint64_t len)
{
	struct binding *binding;

	LIST_FOREACH(binding, &bindings, node)
		if (offset < binding->offset + binding->len && binding->offset < offset + len)
			return binding;
	return NULL;
}

static void binding_answer(struct binding *binding, int result)
{
	if (!binding->asked)
		return;
	binding->asked = false;
	timer_cancel(&binding->timer);
	shadow_answer(binding->shadow, binding->lane, result, NULL, 0, -1);
}

static void tell_counts(void)
{
	shared->nr_bindings = nr_bindings;
	shared->bound_bytes = bound_bytes;
}

static void binding_free(struct binding *binding)
{
	timer_cancel(&binding->timer);
	LIST_REMOVE(binding, node);
	nr_bindings--;
	bound_bytes -= binding->len;
	tell_counts();
	free(binding);
}

/*
 * Answer those UNBIND messages that overlap [offset, offset + len), and in whose ranges nothing is
 * visible any more.
 */
static void unbounds_look(uint64_t offset, uint64_t len)
{
	struct unbound *unbound, *next;

	for (unbound = STAILQ_FIRST(&unbounds); unbound; unbound = next) {
		next = STAILQ_NEXT(unbound, node);
		if (offset >= unbound->offset + unbound->len || unbound->offset >= offset + len ||
		    binding_at(unbound->offset, unbound->len))
			continue;
		notice_part(VGPU_MSG_UNBOUND, window_id, unbound->offset, unbound->len);
		STAILQ_REMOVE(&unbounds, unbound, unbound, node);
		nr_unbounds--;
		free(unbound);
	}
}

/* End the window, as the guest's driver for it is gone. Mappings may still be visible. */
static void window_gone(void)
{
	struct unbound *unbound;
	struct binding *binding;

	while ((binding = LIST_FIRST(&bindings))) {
		binding_answer(binding, -ENODEV);
		leftover_add(binding->tag, &binding->lent);
		binding_free(binding);
	}
	/* The guest does not wait for answers to UNBINDs of a window that is gone. */
	while ((unbound = STAILQ_FIRST(&unbounds))) {
		STAILQ_REMOVE_HEAD(&unbounds, node);
		free(unbound);
	}
	nr_unbounds = 0;
	if (window_id)
		notice_window(window_id, 0);
	window_id = 0;
	window_len = 0;
}

/* --- the keeper ----------------------------------------------------------------------- */

/*
 * Handle the end of the keeper. The hypervisor may live on, and nothing tells what it still shows.
 */
static void keeper_gone(void)
{
	source_close(&keeper);
	ram_forget();
	window_gone();
	leftovers_end(false);
}

/* Start a new window. The keeper says that nothing is visible in it that was lent before. */
static void window_come(const struct keeper_msg *ready)
{
	window_gone();
	leftovers_end(true);
	last_ready = ready->tag;
	window_id = ready->id;
	window_len = ready->len;
	if (window_id)
		notice_window(window_id, window_len);
}

static int keeper_ask(const struct keeper_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) };

	return packet_send(keeper.fd, &iov, 1, fd);
}

/* Hide a binding's mapping, which stays visible until the keeper says that it is hidden. */
static void binding_end(struct binding *binding)
{
	const struct keeper_msg msg = {
		.type = KEEPER_UNMAP,
		.tag = binding->tag,
		.offset = binding->offset,
		.len = binding->len,
	};

	if (binding->state == BINDING_NEW)
		binding->unwanted = true;
	if (binding->state != BINDING_THERE)
		return;
	binding->state = BINDING_OLD;
	/*
	 * The mapping must not stay visible. If the keeper cannot be asked, end the engine: the
	 * keeper hides all that an engine has shown when that engine ends.
	 */
	if (keeper_ask(&msg, -1))
		engine_end("the keeper of the window does not receive messages");
}

static void keeper_done(const struct keeper_msg *msg)
{
	struct binding *binding;

	LIST_FOREACH(binding, &bindings, node)
		if (binding->tag == msg->tag)
			break;
	if (!binding)
		return;
	if (binding->state == BINDING_OLD || msg->result) {
		uint64_t offset = binding->offset, len = binding->len;

		/* The guest uses copy mode for a mapping that the hypervisor does not accept. */
		binding_answer(binding, msg->result == -ENOSPC ? -ENOMEM : -EOPNOTSUPP);
		lend_over(&binding->lent);
		binding_free(binding);
		unbounds_look(offset, len);
		progress_notify();
		return;
	}
	binding->state = BINDING_THERE;
	if (binding->unwanted)
		binding_end(binding);
	else
		binding_answer(binding, 0);
}

static void keeper_ready(struct source *source, uint32_t events)
{
	struct keeper_msg msg;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return;
	if (len == sizeof(msg) && msg.type == KEEPER_RAM) {
		if (fd >= 0)
			ram_add(msg.offset, msg.len, msg.file_offset, fd);
		else
			ram_remove(msg.offset, msg.len);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (len != sizeof(msg)) {
		keeper_gone();
		return;
	}
	switch (msg.type) {
	case KEEPER_READY:
		window_come(&msg);
		break;
	case KEEPER_GONE:
		window_gone();
		break;
	case KEEPER_DONE:
		keeper_done(&msg);
		break;
	}
}

void window_keeper(int fd)
{
	if (fd < 0)
		return;
	keeper_gone();
	keeper.fd = fd;
	if (source_add(&keeper, EPOLLIN))
		engine_end("cannot watch the connection to the keeper of the window");
}

/* --- BIND ------------------------------------------------------------------------------- */

/* Answer the lane, as the hypervisor takes too long. */
static void binding_late(struct timer *timer)
{
	struct binding *binding = container_of(timer, struct binding, timer);

	binding->unwanted = true;
	binding_answer(binding, -EBUSY);
}

static int bind_check(const struct eshadow_bind *bind)
{
	if (!window_id || bind->window != window_id)
		return -ENODEV;
	if (!bind->len || !bind->offset || (bind->offset | bind->len) & PAGE_MASK)
		return -EINVAL;
	if (bind->offset > window_len || bind->len > window_len - bind->offset)
		return -ENODEV;
	if (binding_at(bind->offset, bind->len) || unbind_since(bind))
		return -EBUSY;
	if (nr_bindings < KEEPER_MAPPINGS_MAX)
		return 0;
	log_seldom("the window of a guest has reached the limit of %u mappings: further memory is copied instead",
		   nr_bindings);
	return -ENOMEM;
}

static int keeper_map(struct binding *binding)
{
	const struct keeper_msg map = {
		.type = KEEPER_MAP,
		.tag = binding->tag,
		.id = last_ready,
		.offset = binding->offset,
		.len = binding->len,
		.file_offset = binding->lent.file_offset,
	};

	return keeper_ask(&map, binding->lent.fd) ? -ENOMEM : 0;
}

static int bind_make(struct shadow *shadow, const struct eshadow_msg *ask,
		     const struct eshadow_bind *bind)
{
	struct object *object = object_find(ask->object);
	struct binding *binding;
	int ret;

	ret = object ? bind_check(bind) : -EINVAL;
	if (ret)
		return ret;
	binding = calloc(1, sizeof(*binding));
	if (!binding)
		return -ENOMEM;
	binding->tag = ++last_tag;
	binding->offset = bind->offset;
	binding->len = bind->len;
	ret = lend(object, bind->file_offset, bind->len, &binding->lent);
	if (ret)
		goto err_free;
	ret = keeper_map(binding);
	closer_close(binding->lent.fd, NULL, NULL);
	if (ret)
		goto err_give_back;
	binding->shadow = shadow;
	binding->object = object->id;
	binding->lane = ask->lane;
	binding->asked = true;
	binding->timer.expired = binding_late;
	timer_set(&binding->timer, BIND_WAIT_MS);
	LIST_INSERT_HEAD(&bindings, binding, node);
	nr_bindings++;
	bound_bytes += binding->len;
	tell_counts();
	return 0;

err_give_back:
	lend_over(&binding->lent);
err_free:
	free(binding);
	return ret;
}

void window_bind(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_bind *bind)
{
	int ret = bind_make(shadow, msg, bind);

	if (ret)
		shadow_answer(shadow, msg->lane, ret, NULL, 0, -1);
}

/* --- memory that devices keep ------------------------------------------------------------ */

void window_object_closed(uint32_t id)
{
	struct binding *binding;

	LIST_FOREACH(binding, &bindings, node)
		if (binding->object == id)
			binding->object = 0;
}

uint64_t window_now(void)
{
	return last_tag;
}

/* Objects that are still open do not count: what they have mapped belongs to no closed file. */
bool window_owns_since(uint64_t since)
{
	const struct binding *binding;

	if (leftovers_since(since))
		return true;
	LIST_FOREACH(binding, &bindings, node)
		if (binding->lent.owns && !binding->object && binding->tag > since)
			return true;
	return false;
}

/* --- UNBIND ------------------------------------------------------------------------------ */

void window_unbind(const struct vgpu_window_part *part)
{
	const struct unbind unbind = {
		.seq = le64_to_cpu(part->hdr.seq),
		.window = le64_to_cpu(part->window),
		.offset = le64_to_cpu(part->offset),
		.len = le64_to_cpu(part->len),
	};
	struct unbound *unbound;
	struct binding *binding;

	unbind_note(&unbind);
	if (unbind.window != window_id) {
		notice_part(VGPU_MSG_UNBOUND, unbind.window, unbind.offset, unbind.len);
		return;
	}
	LIST_FOREACH(binding, &bindings, node)
		if (unbind.offset < binding->offset + binding->len &&
		    binding->offset < unbind.offset + unbind.len)
			binding_end(binding);
	/*
	 * Ranges that the guest gives back do not overlap, and each that has to wait has a
	 * binding.
	 */
	if (nr_unbounds > KEEPER_MAPPINGS_MAX)
		engine_end("the guest has unbound window ranges that it did not have");
	unbound = malloc(sizeof(*unbound));
	if (!unbound)
		engine_end("out of memory");
	nr_unbounds++;
	unbound->offset = unbind.offset;
	unbound->len = unbind.len;
	STAILQ_INSERT_TAIL(&unbounds, unbound, node);
	unbounds_look(unbind.offset, unbind.len);
}

void window_shadow_gone(struct shadow *shadow)
{
	struct binding *binding;

	LIST_FOREACH(binding, &bindings, node) {
		if (binding->shadow != shadow)
			continue;
		binding->asked = false;
		timer_cancel(&binding->timer);
		binding->shadow = NULL;
		/*
		 * The shadow may have died, and the guest's programs may still have the mappings.
		 */
		if (binding->state == BINDING_THERE)
			notice_part(VGPU_MSG_INVALIDATE, window_id, binding->offset, binding->len);
		binding_end(binding);
	}
}
