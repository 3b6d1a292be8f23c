/* SPDX-License-Identifier: MIT */
/* Files of NVIDIA's driver that map memory: see nvidia.c. */
#ifndef ESHADOW_NVIDIA_H
#define ESHADOW_NVIDIA_H

#include "engine/shadow/base/lib.h"

struct call;
struct file_entry;
struct vgpu_nvidia_look;

/*
 * Finds the client to share memory with; called before the ioctl. Return: handle of the engine's
 * client that is to own the memory which this ioctl lets a file map; 0: the memory is not to be
 * owned, or there is no client.
 */
u32 nvidia_owner(struct call *call, u32 cmd);
/*
 * Shares the memory with that client, and tells the engine; called after the driver has made the
 * ioctl.
 */
void nvidia_mapped(struct call *call, u32 cmd, u32 owner);
/*
 * Finds the file that an mmap() of the call's file has to map. A file of nvidiactl has no
 * reference of the memory that it was told to map (drivers/host/memory/owner.c): so the engine
 * owns the memory, and gives another file. nvidia_shown_done() must be called in any case, with
 * the file that was returned.
 *
 * Return: number of the file, or a negative errno.
 */
int nvidia_shown(struct call *call);
void nvidia_shown_done(struct call *call, int fd);
/*
 * Tells the engine of channels that the driver has made, freed or let run, so that the engine can
 * take them off the card. @look: argument of the ioctl as the driver has answered it
 */
void nvidia_answered(const struct call *call, const struct vgpu_nvidia_look *look);
/*
 * Asks the driver whether the client that a request names is of a control file of this process.
 * The request's argument in memory is changed for that, and is as before afterwards.
 */
bool nvidia_has_client(struct call *call, const struct vgpu_nvidia_look *look);
/*
 * Return: true if the engine lets the program's channels run, in place of the driver, because it
 * may have taken them off the card. The argument says then that RM has succeeded.
 */
bool nvidia_is_deferred(const struct call *call, const struct vgpu_nvidia_look *look);
/* Return: true if the file belongs to one of NVIDIA's cards. */
bool nvidia_is_card(const struct file_entry *file);
/* Return: true if the file belongs to one of NVIDIA's cards, or is their control file. */
bool nvidia_is_rm(const struct file_entry *file);

#endif /* ESHADOW_NVIDIA_H */
