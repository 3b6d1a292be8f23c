/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients of NVIDIA's RM that own the memory that shadows map.
 */
#ifndef _VGPU_HOST_OWNER_H
#define _VGPU_HOST_OWNER_H

#include <linux/types.h>

struct file;
struct vgpuh_call;

/*
 * Learn which memory a file maps after NVIDIA's driver has successfully done @cmd with the
 * argument at @arg.
 */
void vgpu_owner_learn(struct vgpuh_call *call, u32 cmd, unsigned long arg);
/*
 * Ask NVIDIA's driver whether @client belongs to one of the guest's control files. @at: address of
 * memory for an argument of struct rm_free's size, whose bytes stay as they are.
 */
bool vgpu_owner_has(struct vgpuh_call *call, u32 client, unsigned long at);
/*
 * Choose the file that a MMAP maps: for a card or nvidiactl a new file of the module's own,
 * which keeps the memory; for all others the guest's file. Return: the file with a reference,
 * or an ERR_PTR().
 */
struct file *vgpu_owner_file(struct vgpuh_call *call);
/* Clean up after @file, from vgpu_owner_file(), was mapped or its mapping has failed. */
void vgpu_owner_done(struct vgpuh_call *call, struct file *file);

#endif /* _VGPU_HOST_OWNER_H */
