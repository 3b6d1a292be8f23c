/* SPDX-License-Identifier: MIT */
/* Requests that the hypervisor sends to the keeper: see qemu.c. */
#ifndef KEEPER_QEMU_H
#define KEEPER_QEMU_H

/**
 * qemu_init - start to read requests of the hypervisor
 *
 * Return: 0, or a negative errno.
 */
int qemu_init(void);

#endif /* KEEPER_QEMU_H */
