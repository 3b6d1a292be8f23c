/* SPDX-License-Identifier: MIT */
/* Engines that outlive vgpud, with settings.lasting, and that the next vgpud takes over. */
#ifndef VGPUD_LASTING_H
#define VGPUD_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "shared/loop.h"

struct engine;
struct engine_number;
struct offer;
struct sandbox;

/**
 * struct stale_grant - an export that an earlier vgpud has granted, and this one has not yet
 * @node: entry of struct lasting's list
 * @export: number of the export
 */
struct stale_grant {
	LIST_ENTRY(stale_grant) node;
	uint32_t export;
};

/**
 * struct lasting - what has to be known of an engine that outlives a vgpud
 * @end: pidfd of an engine of an earlier vgpud; its fd is -1 if the engine is a child
 * @lasts: true if the holder has what the next vgpud needs of the engine
 * @settles: true until the engine has answered ENGINE_ADOPT: what it said before was meant for the
 *	earlier vgpud
 * @stale: list of struct stale_grant, until lasting_settle()
 */
struct lasting {
	struct source end;
	bool lasts;
	bool settles;
	LIST_HEAD(, stale_grant) stale;
};

/* Open the holder, if settings.lasting is set. Return: true if an earlier vgpud has left guests. */
bool lasting_open(void);
/* End the holder, and so all guests. */
void lasting_close(void);

void lasting_init(struct engine *engine);
void lasting_end(struct engine *engine);
/*
 * Have the holder keep a new engine for the next vgpud. Guests with a window end with vgpud, as
 * their keepers do. @features: VGPU_FEATURE_* of the guest
 */
void lasting_hold(struct engine *engine, uint64_t features);
/* Note a device to which the guest of the engine gives work, under the engine's number of it. */
void lasting_hold_device(const struct engine *engine, uint32_t index, uint64_t number, dev_t rdev);
/* Let a guest end with vgpud from now on. */
void lasting_stop(struct engine *engine);
/* Note the file of counters of a shadow, for hostdev_adopt_shadow(). */
void lasting_hold_shadow(const struct engine *engine, uint64_t session, int counters_fd);

/* Do the work of the functions hostdev_*() of host/hostdev.h that are named like these. */
void lasting_note(uint32_t peer, uint64_t key, const void *data, size_t len, int fd);
int lasting_note_find(uint32_t *peer, uint64_t *key, void *data, size_t *len, int *fd);
int lasting_adopt(uint32_t number, struct sandbox *sandbox);
int lasting_adopt_shadow(uint32_t peer, uint64_t session, pid_t pid);
void lasting_settle(void);

/* Handle a message of an engine that may be meant for an earlier vgpud. Return: it was. */
bool lasting_hear(struct engine *engine, const struct engine_number *msg);

/*
 * Note an offer for the next vgpud, and find its number: that of the same offer of an earlier
 * vgpud, or a new one.
 */
void lasting_offer(struct offer *offer);
/* Forget an offer that is gone. */
void lasting_offer_gone(uint32_t number);
/* Note that this vgpud has granted an export. */
void lasting_granted(struct engine *engine, uint32_t export);

#endif /* VGPUD_LASTING_H */
