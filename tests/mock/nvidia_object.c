// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, objects and clients of the stand-in for NVIDIA's resource manager. When the last object
 * of some memory is freed, its pages go to the next client that allocates memory.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "../../drivers/common/nvidia_rm.h"
#include "nvidia.h"
#include "nvidia_object.h"
#include "vgpu_mock_nvidia.h"

#define RM_FIRST_CLIENT		0xc1d00001
#define RM_FIRST_OBJECT		0x5c000001
#define RM_MEMORY_MAX		(64UL << 20)

DEFINE_MUTEX(rm_lock);
LIST_HEAD(rm_clients);
LIST_HEAD(rm_memories);
LIST_HEAD(rm_pool);
static u32 rm_last_client = RM_FIRST_CLIENT;
static u64 rm_last_memory;

static unsigned int rm_pages;
module_param_named(pages, rm_pages, uint, 0444);
MODULE_PARM_DESC(pages, "number of pages that all objects have");

/* --- memory ------------------------------------------------------------------------- */

/**
 * rm_memory_free() - put the pages of memory without references into the pool
 * @ref: the memory's count of references
 *
 * Context: RM's lock is held.
 */
void rm_memory_free(struct kref *ref)
{
	struct rm_memory *memory = container_of(ref, struct rm_memory, ref);
	unsigned long i;

	for (i = 0; i < memory->nr; i++) {
		memset(page_address(memory->pages[i]), VGPU_MOCK_NVIDIA_POISON, PAGE_SIZE);
		list_add(&memory->pages[i]->lru, &rm_pool);
	}
	rm_pages -= memory->nr;
	list_del(&memory->node);
	kvfree(memory);
}

static struct page *rm_page_alloc(void)
{
	struct page *page = list_first_entry_or_null(&rm_pool, struct page, lru);

	if (!page)
		return alloc_page(GFP_KERNEL | __GFP_ZERO);
	list_del(&page->lru);
	clear_page(page_address(page));
	return page;
}

/**
 * rm_memory_alloc() - allocate memory, of pages that were freed last if there are some
 * @size: size in bytes, which is rounded up to pages
 *
 * Context: RM's lock is held.
 * Return: the memory with one reference; NULL: there is none of that size
 */
struct rm_memory *rm_memory_alloc(u64 size)
{
	struct rm_memory *memory;
	unsigned long nr;

	if (!size || size > RM_MEMORY_MAX)
		return NULL;
	nr = PFN_UP(size);
	memory = kvzalloc(struct_size(memory, pages, nr), GFP_KERNEL);
	if (!memory)
		return NULL;
	kref_init(&memory->ref);
	list_add(&memory->node, &rm_memories);
	memory->id = ++rm_last_memory;
	for (; memory->nr < nr; memory->nr++, rm_pages++) {
		memory->pages[memory->nr] = rm_page_alloc();
		if (!memory->pages[memory->nr]) {
			rm_memory_free(&memory->ref);
			return NULL;
		}
	}
	return memory;
}

/* --- clients and objects -------------------------------------------------------------- */

/**
 * rm_client_find() - find a client of any file
 * @handle: number of the client
 *
 * Context: RM's lock is held, under which the client stays.
 * Return: the client, or NULL
 */
struct rm_client *rm_client_find(u32 handle)
{
	struct rm_client *client;

	list_for_each_entry(client, &rm_clients, node)
		if (client->handle == handle)
			return client;
	return NULL;
}

/**
 * rm_client_of() - find a client of a control file; a client of another file is not found
 * @control: the control file
 * @handle: number of the client
 *
 * Context: RM's lock is held, under which the client stays.
 * Return: the client, or NULL
 */
struct rm_client *rm_client_of(struct mock_nvidia_file *control, u32 handle)
{
	struct rm_client *client = rm_client_find(handle);

	return client && client->control == control ? client : NULL;
}

/**
 * rm_object_free() - free an object that no client has any more
 * @object: the object; its references of memory and of an event are put
 *
 * Context: RM's lock is held.
 */
void rm_object_free(struct rm_object *object)
{
	if (object->memory)
		kref_put(&object->memory->ref, rm_memory_free);
	if (object->event)
		mock_nvidia_event_put(object->event);
	kfree(object);
}

/**
 * rm_client_free() - free a client with all of its objects
 * @client: the client
 *
 * Context: RM's lock is held.
 */
void rm_client_free(struct rm_client *client)
{
	struct rm_object *object;
	unsigned long handle;

	list_del(&client->node);
	xa_for_each(&client->objects, handle, object)
		rm_object_free(object);
	xa_destroy(&client->objects);
	put_pid(client->pid);
	kfree(client);
}

/**
 * rm_client_new() - make a client for the calling process
 * @control: control file of the client; NULL: the client of exports
 * @handle: set to the client's number
 *
 * Context: RM's lock is held.
 * Return: RM_OK or RM_NO_MEMORY
 */
u32 rm_client_new(struct mock_nvidia_file *control, u32 *handle)
{
	struct rm_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return RM_NO_MEMORY;
	client->control = control;
	client->handle = rm_last_client++;
	client->process = current->tgid;
	client->pid = get_pid(task_tgid(current));
	xa_init_flags(&client->objects, XA_FLAGS_ALLOC);
	list_add(&client->node, &rm_clients);
	*handle = client->handle;
	return RM_OK;
}

/**
 * rm_object_new() - make an object
 * @client: client of the object
 * @class: class of the object
 * @memory: the object's memory, whose reference is taken over, on errors too; NULL: none
 * @handle: set to the object's number
 *
 * Context: RM's lock is held.
 * Return: RM_OK or RM_NO_MEMORY
 */
u32 rm_object_new(struct rm_client *client, u32 class, struct rm_memory *memory, u32 *handle)
{
	struct rm_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (object && !xa_alloc(&client->objects, handle, object,
				XA_LIMIT(RM_FIRST_OBJECT, U32_MAX), GFP_KERNEL)) {
		object->class = class;
		object->memory = memory;
		return RM_OK;
	}
	kfree(object);
	if (memory)
		kref_put(&memory->ref, rm_memory_free);
	return RM_NO_MEMORY;
}

/**
 * rm_object_named() - make an object with a number chosen by the caller
 * @client: client of the object
 * @class: class of the object
 * @memory: the object's memory, whose reference is taken over, on errors too
 * @handle: number of the object
 *
 * Context: RM's lock is held.
 * Return: RM_OK or RM_INVALID_OBJECT_HANDLE
 */
u32 rm_object_named(struct rm_client *client, u32 class, struct rm_memory *memory, u32 handle)
{
	struct rm_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (object && handle && !xa_insert(&client->objects, handle, object, GFP_KERNEL)) {
		object->class = class;
		object->memory = memory;
		return RM_OK;
	}
	kfree(object);
	kref_put(&memory->ref, rm_memory_free);
	return RM_INVALID_OBJECT_HANDLE;
}
