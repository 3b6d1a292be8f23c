/* SPDX-License-Identifier: MIT */
/* Device nodes of the exports of guests, by which shadows open devices. */
#ifndef VGPUD_NODE_H
#define VGPUD_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Make the place of the nodes, which only root can enter. Return: 0 or a negative errno. */
int nodes_init(void);
/*
 * Make a guest's directory of nodes and open it as the root of a detached mount. A shadow that has
 * the directory cannot leave the mount upwards. Return: the file, or a negative errno.
 */
int nodes_open(uint32_t cid, uint32_t port);
/* Close a guest's directory of nodes, if it is open, and remove it. */
void nodes_close(int nodes_fd, uint32_t cid, uint32_t port);

/* Make the guest's node of an export. Return: 0 or a negative errno. */
int node_make(int nodes_fd, uint32_t number, dev_t rdev, bool read_only);
/* Check whether a guest may use the export: its node exists only then. */
bool node_exists(int nodes_fd, uint32_t number);
/* Open the node of an export with O_PATH: the driver is not called. Return: it, or -errno. */
int node_open(int nodes_fd, uint32_t number);
void node_remove(int nodes_fd, uint32_t number);

#endif /* VGPUD_NODE_H */
