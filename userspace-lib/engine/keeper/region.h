/* SPDX-License-Identifier: MIT */
/* Memory of the window: which part of which file is mapped where. See region.c. */
#ifndef KEEPER_REGION_H
#define KEEPER_REGION_H

#include <stdbool.h>

struct keeper_msg;
struct ram_part;

/**
 * region_channel - use the channel for requests to the hypervisor
 * @fd: channel from the hypervisor, which becomes region.c's
 */
void region_channel(int fd);

/**
 * region_set_ready - note that the guest's driver is there, or is gone
 * @ready: true if the driver is there
 *
 * When the driver goes, no engine waits any more for what is shown, and the engine is told that the
 * window is gone. All that is shown is unmapped when the driver comes again.
 */
void region_set_ready(bool ready);

/*
 * Tell the engine that there is a window, or that the window is gone, unless the engine knows that.
 * There is a window as long as the driver and the channel to the hypervisor are there. The engine
 * is told of a window only when all that was shown before is hidden.
 */
void region_look(void);

/**
 * region_map - show a part of a file for the engine, and tell the engine when that is done
 * @msg: part of the file, and place in the window
 * @fd: file, which becomes region.c's; -1: the engine has sent none
 */
void region_map(const struct keeper_msg *msg, int fd);

/**
 * region_unmap - hide what region_map() has shown, and tell the engine when that is done
 * @msg: place in the window
 */
void region_unmap(const struct keeper_msg *msg);

/* Hide all that the engine had shown, as the engine is gone. */
void region_abandon(void);

/**
 * region_appeared - handle the hypervisor's report that its guest has more memory
 * @part: the memory
 * @fd: file that holds the memory, which stays the caller's
 *
 * Return: true if the memory is a mapping of the window, or a part of one, or if its file cannot be
 * identified.
 */
bool region_appeared(const struct ram_part *part, int fd);

/**
 * region_vanished - handle the hypervisor's report that memory of its guest is gone
 * @part: the memory; its offset is not reported
 *
 * Return: true if the memory was a mapping of the window, or a part of one.
 */
bool region_vanished(const struct ram_part *part);

#endif /* KEEPER_REGION_H */
