/* SPDX-License-Identifier: MIT */
/* The channel for requests that the keeper sends to the hypervisor: see channel.c. */
#ifndef KEEPER_CHANNEL_H
#define KEEPER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

struct vhost_mmap;

/**
 * channel_use - use a channel in place of the one before
 * @fd: channel from the hypervisor, which becomes channel.c's
 * @handler: function that is called with each answer; 0: the hypervisor has agreed
 */
void channel_use(int fd, void (*handler)(uint64_t value));

/* Return: true if there is a channel. */
bool channel_is_there(void);

/**
 * channel_ask - send a request to map or to unmap
 * @type: VHOST_BACKEND_SHMEM_MAP or VHOST_BACKEND_SHMEM_UNMAP
 * @mmap: part of the file, and place in the window
 * @fd: file to be sent, which stays the caller's; -1: none
 *
 * All earlier requests were answered. The keeper ends if there is no answer for too long.
 */
void channel_ask(uint32_t type, const struct vhost_mmap *mmap, int fd);

/*
 * Ask whether an unmap is complete. The hypervisor answers before it unmaps, and reports that
 * memory is gone before KVM and other devices, which may access it, have all been notified. Only
 * then does the hypervisor read the next request. The request of this function changes nothing, as
 * it removes a shared object that does not exist.
 */
void channel_ask_settled(void);

/* Stop the time limit of the last request. */
void channel_excuse(void);

#endif /* KEEPER_CHANNEL_H */
