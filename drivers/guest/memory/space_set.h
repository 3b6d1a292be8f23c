/* SPDX-License-Identifier: GPL-2.0-only */
/* Set of the spaces of a host: begins with the host, and is emptied when the connection is lost. */
#ifndef VGPU_SPACE_SET_H
#define VGPU_SPACE_SET_H

struct vgpu_space_set;

void vgpu_space_set_init(struct vgpu_space_set *set);

/**
 * vgpu_space_set_abort - end all spaces of a host, as the connection is lost
 * @set: spaces of the host
 *
 * Every mapping gives SIGBUS from now on, and bytes not yet sent are lost. The set is empty
 * afterwards, ready for another connection.
 *
 * Context: process; does not wait for the host.
 */
void vgpu_space_set_abort(struct vgpu_space_set *set);

#endif /* VGPU_SPACE_SET_H */
