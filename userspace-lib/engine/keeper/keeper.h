/* SPDX-License-Identifier: MIT */
/*
 * The keeper of one guest's window: a vhost-user back-end without queues. It has the connection
 * of the guest's hypervisor as long as that lasts, while engines come and go, and has the
 * hypervisor map files into the window for these engines.
 *
 * The hypervisor and the engines may send anything at any time: the keeper trusts them no more
 * than the guest. One thread, the loop, does everything and never waits: while the hypervisor
 * does what the keeper has asked for, it asks the keeper and waits for the answer. The closer, a
 * second thread, closes the engines' files, as that may sleep in drivers.
 */
#ifndef KEEPER_KEEPER_H
#define KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/proto.h"
#include "vgpud/loop.h"

/*
 * Number of slots for memory that the hypervisor reports: the largest number of parts of the
 * guest's memory, including those that show mappings of the window.
 */
#define KEEPER_MEM_SLOTS	509

/**
 * struct file_id - identity of a file
 * @dev: device number of the file system
 * @ino: inode number
 */
struct file_id {
	dev_t dev;
	uint64_t ino;
};

/**
 * struct ram_part - a part of the guest's memory, as the hypervisor reports it
 * @addr: physical address in the guest
 * @len: length in bytes
 * @place: address in the hypervisor, which stays the same when the guest moves the memory
 * @offset: place in the file at which the part begins, in bytes
 */
struct ram_part {
	uint64_t addr;
	uint64_t len;
	uint64_t place;
	uint64_t offset;
};

/* --- keeper.c: the window, and the connection to the engine ------------------------ */

/* vgpud's first message, with the window's number @id and its size in bytes @len. */
extern struct keeper_msg window;

/**
 * keeper_end - end the keeper, and with it the guest's window
 * @status: reason, for vgpud's log; EXIT_SUCCESS if the hypervisor or vgpud has ended
 */
void keeper_end(int status) __attribute__((noreturn));

/**
 * keeper_tell - send a message to the engine, if there is one
 * @msg: the message
 * @fd: file to be sent with the message, which stays the caller's; -1: none
 *
 * An engine that does not read loses its connection, as messages would be lost.
 */
void keeper_tell(const struct keeper_msg *msg, int fd);

/* Return: true if an engine is connected. */
bool keeper_has_engine(void);

/**
 * keeper_connect - use the connection to an engine
 * @fd: the connection, which becomes keeper.c's; the connection before was ended
 * @ready: function that reads a message of the engine
 *
 * Return: 0, or a negative errno.
 */
int keeper_connect(int fd, void (*ready)(struct source *source, uint32_t events));

/* End the connection to the engine, if there is one. */
void keeper_disconnect(void);

/**
 * keeper_look - tell the engine whether there is a window, if that has changed for the engine
 * @ready: true if files can be shown in the window
 * @used: true if something is shown in the window, or may be, or is to be
 *
 * An engine is told of the window only when nothing is visible any more that earlier engines had
 * shown.
 */
void keeper_look(bool ready, bool used);

/**
 * keeper_may_map - check whether the engine may still have something shown
 * @ready: @tag of the KEEPER_READY that the engine had read when it asked
 *
 * An engine that has not yet read KEEPER_GONE may ask to show memory. When it reads KEEPER_GONE, it
 * gives the memory back. So the memory must not be shown in the next window.
 *
 * Return: true if the window of that KEEPER_READY is still there.
 */
bool keeper_may_map(uint64_t ready);

/* --- file.c: identities of files ------------------------------------------------- */

/**
 * file_id_get - find out the identity of a file, without asking its file system
 * @fd: file, which may be of a file system in user space that never answers
 * @file: filled in
 *
 * Return: 0, or a negative errno.
 */
int file_id_get(int fd, struct file_id *file);

/* --- qemu.c: requests of the hypervisor ------------------------------------------ */

/**
 * qemu_init - start to read requests of the hypervisor
 *
 * Return: 0, or a negative errno.
 */
int qemu_init(void);

/* --- region.c: requests to the hypervisor ---------------------------------------- */

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
 * Return: true if files can be shown: the driver is there, and so is the channel to the
 * hypervisor.
 */
bool region_is_ready(void);

/* Return: true if something is shown, or may be, or is to be. */
bool region_is_used(void);

/*
 * Tell the engine whether there is a window, if that has changed for the engine. Must be called
 * after every change of region_is_ready() and region_is_used().
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
 * region_appeared - handle the hypervisor's report that its guest has memory
 * @part: the memory
 * @file: identity of the file that holds the memory
 *
 * Return: true if the memory is a mapping of the window, or a part of one.
 */
bool region_appeared(const struct ram_part *part, const struct file_id *file);

/**
 * region_vanished - handle the hypervisor's report that memory of its guest is gone
 * @part: the memory; its offset is not reported
 *
 * Return: true if the memory was a mapping of the window, or a part of one.
 */
bool region_vanished(const struct ram_part *part);

/* --- ram.c: the guest's memory -------------------------------------------------- */

/**
 * ram_appeared - note that the guest has memory that is no mapping of the window
 * @part: the memory
 * @fd: the file, which becomes ram.c's
 *
 * Only shared memory of tmpfs or hugetlbfs is taken. Drivers that read pages of any other file
 * would wait for its file system, which may be the hypervisor itself.
 */
void ram_appeared(const struct ram_part *part, int fd);

/**
 * ram_vanished - note that memory which is no mapping of the window is gone
 * @addr: physical address in the guest
 * @len: length in bytes
 */
void ram_vanished(uint64_t addr, uint64_t len);

/* Tell a new engine of all memory of the guest. */
void ram_tell(void);

/**
 * ram_module - tell the host module of the guest's memory from now on
 * @fd: the module's file for that, which becomes ram.c's
 */
void ram_module(int fd);

#endif /* KEEPER_KEEPER_H */
