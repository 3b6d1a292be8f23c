// SPDX-License-Identifier: GPL-2.0-only
/* Accounts of users: see keep_user.h. */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "kept.h"
#include "memory/keep.h"
#include "memory/keep_user.h"

/*
 * Number of pinned pages, for all hosts. RLIMIT_MEMLOCK does not limit them: drivers do not check
 * it when they pin program memory, and it lets ordinary users lock hardly any. The limit is half of
 * the machine's memory, and half of that for one user, so that others get some, too. The same
 * shares apply to numbers of pins. Root may use all of the limit.
 */
static unsigned long keep_pages;

/**
 * struct vgpu_keep_user - account of one user's pins at all hosts
 * @node: entry in keep_users
 * @uid: real user id of the threads that made the calls
 * @refs: number of struct vgpu_keep that point here
 * @pages: number of pages that are charged
 * @numbers: number of pins that hosts may know, of all hosts together; the limit,
 *	VGPU_KEPT_NUMBERS, is that of one host
 */
struct vgpu_keep_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int refs;
	unsigned long pages;
	unsigned int numbers;
};

/* Guards keep_users with all accounts, and keep_pages; the innermost lock. */
static DEFINE_SPINLOCK(keep_users_lock);
static DEFINE_HASHTABLE(keep_users, 6);

static struct vgpu_keep_user *user_find_locked(kuid_t uid)
{
	struct vgpu_keep_user *user;

	lockdep_assert_held(&keep_users_lock);
	hash_for_each_possible(keep_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

struct vgpu_keep_user *vgpu_keep_user_get(void)
{
	struct vgpu_keep_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT), *user;

	if (!fresh)
		return NULL;
	fresh->uid = current_uid();
	spin_lock(&keep_users_lock);
	user = user_find_locked(fresh->uid);
	if (!user) {
		user = fresh;
		fresh = NULL;
		hash_add(keep_users, &user->node, __kuid_val(user->uid));
	}
	user->refs++;
	spin_unlock(&keep_users_lock);
	kfree(fresh);
	return user;
}

void vgpu_keep_user_put(struct vgpu_keep_user *user)
{
	bool last;

	spin_lock(&keep_users_lock);
	last = !--user->refs;
	if (last)
		hash_del(&user->node);
	spin_unlock(&keep_users_lock);
	if (last)
		kfree(user);
}

/* Return: the share of the limit @most that one user may have. */
static unsigned long user_part(const struct vgpu_keep_user *user, unsigned long most)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID) ? most : most / 2;
}

bool vgpu_keep_charge(struct vgpu_keep *keep, unsigned long nr)
{
	unsigned long most = totalram_pages() / 2;
	struct vgpu_keep_user *user = keep->user;
	bool fits;

	spin_lock(&keep_users_lock);
	fits = keep_pages + nr <= most && user->pages + nr <= user_part(user, most);
	if (fits) {
		keep_pages += nr;
		user->pages += nr;
	}
	spin_unlock(&keep_users_lock);
	if (fits)
		atomic64_add(nr, &keep->mm->pinned_vm);
	return fits;
}

void vgpu_keep_uncharge(struct vgpu_keep *keep, unsigned long nr, bool lost)
{
	atomic64_sub(nr, &keep->mm->pinned_vm);
	spin_lock(&keep_users_lock);
	keep->user->pages -= nr;
	if (!lost)
		keep_pages -= nr;
	spin_unlock(&keep_users_lock);
}

bool vgpu_keep_charge_number(struct vgpu_keep *keep)
{
	struct vgpu_keep_user *user = keep->user;
	bool fits;

	spin_lock(&keep_users_lock);
	fits = user->numbers < user_part(user, VGPU_KEPT_NUMBERS);
	user->numbers += fits;
	spin_unlock(&keep_users_lock);
	return fits;
}

void vgpu_keep_uncharge_number(struct vgpu_keep *keep)
{
	spin_lock(&keep_users_lock);
	keep->user->numbers--;
	spin_unlock(&keep_users_lock);
}
