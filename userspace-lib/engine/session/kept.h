/* SPDX-License-Identifier: MIT */
/* Memory of the guest that devices keep, as the engine accounts for it: see kept.c. */
#ifndef ENGINE_KEPT_H
#define ENGINE_KEPT_H

#include <stdint.h>

/**
 * kept_add - account for memory of the guest that a driver is about to be given to keep
 * @id: number of the object that the driver belongs to
 * @number: the guest's number of the memory
 * @bytes: length of the memory in bytes
 *
 * Return: 0; -EBADF: there is no such object; -EOPNOTSUPP: a hypervisor may have mapped the
 * object's file, so the engine would not know when the driver has released it; -ENOMEM: more than
 * the guest may have kept; -EINVAL: no bytes, or another length than before.
 */
int kept_add(uint32_t id, uint64_t number, uint64_t bytes);
/*
 * Note that the guest wants to be notified, by the answer to control message @seq, when nothing
 * uses the memory any more.
 */
void kept_release(uint64_t number, uint64_t seq);
/* Answer each RELEASE message that waits for nothing any more. */
void kept_look(void);

#endif /* ENGINE_KEPT_H */
