/* SPDX-License-Identifier: MIT */
/*
 * The keeper of one guest's window: it has the connection of the guest's hypervisor for
 * as long as there is one, while engines come and go, and has files mapped into the window
 * for them. It is a vhost-user back-end without queues. One thread does all of it and
 * waits for nobody: while the hypervisor works on what the keeper has asked, it asks the
 * keeper, and waits for that.
 */
#ifndef KEEPER_KEEPER_H
#define KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/proto.h"

/* --- main.c ------------------------------------------------------------------- */

/* @len and @id of the window. */
extern struct keeper_msg window;

void keeper_end(enum keeper_exit status) __attribute__((noreturn));
/* Tells the engine, if there is one. */
void keeper_tell(const struct keeper_msg *msg, int fd);
/* What the engine may be told has changed. */
void keeper_look(void);

/* --- qemu.c: what the hypervisor asks ------------------------------------------ */

int qemu_init(void);

/* --- region.c: what the hypervisor is asked ------------------------------------ */

/* By this it is asked from now on. Takes over @fd. */
void region_channel(int fd);
/* The guest's driver is there, or is not any more: then nothing is shown. */
void region_set_ready(bool ready);
bool region_is_ready(void);
/* Something is shown, or is to be, or was. */
bool region_is_used(void);
/* For the engine. Takes over @fd. */
void region_map(const struct keeper_msg *msg, int fd);
void region_unmap(const struct keeper_msg *msg);
/* The engine has gone: what it had shown is to be shown no more. */
void region_abandon(void);
/*
 * The hypervisor has memory at @addr, which shows the file of @st from @offset on; or has it no
 * more.
 */
bool region_appeared(uint64_t addr, uint64_t len, uint64_t offset, const struct stat *st);
void region_vanished(uint64_t addr, uint64_t len);

/* --- ram.c: the guest's memory -------------------------------------------------- */

/* Takes over @fd. */
void ram_appeared(uint64_t addr, uint64_t len, uint64_t offset, int fd);
void ram_vanished(uint64_t addr, uint64_t len);
/* A new engine hears of all that there is. */
void ram_tell(void);

#endif /* KEEPER_KEEPER_H */
