// SPDX-License-Identifier: GPL-2.0-only
/* Hosts: references of a struct vgpu_host, and the operations of what is built on connections. */
#include <linux/random.h>
#include <linux/slab.h>

#include "link/host.h"

/* Random number of this load of the module, by which a host tells a new guest from an old one. */
u8 vgpu_host_instance[VGPU_HOST_INSTANCE_LEN];
static const struct vgpu_host_ops *host_ops;

/**
 * vgpu_host_global_init - set up before the first connection
 * @ops: work of what is built on connections; valid as long as the module
 */
void vgpu_host_global_init(const struct vgpu_host_ops *ops)
{
	host_ops = ops;
	get_random_bytes(vgpu_host_instance, sizeof(vgpu_host_instance));
}

/* Return: the @ops of vgpu_host_global_init(). */
const struct vgpu_host_ops *vgpu_host_ops(void)
{
	return host_ops;
}

/* Takes another reference. Return: @host. */
struct vgpu_host *vgpu_host_get(struct vgpu_host *host)
{
	kref_get(&host->ref);
	return host;
}

static void host_free(struct kref *ref)
{
	struct vgpu_host *host = container_of(ref, struct vgpu_host, ref);

	vgpu_host_ops()->fini(host);
	kfree_sensitive(host);
}

void vgpu_host_put(struct vgpu_host *host)
{
	kref_put(&host->ref, host_free);
}
