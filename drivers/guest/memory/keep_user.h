/* SPDX-License-Identifier: GPL-2.0-only */
/* Accounts of users: limits of the program memory that is pinned for devices. */
#ifndef VGPU_KEEP_USER_H
#define VGPU_KEEP_USER_H

#include <linux/types.h>

struct vgpu_keep;
struct vgpu_keep_user;

/*
 * Return: the account of the current user with another reference, or NULL if there is no memory.
 */
struct vgpu_keep_user *vgpu_keep_user_get(void);
void vgpu_keep_user_put(struct vgpu_keep_user *user);

/**
 * vgpu_keep_charge - charge pages before they are pinned
 * @keep: pin whose user and mm are charged
 * @nr: number of pages
 *
 * The charge comes first so that concurrent tasks cannot exceed the limits.
 *
 * Return: true, or false if a limit would be exceeded; then nothing is charged.
 */
bool vgpu_keep_charge(struct vgpu_keep *keep, unsigned long nr);

/**
 * vgpu_keep_uncharge - uncharge pages
 * @keep: pin whose user and mm were charged
 * @nr: number of pages
 * @lost: true if the pages stay pinned for good, and still count for the limit of all users
 */
void vgpu_keep_uncharge(struct vgpu_keep *keep, unsigned long nr, bool lost);

/* Charge the number of a pin. Return: false if the user's share is used up. */
bool vgpu_keep_charge_number(struct vgpu_keep *keep);
void vgpu_keep_uncharge_number(struct vgpu_keep *keep);

#endif /* VGPU_KEEP_USER_H */
