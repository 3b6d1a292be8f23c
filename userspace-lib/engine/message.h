/* SPDX-License-Identifier: MIT */
/* Messages of the guest: see message.c. */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

struct vgpu_hdr;

void message_handle(const struct vgpu_hdr *msg);

#endif /* ENGINE_MESSAGE_H */
