/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lifetimes and lock order of the host module. This file has no code.
 *
 * Lifetimes: a session holds its peer, and a peer the agent. A lane holds its session by the
 * file of the shadow, which the lane's file holds: so a session outlives its last lane. Objects
 * belong to a peer; a running call holds references of the objects that it uses.
 *
 * Lock order, outermost first:
 *
 *   agent_mutex		pointer to the one agent, peer/agent.c
 *   agent->lock		exports, peers
 *   agent->guests_lock		guests that are remembered; agent->lock protects their
 *				tallies and totals
 *   peer->lock			grants, sessions, pointer to struct vgpu_memory
 *   export->files_lock		files of an export, peer/file.c
 *   devices_lock		devices that guests share, their shares, peer/share.c
 *   memory->lock		table of the guest's memory, ram.c
 *   session->lanes.lock	list of lanes; held while sockets of lanes are shut down, so taken
 *				without other locks
 *   grant->beside_lock		opens of a card beside its master; held over a driver's open
 *   session->map_lock		mappings; order of changes to the shadow's mm
 *   (mmap_lock of the shadow)
 *   demand->lock		pages; taken in faults, so never held over a copy to
 *				or from user memory
 *   peer->objects.lock		object, file and space tables, memory that devices keep
 *   poll->lock			wait entries on a driver's queues, held over its ->poll()
 *   session->unmaps.lock, peer->closes.lock, peer->leaves.lock, peer->unbinds.lock,
 *   peer->tgids_lock, agent->events_lock, session->process.lock, grant->denials.lock
 *				spinlocks, never two at a time
 *   peer->events.lock		spinlock, taken where drivers signal
 *   guest->lock		spinlock, waiting time that a guest has left, and its rates
 *   drm_file->table_lock	spinlock of DRM, handles of a file; its buffers' fences are read
 *				inside
 *   (lock of a fence)		spinlock of a driver, held where a fence calls back
 *   device->lock		spinlock, arbiter of a device; taken in a timer, and where drivers
 *				signal fences
 *   lane->cancel.lock		spinlock, innermost, taken in socket callbacks
 *
 * peer->control.tx_lock serializes senders of the control connection. A sender holds it over a
 * send with a deadline and takes no lock inside it. Of all other locks only map_lock, the mmap
 * lock, poll->lock and grant->beside_lock, which is one guest's, are held over a send, a receive or
 * a function of a driver.
 *
 * Lock order of windows, after these locks:
 *
 *   vgpu_windows_lock		list of windows, window.c
 *   (mmap_lock of a hypervisor)
 *   (zapping PTEs of a shadow: i_mmap_rwsem, the notifier's own locks)
 *   window->viewers.lock	viewers; held over their ->zap(). Taken in notifiers, as the
 *				locks below: no allocation that could reclaim memory
 *				is made inside
 *   window->lock		bindings, touches; held while a PTE is inserted
 *   (i_mmap_rwsem of the window)
 *
 * A shadow's mmap lock and a hypervisor's are never held together: a fault in the window drops
 * its own mmap lock before the shadow's is taken. The page is inserted when the fault comes
 * again.
 */
#ifndef _VGPU_HOST_LOCKING_H
#define _VGPU_HOST_LOCKING_H
#endif
