// SPDX-License-Identifier: MIT
/*
 * The guest's window: which mappings are seen where in it. The guest chooses the place, the
 * keeper (engine/keeper) has the hypervisor map a file there. Neither is waited for: the
 * keeper answers later, and then so does the engine.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine.h"
#include "engine/packet.h"
#include "lend.h"

/* The guest waits a second for a BIND. */
#define BIND_WAIT_MS	500
/* Ranges that the guest gave back last. */
#define UNBINDS		1024
#define PAGE_MASK	4095ULL

enum binding_state {
	BINDING_NEW,	/* the keeper has it done */
	BINDING_THERE,
	BINDING_OLD,	/* the keeper has it undone */
};

/**
 * struct binding - a range of the window in which something is seen, or may be
 * @tag: of the requests to the keeper
 * @state: see there
 * @offset: in the window
 * @len: bytes
 * @shadow: whose mapping it is; NULL: it has ended
 * @lane: of it, which waits for an answer, if @asked
 * @asked: see @lane
 * @lent: by which it is seen
 * @unwanted: to be undone as soon as it is there
 * @timer: when the lane is answered in any case
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
	struct lent lent;
	struct timer timer;
};

/**
 * struct unbind - a range that the guest has given back
 * @seq: of the message; 0: none
 * @window: number of the window
 * @offset: of the range
 * @len: of the range
 */
struct unbind {
	uint64_t seq;
	uint64_t window;
	uint64_t offset;
	uint64_t len;
};

/**
 * struct unbound - a range of which the guest is to hear when nothing is seen there any more
 * @offset: of the range
 * @len: of the range
 */
struct unbound {
	STAILQ_ENTRY(unbound) node;
	uint64_t offset;
	uint64_t len;
};

static void keeper_ready(struct source *source, uint32_t events);

static struct source keeper = { .fd = -1, .ready = keeper_ready };
/* What the guest was told; 0: there is none. */
static uint64_t window_id, window_len;
static LIST_HEAD(, binding) bindings = LIST_HEAD_INITIALIZER(bindings);
static unsigned int nr_bindings;
static uint64_t last_tag;
/* The keeper has what keeps all that the engine owns beyond the engine's end. */
static bool has_owner_file;
static struct unbind unbinds[UNBINDS];
static unsigned int next_unbind;
/* Of the last one that is not among these any more. */
static uint64_t unbinds_gone;
static STAILQ_HEAD(, unbound) unbounds = STAILQ_HEAD_INITIALIZER(unbounds);
static unsigned int nr_unbounds;

/* --- to the guest ------------------------------------------------------------------ */

static void tell_window(uint64_t size)
{
	const struct vgpu_window_info msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WINDOW),
		.window = cpu_to_le64(window_id),
		.size = cpu_to_le64(size),
	};

	control_send(&msg, sizeof(msg));
}

static void tell_part(uint16_t type, uint64_t window, uint64_t offset, uint64_t len)
{
	const struct vgpu_window_part msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(type),
		.window = cpu_to_le64(window),
		.offset = cpu_to_le64(offset),
		.len = cpu_to_le64(len),
	};

	control_send(&msg, sizeof(msg));
}

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

static void binding_free(struct binding *binding)
{
	timer_cancel(&binding->timer);
	LIST_REMOVE(binding, node);
	shared->nr_bindings = --nr_bindings;
	shared->bound_bytes -= binding->len;
	free(binding);
}

static void unbounds_look(void)
{
	struct unbound *unbound, *next;

	for (unbound = STAILQ_FIRST(&unbounds); unbound; unbound = next) {
		next = STAILQ_NEXT(unbound, node);
		if (binding_at(unbound->offset, unbound->len))
			continue;
		tell_part(VGPU_MSG_UNBOUND, window_id, unbound->offset, unbound->len);
		STAILQ_REMOVE(&unbounds, unbound, unbound, node);
		nr_unbounds--;
		free(unbound);
	}
}

/*
 * The window has gone. @hidden: nothing is seen there any more, but perhaps what the hypervisor
 * was just asked to map: that stays the engine's until it ends.
 */
static void window_gone(bool hidden)
{
	struct unbound *unbound;
	struct binding *binding;

	while ((binding = LIST_FIRST(&bindings))) {
		binding_answer(binding, -ENODEV);
		if (hidden && binding->state != BINDING_NEW)
			lend_over(&binding->lent);
		binding_free(binding);
	}
	has_owner_file = false;
	/* What was said of it means nothing any more. */
	while ((unbound = STAILQ_FIRST(&unbounds))) {
		STAILQ_REMOVE_HEAD(&unbounds, node);
		free(unbound);
	}
	nr_unbounds = 0;
	if (window_id)
		tell_window(0);
	window_id = 0;
	window_len = 0;
}

/* --- the keeper ----------------------------------------------------------------------- */

/* The hypervisor need not have gone: what it may show stays the engine's until that ends. */
static void keeper_gone(void)
{
	source_close(&keeper);
	ram_forget();
	window_gone(false);
}

static int keeper_ask(const struct keeper_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) };

	return packet_send(keeper.fd, &iov, 1, fd);
}

/* It is seen no more as soon as the keeper says so. */
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
	/* It may not stay: without an engine the keeper takes all away. */
	if (keeper_ask(&msg, -1))
		engine_end("the keeper of the window does not listen");
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
		/* What the hypervisor does not take goes by copy. */
		binding_answer(binding, msg->result == -ENOSPC ? -ENOMEM : -EOPNOTSUPP);
		lend_over(&binding->lent);
		binding_free(binding);
		unbounds_look();
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
		window_id = msg.id;
		window_len = msg.len;
		tell_window(window_len);
		break;
	case KEEPER_GONE:
		window_gone(true);
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
		engine_end("no room for the keeper of the window");
}

/* --- BIND ------------------------------------------------------------------------------- */

/* The lane is answered, whatever the hypervisor does. */
static void binding_late(struct timer *timer)
{
	struct binding *binding = container_of(timer, struct binding, timer);

	binding->unwanted = true;
	binding_answer(binding, -EBUSY);
}

/* A call that is older than an UNBIND of the range: the guest would not give it back again. */
static bool bind_refused(const struct eshadow_bind *bind)
{
	size_t i;

	if (bind->seq < unbinds_gone)
		return true;
	for (i = 0; i < UNBINDS; i++)
		if (unbinds[i].seq > bind->seq && unbinds[i].window == bind->window &&
		    unbinds[i].offset < bind->offset + bind->len &&
		    bind->offset < unbinds[i].offset + unbinds[i].len)
			return true;
	return false;
}

static int bind_check(const struct eshadow_bind *bind)
{
	if (!window_id || bind->window != window_id)
		return -ENODEV;
	if (!bind->len || !bind->offset || (bind->offset | bind->len) & PAGE_MASK)
		return -EINVAL;
	if (bind->offset > window_len || bind->len > window_len - bind->offset)
		return -ENODEV;
	if (binding_at(bind->offset, bind->len) || bind_refused(bind))
		return -EBUSY;
	return nr_bindings >= KEEPER_MAPPINGS_MAX ? -ENOMEM : 0;
}

static int keeper_map(struct binding *binding)
{
	const struct keeper_msg hold = { .type = KEEPER_HOLD };
	const struct keeper_msg map = {
		.type = KEEPER_MAP,
		.tag = binding->tag,
		.offset = binding->offset,
		.len = binding->len,
		.file_offset = binding->lent.file_offset,
	};

	if (binding->lent.owns && !has_owner_file) {
		if (keeper_ask(&hold, owner_file()))
			return -ENOMEM;
		has_owner_file = true;
	}
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
	close(binding->lent.fd);
	if (ret)
		goto err_give_back;
	binding->shadow = shadow;
	binding->lane = ask->lane;
	binding->asked = true;
	binding->timer.expired = binding_late;
	timer_set(&binding->timer, BIND_WAIT_MS);
	LIST_INSERT_HEAD(&bindings, binding, node);
	shared->nr_bindings = ++nr_bindings;
	shared->bound_bytes += binding->len;
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

/* --- UNBIND ------------------------------------------------------------------------------ */

void window_unbind(const struct vgpu_window_part *part)
{
	const struct unbind unbind = {
		.seq = le64_to_cpu(part->hdr.seq),
		.window = le64_to_cpu(part->window),
		.offset = le64_to_cpu(part->offset),
		.len = le64_to_cpu(part->len),
	};
	struct unbind *oldest = &unbinds[next_unbind++ % UNBINDS];
	struct unbound *unbound;
	struct binding *binding;

	unbinds_gone = oldest->seq;
	*oldest = unbind;
	if (unbind.window != window_id) {
		tell_part(VGPU_MSG_UNBOUND, unbind.window, unbind.offset, unbind.len);
		return;
	}
	LIST_FOREACH(binding, &bindings, node)
		if (unbind.offset < binding->offset + binding->len &&
		    binding->offset < unbind.offset + unbind.len)
			binding_end(binding);
	/* Each is of a mapping that was bound, so there are no more of them. */
	if (nr_unbounds > KEEPER_MAPPINGS_MAX)
		engine_end("the guest gives back what it does not have");
	unbound = malloc(sizeof(*unbound));
	if (!unbound)
		engine_end("out of memory");
	nr_unbounds++;
	unbound->offset = unbind.offset;
	unbound->len = unbind.len;
	STAILQ_INSERT_TAIL(&unbounds, unbound, node);
	unbounds_look();
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
		/* Programs of the guest may still see it, if the shadow has ended by itself. */
		if (binding->state == BINDING_THERE)
			tell_part(VGPU_MSG_INVALIDATE, window_id, binding->offset, binding->len);
		binding_end(binding);
	}
}
