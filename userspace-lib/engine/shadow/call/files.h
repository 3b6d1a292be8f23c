/* SPDX-License-Identifier: MIT */
/* Files of objects, and files that drivers make: see files.c. */
#ifndef ESHADOW_FILES_H
#define ESHADOW_FILES_H

#include "engine/shadow/base/lib.h"
#include "policy.h"

struct eshadow_policy;
struct lane;

/**
 * struct file_entry - the file of an object in this process
 * @object: number of the object; 0: the entry is free
 * @fd: number of the file
 * @users: number of calls that use the file
 * @dropped: true if the file is to be closed when @users becomes 0
 * @policy: policy of the export; its lists of ioctls are in @ioctls
 * @kind: VGPU_OBJECT_*
 * @space: number of the address space that mappings of the file show
 * @rdev: device number of the export's node; 0: the file is of no export
 * @origin: @origin of struct eshadow_policy
 * @limits: @limits of struct eshadow_policy
 * @no_demand: true if the driver does not wait for the guest's memory
 * @device: @device of struct engine_grant
 * @ioctls: both lists of ioctls of @policy, one behind the other
 */
struct file_entry {
	u32 object;
	int fd;
	u32 users;
	bool dropped;
	struct vgpu_policy policy;
	u32 kind;
	u64 space;
	u64 rdev;
	u32 origin;
	u64 limits;
	bool no_demand;
	u32 device;
	u32 *ioctls;
};

void files_init(void);
/*
 * Finds the file of an object, and counts the caller in @users until file_put(). @file: set to the
 * file, or to NULL. Return: 0, -EBADF (there is no such object) or -ENOMEM.
 */
int file_find(struct lane *lane, u32 object, struct file_entry **file);
/*
 * Finds a file of a device among the files that this process has already, and counts the caller in
 * @users until file_put(). @rdev: number of the device. @from: place in the table to begin at, 0 for
 * the first; set for the next one. Return: the file, or NULL if there are no more.
 */
struct file_entry *file_of_device(u64 rdev, u32 *from);
void file_put(struct file_entry *file);
/*
 * Adds a file that the engine has sent as an answer to ESHADOW_FIND, and counts the asker in
 * @users. Return: the file, or NULL if there is no memory.
 */
struct file_entry *file_arrives(u32 object, const struct eshadow_policy *policy, int fd);
/*
 * Closes the file of an object because the engine has asked for that, and tells the engine when
 * it is closed.
 */
void file_drop(u32 object);
/*
 * Closes the file of an object, or leaves that to the last call that uses the file. Return: true
 * if the file is closed.
 */
bool file_close(u32 object);

/*
 * Receives a message without waiting. A file that comes with the message gets a number from @base
 * on.
 */
long files_receive(int sock, void *buf, u64 len, int base, int *fd);
/* Notes that a call begins, whose object has these limits. */
void files_call_begins(u64 limits);
/* Notes that a running call has got one more file, with these limits. */
void files_call_meets(u64 limits);
/* Return: the limits of all calls that can have made files which are open below FILES_LOW. */
u64 files_call_met(void);
/*
 * Takes file @fd for the caller. Return: true if @fd is an open file that a driver has made, and
 * that was not taken yet.
 */
bool files_take(int fd);
/* Closes a file of files_take(). */
void files_give(int fd);
/*
 * Notes that a call has ended. If no other call runs, closes the files that drivers have made and
 * that were not taken. Return: the number of files closed.
 */
u32 files_call_ends(void);

#endif /* ESHADOW_FILES_H */
