// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layers over the configuration accesses of a bus of this machine: devices of a
 * host's on it are answered for from their headers, all else goes to the bus.
 *
 * No lock is held by those who access (PCI_LOCKLESS_CONFIG), and they may be
 * preempted anywhere, so one may still be on its way into a layer that has been
 * taken off. So a layer is kept for the next device on that bus, and its memory and
 * this module's code stay until all tasks have been seen elsewhere.
 *
 * Buses that are made below one with a layer inherit its operations.
 */
#include <linux/pci.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "pci.h"
#include "pci_layer.h"

/**
 * struct pci_layer - a layer
 * @entry: in pci_layers
 * @bus: where it is; without @users perhaps a bus that is no more
 * @users: devices of hosts on @bus; 0: it is off
 * @ops: what @bus has while it is on
 * @original: what is below
 */
struct pci_layer {
	struct list_head entry;
	const struct pci_bus *bus;
	unsigned int users;
	struct pci_ops ops;
	struct pci_ops *original;
};

/* Changed with pci_lock_rescan_remove() held, read under RCU. */
static LIST_HEAD(pci_layers);
static bool pci_layer_used;

/*
 * The operations below the layer over a bus, or over the next one above from which
 * it has inherited them. Where there is none any more, the bus has its own again.
 */
static struct pci_ops *pci_layer_original(struct pci_bus *bus)
{
	struct pci_ops *original = NULL;
	const struct pci_bus *above;
	struct pci_layer *layer;

	rcu_read_lock();
	for (above = bus; above && !original; above = above->parent) {
		list_for_each_entry_rcu(layer, &pci_layers, entry) {
			/* Pairs with the release in vgpu_pci_layer_put(). */
			if (layer->bus == above && smp_load_acquire(&layer->users)) {
				original = layer->original;
				break;
			}
		}
	}
	rcu_read_unlock();
	return original ?: READ_ONCE(bus->ops);
}

static int pci_layer_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	if (vgpu_pci_read_header(bus, devfn, where, size, val))
		return PCIBIOS_SUCCESSFUL;
	return pci_layer_original(bus)->read(bus, devfn, where, size, val);
}

static int pci_layer_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	if (vgpu_pci_is_ours(bus, devfn))
		return PCIBIOS_SUCCESSFUL;
	return pci_layer_original(bus)->write(bus, devfn, where, size, val);
}

static struct pci_layer *pci_layer_find(const struct pci_bus *bus)
{
	struct pci_layer *layer;

	list_for_each_entry(layer, &pci_layers, entry)
		if (layer->bus == bus)
			return layer;
	return NULL;
}

/* Return: whether nothing else can lead to the layer any more. */
static bool pci_layer_take_off(struct pci_layer *layer, struct pci_bus *bus)
{
	struct pci_bus *child;
	bool off = true;

	if (bus->ops == &layer->ops)
		pci_bus_set_ops(bus, layer->original);
	else if (bus->ops != layer->original)
		off = false;
	list_for_each_entry(child, &bus->children, node)
		off &= pci_layer_take_off(layer, child);
	return off;
}

/**
 * vgpu_pci_layer_get - let a bus answer for devices of a host's
 * @bus: the bus; pci_lock_rescan_remove() is held
 *
 * Return: 0 or a negative errno.
 */
int vgpu_pci_layer_get(struct pci_bus *bus)
{
	struct pci_layer *layer = pci_layer_find(bus);
	struct pci_ops ops;

	if (layer && layer->users) {
		/* Others (aer_inject) have put theirs over it or in its place. */
		if (bus->ops != &layer->ops)
			return -EBUSY;
		layer->users++;
		return 0;
	}
	if (!layer) {
		layer = kzalloc(sizeof(*layer), GFP_KERNEL);
		if (!layer)
			return -ENOMEM;
		layer->bus = bus;
		list_add_rcu(&layer->entry, &pci_layers);
	}
	/* Not the layer of a bus above, which may be taken off before this one is. */
	layer->original = bus->ops->read == pci_layer_read ? pci_layer_original(bus) : bus->ops;
	/* The original operation may depend on others of its bus (map_bus). */
	ops = *layer->original;
	ops.read = pci_layer_read;
	ops.write = pci_layer_write;
	layer->ops = ops;
	pci_layer_used = true;
	/* A reader that sees a user sees the operations below, too. */
	smp_store_release(&layer->users, 1);
	pci_bus_set_ops(bus, &layer->ops);
	return 0;
}

/**
 * vgpu_pci_layer_put - undo vgpu_pci_layer_get()
 * @bus: the bus; pci_lock_rescan_remove() is held
 */
void vgpu_pci_layer_put(struct pci_bus *bus)
{
	struct pci_layer *layer = pci_layer_find(bus);
	bool off;

	if (layer->users > 1) {
		layer->users--;
		return;
	}
	off = pci_layer_take_off(layer, bus);
	/* A reader that sees no users sees the operations that are put back. */
	smp_store_release(&layer->users, 0);
	if (off)
		return;
	/*
	 * What others have put over it may lead to it for as long as the kernel
	 * runs. So it is left to them, without anything of this module in it.
	 */
	list_del_rcu(&layer->entry);
	WRITE_ONCE(layer->ops.read, layer->original->read);
	WRITE_ONCE(layer->ops.write, layer->original->write);
}

void vgpu_pci_layer_global_exit(void)
{
	struct pci_layer *layer, *next;

	if (!pci_layer_used)
		return;
	synchronize_rcu_tasks();
	list_for_each_entry_safe(layer, next, &pci_layers, entry)
		kfree(layer);
}
