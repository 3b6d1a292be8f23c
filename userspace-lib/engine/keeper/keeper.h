/* SPDX-License-Identifier: MIT */
/*
 * The keeper of one guest's window. It has the connection of the guest's hypervisor for as long as
 * there is one, while engines come and go, and has the hypervisor map files into the window for
 * them. It is a vhost-user back-end without queues.
 *
 * The hypervisor and the engines may say anything at any time: they are trusted no more than the
 * guest. One thread does everything and waits for nobody, because the hypervisor, while it does
 * what the keeper has asked for, asks the keeper and waits for the answer. Another one closes the
 * engines' files, as that may wait for drivers.
 */
#ifndef KEEPER_KEEPER_H
#define KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/proto.h"

/*
 * Slots for memory that the hypervisor hears of: the keeper can be told of so many parts of the
 * guest's memory, those that show the window's mappings included.
 */
#define KEEPER_MEM_SLOTS	509

/**
 * struct file_id - what file that is
 * @dev: device number of its file system
 * @ino: inode number
 */
struct file_id {
	dev_t dev;
	uint64_t ino;
};

/**
 * struct ram_part - a part of the guest's memory, as the hypervisor tells of it
 * @addr: its physical address in the guest
 * @len: its length in bytes
 * @place: its address in the hypervisor, which stays where the guest moves the memory
 * @offset: where it begins in its file, in bytes
 */
struct ram_part {
	uint64_t addr;
	uint64_t len;
	uint64_t place;
	uint64_t offset;
};

/* --- main.c ------------------------------------------------------------------- */

/* vgpud's message with the window's number, @id, and its size in bytes, @len. */
extern struct keeper_msg window;

/**
 * keeper_end - end the keeper, and with it the guest's window
 * @status: why, for vgpud's log; EXIT_SUCCESS where the hypervisor or vgpud has ended
 */
void keeper_end(int status) __attribute__((noreturn));

/**
 * keeper_tell - send a message to the engine, if there is one
 * @msg: the message
 * @fd: a file that goes with it, which stays the caller's; -1: none
 *
 * An engine that does not read is cut off: messages are lost without it.
 */
void keeper_tell(const struct keeper_msg *msg, int fd);

/**
 * keeper_look - tell the engine whether there is a window, if it does not know
 *
 * To be called after every change of region_is_ready() and region_is_used(). An engine hears of
 * the window only when nothing is shown there any more for those before it.
 */
void keeper_look(void);

/**
 * keeper_may_map - whether the engine may still have something shown
 * @ready: number of the KEEPER_READY that it had heard when it asked
 *
 * An engine that has not yet read that the window is gone asks with what it gives back when it
 * has: that must not be shown in the window that comes after.
 *
 * Return: the window that it was told of is there.
 */
bool keeper_may_map(uint64_t ready);

/* --- qemu.c: what the hypervisor asks ------------------------------------------ */

/**
 * qemu_init - begin to listen to the hypervisor
 *
 * Return: 0, or a negative errno.
 */
int qemu_init(void);

/**
 * file_id_get - find out what file that is, without asking its file system
 * @fd: the file, which may be anyone's: a file system in user space need not answer
 * @file: filled in
 *
 * Return: 0, or a negative errno.
 */
int file_id_get(int fd, struct file_id *file);

/* --- region.c: what the hypervisor is asked ------------------------------------ */

/**
 * region_channel - the hypervisor has given the channel by which it is asked
 * @fd: the channel, which becomes region.c's
 */
void region_channel(int fd);

/**
 * region_set_ready - the guest's driver is there, or is not any more
 * @ready: whether it is
 *
 * When it goes nobody waits any more for what is shown, and engines are told that. It
 * is unmapped when the driver comes again.
 */
void region_set_ready(bool ready);

/* Return: files can be shown: the driver is there, and the hypervisor can be asked. */
bool region_is_ready(void);

/* Return: something is shown, or may be, or is to be. */
bool region_is_used(void);

/**
 * region_map - show a file for the engine, which is told when that is done
 * @msg: which part of it, where in the window
 * @fd: the file, which becomes region.c's; -1: the engine sent none
 */
void region_map(const struct keeper_msg *msg, int fd);

/**
 * region_unmap - hide for the engine what region_map() has shown, and tell it when that is done
 * @msg: what, by the place in the window
 */
void region_unmap(const struct keeper_msg *msg);

/* The engine has gone: whatever it had shown is to be hidden. */
void region_abandon(void);

/**
 * region_appeared - the hypervisor says that its guest has memory
 * @part: which
 * @file: of what file
 *
 * Return: true if it is a mapping of the window, or a part of one.
 */
bool region_appeared(const struct ram_part *part, const struct file_id *file);

/**
 * region_vanished - the hypervisor says that its guest has memory no more
 * @part: which; its offset is not told
 *
 * Return: true if it was a mapping of the window, or a part of one.
 */
bool region_vanished(const struct ram_part *part);

/* --- ram.c: the guest's memory -------------------------------------------------- */

/**
 * ram_appeared - the guest has memory that is no mapping of the window
 * @part: which
 * @fd: the file, which becomes ram.c's
 *
 * Only memory is taken that is shared by tmpfs or hugetlbfs: drivers that read pages of any other
 * file would wait for its file system, which may be the hypervisor itself.
 */
void ram_appeared(const struct ram_part *part, int fd);

/**
 * ram_vanished - the guest has such memory no more
 * @addr: the memory's physical address in the guest
 * @len: its length in bytes
 */
void ram_vanished(uint64_t addr, uint64_t len);

/* Tells a new engine of all the memory that there is. */
void ram_tell(void);

/**
 * ram_module - tell the host module of the guest's memory, from now on
 * @fd: the module's file for that, which becomes ram.c's
 */
void ram_module(int fd);

#endif /* KEEPER_KEEPER_H */
