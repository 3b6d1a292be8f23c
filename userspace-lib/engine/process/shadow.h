/* SPDX-License-Identifier: MIT */
/* Shadows of guest processes: see shadow.c. */
#ifndef ENGINE_SHADOW_H
#define ENGINE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shared/loop.h"

struct eshadow_msg;
struct tgid;

/**
 * struct shadow - the shadow of a guest process
 * @number: number of the session, as the guest chose it
 * @tgid: number of the shadow's process
 * @source: connection to the shadow
 * @close_timer: deadline after which a closed session's shadow is ended, if it has not ended
 *	itself
 * @drop_timer: deadline after which the shadow is ended, if it has not closed a file as asked
 * @hold_timer: time at which requests of the shadow are read again
 * @closing: true if the guest has closed the session: the shadow ends with its last lane, or when
 *	@close_timer expires
 * @ended: true if vgpud was asked to end the shadow
 * @ends: called when @ended is set; NULL: nothing is to be done
 * @unread: number of files sent to the shadow since it had last read everything
 * @nr_drops: number of objects that the shadow was asked to close and has not closed yet
 * @files: numbers of the objects that the shadow has open
 * @nr_files: number of entries of @files
 * @exports: vgpud's numbers of the exports that objects came from which the shadow has or had open
 * @nr_exports: number of entries of @exports
 * @givens: list of references that calls of the shadow gave the guest, and whose receipt the
 *	guest has not acknowledged yet
 * @nr_givens: number of entries of @givens
 * @mapped_bytes: the shadow's part of @mapped_bytes of struct engine_shared, as reported by the
 *	shadow
 * @nr_lanes: the shadow's part of @nr_lanes there
 * @nr_mappings: the shadow's part of @nr_mappings there
 */
struct shadow {
	LIST_ENTRY(shadow) node;
	uint64_t number;
	struct tgid *tgid;
	struct source source;
	struct timer close_timer;
	struct timer drop_timer;
	struct timer hold_timer;
	bool closing;
	bool ended;
	void (*ends)(struct shadow *shadow);
	unsigned int unread;
	unsigned int nr_drops;
	uint32_t *files;
	size_t nr_files;
	uint32_t *exports;
	size_t nr_exports;
	LIST_HEAD(, given) givens;
	unsigned int nr_givens;
	uint64_t mapped_bytes;
	uint32_t nr_lanes;
	uint32_t nr_mappings;
};

LIST_HEAD(shadow_list, shadow);
extern struct shadow_list shadows;

/*
 * Note that a shadow has an object open, which came from the export. Return: 0, or -ENOMEM.
 */
int shadow_note(struct shadow *shadow, uint32_t object, uint32_t export);
/* Return: true if the shadow has or had an object of the export open. */
bool shadow_has_used(const struct shadow *shadow, uint32_t export);
/*
 * Forget that a shadow has an object open, as the shadow closes the object by itself. Return:
 * true if the shadow had the object open.
 */
bool shadow_forget(struct shadow *shadow, uint32_t object);
/*
 * End a shadow, which gets no answers from here on. Its requests are discarded. The struct stays
 * until the process has ended, as the process may have files open. Messages of the shadow are
 * still read: an unread one may carry the shadow's own end of the connection, which would then
 * never be closed.
 */
void shadow_end(struct shadow *shadow);
/* End a shadow that has sent what the protocol does not allow. */
void shadow_malformed(struct shadow *shadow);
/*
 * Send a message. A shadow whose socket has no room is ended: the socket has room for all answers
 * to what a shadow may ask at once. Return: 0, or -ENFILE: too many files sent to the guest's
 * processes were not read yet, which need not be this shadow's fault.
 */
int shadow_send(struct shadow *shadow, const struct eshadow_msg *msg, const void *extra, size_t len,
		int fd);
/*
 * Answer a lane's request. @extra: data that follows the answer, @len bytes. @fd: file to be sent,
 * which stays the caller's; -1: none.
 */
void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd);
/* Ask a shadow to close an object. Return: true if the shadow has the object open. */
bool shadow_drop(struct shadow *shadow, uint32_t object);
/* Note that a shadow has closed an object that it was asked to close. */
void shadow_dropped(struct shadow *shadow);

/*
 * Note that a call of a lane gives the guest a reference. Return: false if the shadow has as many
 * entries as one call of each lane can give, or if there is no memory.
 */
bool given_add(struct shadow *shadow, uint32_t lane, uint32_t object, uint32_t reference);
/* Forget the references that the lane's last call gave: the guest has acknowledged all of them. */
void givens_acked(struct shadow *shadow, uint32_t lane);
/*
 * Forget that a shadow has given the guest a reference, as the guest has dropped the reference,
 * or is not to get it.
 */
void given_forget(uint32_t object, uint32_t reference);
/* Take a reference back from a shadow that is gone. Return: false if there is none. */
bool given_take_back(struct shadow *shadow, uint32_t *object, uint32_t *reference);

/* Answer a lane that asks for room for a mapping. */
void usage_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/*
 * Apply a change that a shadow reports. The report is malformed if the shadow gives back more than
 * it has, or has more mappings or lanes than it may have.
 */
void usage_change(struct shadow *shadow, const struct eshadow_msg *msg);
/* Take back all that a shadow had, as one that was killed has not given it back. */
void usage_shadow_gone(struct shadow *shadow);

/*
 * Note that @len bytes of the guest's memory, at physical address @addr, are in the file @fd, from
 * @offset on, and tell all shadows. @fd becomes shadow.c's.
 */
void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd);
/* Note that this memory of the guest is gone, and tell all shadows. */
void ram_remove(uint64_t addr, uint64_t len);
/* Forget all memory of the guest, as its keeper has ended and will not tell of changes. */
void ram_forget(void);
/* Tell a new shadow where the guest's memory is. */
void ram_tell(struct shadow *shadow);

#endif /* ENGINE_SHADOW_H */
