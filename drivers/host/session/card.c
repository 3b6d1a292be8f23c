// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of NVIDIA's cards. That driver gives a card only to callers that have a file of the
 * card open, whatever file they ask by, and looks for one in the caller's fd table. The tables
 * of lanes hold nothing between calls. So a session remembers which of the guest's objects its
 * process has open, and one file of each card is in the table while the driver runs.
 *
 * No other thread of the shadow finds the file there: the table belongs to this thread alone.
 * The file has left the table before the thread is in user mode again, where the shadow may
 * have been taken over.
 */
#include <linux/bitmap.h>
#include <linux/kdev_t.h>
#include <linux/xarray.h>

#include "nvidia_rm.h"
#include "object/object.h"
#include "object/tgid.h"
#include "session/call.h"
#include "session/card.h"
#include "session/fdtable.h"
#include "session/lane.h"
#include "session/session.h"

/* Number of NVIDIA's minors that are cards; higher minors are files that all cards share. */
#define CARD_MINORS	248

int vgpu_card_of(const struct vgpuh_object *object)
{
	const struct inode *inode = file_inode(object->file);

	if (!vgpuh_object_is_nvidia(object) || !S_ISCHR(inode->i_mode) ||
	    MAJOR(inode->i_rdev) != RM_MAJOR || MINOR(inode->i_rdev) >= CARD_MINORS)
		return -1;
	return MINOR(inode->i_rdev);
}

void vgpu_card_forget(struct vgpuh_session *session, u32 id)
{
	if (xa_erase(&session->cards.table, id))
		atomic_dec(&session->cards.nr);
}

/*
 * Forget files that the guest has closed by another session or by a message, which did not
 * update this table.
 */
static void card_forget_closed(struct vgpuh_session *session)
{
	struct vgpuh_object *object;
	unsigned long id;
	void *entry;

	xa_for_each(&session->cards.table, id, entry) {
		object = vgpuh_object_find(session->peer, id);
		if (object)
			vgpuh_object_put(object);
		else
			vgpu_card_forget(session, id);
	}
}

int vgpu_card_add(struct vgpuh_session *session, const struct vgpuh_object *object)
{
	int card = vgpu_card_of(object);
	void *entry, *old;

	if (card < 0)
		return 0;
	entry = xa_mk_value(card);
	if (xa_load(&session->cards.table, object->id) == entry)
		return 0;
	/*
	 * The session remembers at least as many files as the guest has open, this one
	 * included. So some of them are closed.
	 */
	if (atomic_read(&session->cards.nr) >= READ_ONCE(session->peer->objects.nr))
		card_forget_closed(session);
	old = xa_store(&session->cards.table, object->id, entry, GFP_KERNEL_ACCOUNT);
	if (xa_is_err(old))
		return xa_err(old);
	if (!old)
		atomic_inc(&session->cards.nr);
	return 0;
}

/* Install the file of @object in the fd table. Consumes the caller's reference of @object. */
static int card_install(struct vgpuh_call *call, struct vgpuh_object *object)
{
	int fd = vgpu_fdtable_place(object, &call->fds.cards[call->fds.nr_cards]);

	if (fd < 0)
		return fd;
	call->fds.nr_cards++;
	return 0;
}

static void card_note_file(const struct vgpuh_call *call, const struct vgpu_fd *placed)
{
	if (placed->object && vgpuh_object_is_nvidia(placed->object))
		vgpu_tgid_use(call->lane->session->tgid, placed->object);
}

/*
 * Note the files that the process uses. A file that the call names may be registered with the
 * file of the call, and then the driver's clients belong to both.
 */
static void card_note_process(const struct vgpuh_call *call)
{
	u32 nr = call->fds.placed ? vgpu_view_nr_fixups(&call->view) : 0, i;

	vgpu_tgid_use(call->lane->session->tgid, call->object);
	card_note_file(call, &call->fds.arg);
	for (i = 0; i < nr; i++)
		card_note_file(call, &call->fds.placed[i]);
}

int vgpu_card_place(struct vgpuh_call *call)
{
	struct vgpuh_session *session = call->lane->session;
	DECLARE_BITMAP(placed, CARD_MINORS) = {};
	struct vgpuh_object *object;
	unsigned long id;
	void *entry;
	int card, ret;

	if (!vgpuh_object_is_nvidia(call->object))
		return 0;
	card_note_process(call);
	/* A process that has the file from another process did not open it by a call. */
	ret = vgpu_card_add(session, call->object);
	xa_for_each(&session->cards.table, id, entry) {
		if (ret || call->fds.nr_cards == VGPU_CARDS_MAX)
			break;
		card = xa_to_value(entry);
		if (test_bit(card, placed))
			continue;
		object = vgpuh_object_find(session->peer, id);
		/* The number may belong to another object by now. */
		if (!object || vgpu_card_of(object) != card) {
			vgpu_card_forget(session, id);
			if (object)
				vgpuh_object_put(object);
		} else {
			ret = card_install(call, object);
			set_bit(card, placed);
		}
	}
	return ret;
}

void vgpu_card_remove(struct vgpuh_call *call)
{
	while (call->fds.nr_cards)
		vgpu_fdtable_remove(&call->fds.cards[--call->fds.nr_cards]);
}
