// SPDX-License-Identifier: MIT
/* Command show: what status prints, of one export, guest or device. */
#include <string.h>

#include "vgpuctl.h"

/**
 * struct wanted - what the command is to show
 * @name: argument of the command
 * @guest: numbers of the guest, if the argument is one; its CID is 0 if not
 * @port: vsock port of vgpud, for guests that are named without a port
 */
struct wanted {
	const char *name;
	struct vgpu_guest_name guest;
	uint32_t port;
};

static bool is_guest(const struct wanted *wanted, const char *name, uint32_t cid, uint32_t port)
{
	if (*name && !strcmp(wanted->name, name))
		return true;
	return wanted->guest.cid == cid &&
	       (wanted->guest.port ? wanted->guest.port : wanted->port) == port;
}

static bool is_granted(const struct wanted *wanted, const struct vgpu_export_info *export)
{
	size_t i;

	for (i = 0; i < export->nr_grants; i++)
		if (is_guest(wanted, export->grants[i]->name, export->grants[i]->cid,
			     export->grants[i]->port))
			return true;
	return false;
}

/* Swap two entries of an array of pointers, all of which are freed later. */
static void swap(void *array, size_t i, size_t j)
{
	void **entries = array, *entry = entries[i];

	entries[i] = entries[j];
	entries[j] = entry;
}

/*
 * Move what is wanted to the beginning of each list, and count it in @nr: exports, guests and
 * windows. The lists keep their lengths. @exposures: those of the windows
 */
static void narrow_host(struct vgpu_host_info *host, struct exposure *exposures,
			const struct wanted *wanted, size_t nr[3])
{
	struct exposure exposure;
	size_t i;

	for (i = 0; i < host->nr_exports; i++)
		if (!strcmp(host->exports[i]->name, wanted->name) ||
		    is_granted(wanted, host->exports[i]))
			swap(host->exports, i, nr[0]++);
	for (i = 0; i < host->nr_guests; i++)
		if (is_guest(wanted, host->guests[i]->name, host->guests[i]->cid,
			     host->guests[i]->port))
			swap(host->guests, i, nr[1]++);
	for (i = 0; i < host->nr_windows; i++)
		if (is_guest(wanted, "", host->windows[i]->cid, host->windows[i]->port) ||
		    (nr[1] && host->windows[i]->cid == host->guests[0]->cid &&
		     host->windows[i]->port == host->guests[0]->port)) {
			exposure = exposures[i];
			exposures[i] = exposures[nr[2]];
			exposures[nr[2]] = exposure;
			swap(host->windows, i, nr[2]++);
		}
}

static bool is_node(const struct vgpu_node_info *node, const char *name)
{
	const char *slash = strrchr(node->node, '/');

	return !strcmp(node->name, name) || !strcmp(node->node, name) ||
	       !strcmp(node->drm_node, name) || (slash && !strcmp(slash + 1, name));
}

int machine_show_one(const struct machine *machine, const char *name, bool json)
{
	struct wanted wanted = { .name = name };
	struct vgpu_host_info host;
	struct machine one = *machine;
	size_t nr[3] = { 0 }, i;
	const char *word;

	if (!guest_is(name, &word, &wanted.guest) || word)
		wanted.guest.cid = 0;
	if (machine->host) {
		wanted.port = machine->host->port;
		narrow_host(machine->host, machine->exposures, &wanted, nr);
		host = *machine->host;
		host.nr_exports = nr[0];
		host.nr_guests = nr[1];
		host.nr_windows = nr[2];
		one.host = &host;
	}
	one.nr_nodes = 0;
	for (i = 0; i < machine->nr_nodes; i++)
		if (is_node(machine->nodes[i], name))
			swap(machine->nodes, i, one.nr_nodes++);
	one.is_guest = one.nr_nodes;
	if (!(nr[0] + nr[1] + nr[2]))
		one.host = NULL;
	if (!one.host && !one.is_guest)
		return fail(EXIT_NOT_FOUND, "there is no export, guest or device called %s here: 'vgpuctl list' shows all",
			    name);
	if (json)
		print_machine_json(&one, true);
	else
		print_machine(&one, true);
	return 0;
}
