// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI layers over the configuration accesses of a bus of this machine: an access to a device of
 * this module is answered from the device's header, all other accesses go to the bus.
 *
 * The accesses hold no lock (PCI_LOCKLESS_CONFIG) and may be preempted anywhere, so a task may
 * still be about to call a layer that has been taken off. A layer is therefore kept for the
 * next device on that bus. Its memory and the code of this module stay until
 * synchronize_rcu_tasks() has found all tasks outside of the layers.
 *
 * Buses that are made below a bus with a layer inherit its operations.
 */
#include <linux/pci.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "node/pci_header.h"
#include "node/pci_layer.h"

/**
 * struct pci_layer - a layer
 * @entry: list entry in pci_layers
 * @bus: bus of the layer; without @users the bus may have been freed
 * @users: number of devices of this module on @bus; 0: the layer is off
 * @ops: operations of @bus while the layer is on
 * @original: operations below the layer
 */
struct pci_layer {
	struct list_head entry;
	const struct pci_bus *bus;
	unsigned int users;
	struct pci_ops ops;
	struct pci_ops *original;
};

/* List of all layers; changed with pci_lock_rescan_remove() held, read under RCU. */
static LIST_HEAD(pci_layers);
static bool pci_layer_used;

/*
 * Find the operations below the layer of a bus, or of the next bus above, from which the bus
 * has inherited the layer. If there is no layer any more, the bus has its own operations again.
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

/*
 * Take a layer off its bus and the buses below. Return: true if the operations of no bus lead to
 * the layer any more.
 */
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
 * vgpu_pci_layer_get - make a bus answer for devices of this module
 * @bus: the bus; the caller holds pci_lock_rescan_remove()
 *
 * Return: 0 or a negative errno.
 */
int vgpu_pci_layer_get(struct pci_bus *bus)
{
	struct pci_layer *layer = pci_layer_find(bus);
	struct pci_ops ops;

	if (layer && layer->users) {
		/* Another module (aer_inject) has replaced the operations of the bus. */
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
	/* An inherited layer must not be the original, as it may be taken off before this one. */
	layer->original = bus->ops->read == pci_layer_read ? pci_layer_original(bus) : bus->ops;
	/* The original operations may depend on each other (map_bus). */
	ops = *layer->original;
	ops.read = pci_layer_read;
	ops.write = pci_layer_write;
	layer->ops = ops;
	pci_layer_used = true;
	/* A reader that sees a user sees the original operations, too. */
	smp_store_release(&layer->users, 1);
	pci_bus_set_ops(bus, &layer->ops);
	return 0;
}

/**
 * vgpu_pci_layer_put - undo vgpu_pci_layer_get()
 * @bus: the bus; the caller holds pci_lock_rescan_remove()
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
	/* A reader that sees no users sees the restored operations. */
	smp_store_release(&layer->users, 0);
	if (off)
		return;
	/*
	 * Operations that another module has put over the layer may call it for as long as the
	 * kernel runs. So the layer is left behind, without any pointer to this module.
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
