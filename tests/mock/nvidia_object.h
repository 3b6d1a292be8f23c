/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory, objects and clients of the stand-in for NVIDIA's resource manager. */
#ifndef VGPU_MOCK_NVIDIA_OBJECT_H
#define VGPU_MOCK_NVIDIA_OBJECT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct mock_nvidia_event;
struct mock_nvidia_file;
struct page;
struct pid;

/* Largest number of clients that an object is shared with. */
#define RM_SHARED_MAX		4

struct rm_memory {
	struct kref ref;
	struct list_head node;	/* entry of rm_memories */
	u64 id;
	unsigned long nr;
	struct page *pages[];
};

struct rm_object {
	u32 class;
	struct rm_memory *memory;	/* NULL: not an object of memory */
	struct mock_nvidia_event *event;	/* notified of source; NULL: not an event */
	u32 source;
	bool notifies;	/* notification is on */
	u32 shared[RM_SHARED_MAX];
	unsigned int nr_shared;
};

struct rm_client {
	struct list_head node;
	struct mock_nvidia_file *control;	/* NULL: the client of exports */
	u32 handle;
	pid_t process;
	bool apart;	/* other clients of the process may not duplicate objects */
	struct pid *pid;
	struct xarray objects;
};

/* Guards all variables of the resource manager, and the contents of clients. */
extern struct mutex rm_lock;
extern struct list_head rm_clients;
extern struct list_head rm_memories;
/* Free pages; the page that was freed last is the first one. */
extern struct list_head rm_pool;

void rm_memory_free(struct kref *ref);
struct rm_memory *rm_memory_alloc(u64 size);

struct rm_client *rm_client_find(u32 handle);
struct rm_client *rm_client_of(struct mock_nvidia_file *control, u32 handle);
void rm_client_free(struct rm_client *client);
u32 rm_client_new(struct mock_nvidia_file *control, u32 *handle);

void rm_object_free(struct rm_object *object);
u32 rm_object_new(struct rm_client *client, u32 class, struct rm_memory *memory, u32 *handle);
u32 rm_object_named(struct rm_client *client, u32 class, struct rm_memory *memory, u32 handle);

#endif /* VGPU_MOCK_NVIDIA_OBJECT_H */
