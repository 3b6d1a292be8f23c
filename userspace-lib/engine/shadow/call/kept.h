/* SPDX-License-Identifier: MIT */
/* Memory of the guest process that drivers keep: see kept.c. */
#ifndef ESHADOW_KEPT_H
#define ESHADOW_KEPT_H

struct call;

/*
 * Maps the guest's pages that KEPT segments name at their addresses, until kept_hide(). The pages
 * have the key of the call's room, so that with protection keys no other call's driver can reach
 * them.
 *
 * Return: 0; -EFAULT: the guest has no such memory; -ENOSPC: too many pieces; -EINVAL: something
 * else is at the addresses; or another negative errno. On failure nothing is mapped.
 */
int kept_show(struct call *call);
/*
 * Unmaps these pages. Ends the program on failure, so that no other call gets the room while the
 * pages have its key.
 */
void kept_hide(struct call *call);

#endif /* ESHADOW_KEPT_H */
