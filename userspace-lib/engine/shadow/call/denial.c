// SPDX-License-Identifier: MIT
/*
 * Denials: counts of ioctls that lists, or rules for a driver, deny. vgpud reads them in memory
 * that it shares with this shadow, and adds up those of all shadows of the guest.
 */
#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/denial.h"

#define DENIALS_MAX	(ENGINE_DENIALS_MAX + ENGINE_OTHERS_MAX)

static struct lock denials_lock;

/* Finds the counts of an ioctl, or begins them if fewer than @max exist. Context: denials_lock. */
static struct engine_denial *denial_find(u32 export, u32 ioctl, u32 what, u32 max)
{
	struct engine_denial *denial;
	u32 i;

	for (i = 0; i < counts->nr_denials; i++) {
		denial = &counts->denials[i];
		if (denial->export == export && denial->ioctl == ioctl && denial->what == what)
			return denial;
	}
	if (i >= max)
		return NULL;
	denial = &counts->denials[i];
	denial->export = export;
	denial->ioctl = ioctl;
	denial->what = what;
	__atomic_store_n(&counts->nr_denials, i + 1, __ATOMIC_RELEASE);
	return denial;
}

void denial_count(u32 export, u32 ioctl, u32 what, bool audited)
{
	struct engine_denial *denial;

	lock_take(&denials_lock);
	denial = denial_find(export, ioctl, what, ENGINE_DENIALS_MAX);
	if (!denial)
		denial = denial_find(export, VGPU_HOST_IOCTL_NONE, 0, DENIALS_MAX);
	/* A program with files of so many exports spoils only the counts of its guest. */
	if (!denial)
		denial = &counts->denials[DENIALS_MAX - 1];
	count(audited ? &denial->audited : &denial->denied, 1);
	lock_drop(&denials_lock);
}
