// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "vgpuctl.h"

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void print_grants(const struct vgpu_export_info *export, uint32_t port)
{
	const struct vgpu_grant_info *grant;
	size_t i;

	for (i = 0; i < export->nr_grants; i++) {
		grant = &export->grants[i];
		printf("%s%" PRIu32, i ? ", " : "", grant->cid);
		if (grant->port != port)
			printf(":%" PRIu32, grant->port);
		if (grant->read_only)
			printf(" read-only");
		if (grant->any_port)
			printf(" any-port");
		if (grant->connected)
			printf(" (connected)");
	}
	putchar('\n');
}

static void print_exports(const struct vgpu_host_info *host, bool status)
{
	const struct vgpu_export_info *export;
	size_t i;

	if (!host->nr_exports) {
		puts("nothing is exported (vgpuctl export PATH --to CID)");
		return;
	}
	printf("%-16s %-22s %-12s %-11s %s\n", "EXPORT", "PATH", "DRIVER", "KIND", "TO");
	for (i = 0; i < host->nr_exports; i++) {
		export = &host->exports[i];
		printf("%-16s %-22s %-12s %-11s ", export->name, export->path,
		       export->ready ? or_dash(export->driver) : "(absent)",
		       or_dash(export->kind));
		print_grants(export, host->port);
		if (status && *export->bus)
			printf("  %s\n", export->bus);
	}
}

static void print_guest(const struct vgpu_guest_info *guest)
{
	const struct vgpu_counters *counters = &guest->counters;
	size_t i;

	printf("guest %" PRIu32 ":%" PRIu32 ": %s, shadows run as user %" PRIu32 "\n",
	       guest->cid, guest->port, guest->connected ? "connected" : "ending", guest->uid);
	if (guest->connected) {
		printf("  calls %" PRIu64 ", round trips %" PRIu64 ", bytes in %" PRIu64
		       ", out %" PRIu64 "\n", counters->calls, counters->round_trips,
		       counters->bytes_in, counters->bytes_out);
		printf("  pages fetched %" PRIu64 ", written %" PRIu64 "; lanes %" PRIu64
		       ", open files %" PRIu64 ", mappings %" PRIu64 "\n",
		       counters->fetched_pages, counters->written_pages, counters->lanes,
		       counters->objects, counters->mappings);
		if (counters->kept_bytes)
			printf("  kept by devices: bytes %" PRIu64 "\n", counters->kept_bytes);
		printf("  refused %" PRIu64 ", malformed %" PRIu64 ", fetch timeouts %" PRIu64
		       ", stray files %" PRIu64 ", cancelled %" PRIu64 "\n",
		       counters->refused, counters->malformed, counters->fetch_timeouts,
		       counters->stray_fds, counters->cancels);
	}
	for (i = 0; i < guest->nr_programs; i++)
		printf("  program %s, pid %" PRIu32 " in the guest, shadow %" PRIu32 "\n",
		       guest->programs[i].comm, guest->programs[i].guest_pid,
		       guest->programs[i].shadow_pid);
}

static void print_window(const struct vgpu_window_status *window)
{
	printf("window %s: for guest %" PRIu32 ":%" PRIu32 ", %" PRIu64 " MiB, of user %s, made %s, opened %"
	       PRIu64 " times%s\n", window->path, window->cid, window->port, window->size >> 20,
	       window->owner, window->automatic ? "automatically" : "by hand", window->opens,
	       window->drain ? ", to be empty" : "");
	printf("  mappings %" PRIu64 ", bytes %" PRIu64 "; faults %" PRIu64 ", pages resolved %"
	       PRIu64 ", of 2 MiB %" PRIu64 ", changed %" PRIu64 "\n", window->bindings,
	       window->bound_bytes, window->faults, window->resolved, window->huge, window->zaps);
	printf("  without a page %" PRIu64 ", failed %" PRIu64 ", timeouts %" PRIu64
	       "; slots %" PRIu64 ", bytes of messages %" PRIu64 "\n", window->dummies,
	       window->failures, window->timeouts, window->slots, window->arena_bytes);
}

/* As QEMU and vgpuctl take it. */
static void size_words(uint64_t size, char words[24])
{
	static const char units[] = "\0KMGT";
	size_t i;

	for (i = 0; i < 4 && size && !(size & 1023); i++)
		size >>= 10;
	snprintf(words, 24, "%" PRIu64 "%.1s", size, units + i);
}

static const struct vgpu_guest_info *guest_of(const struct vgpu_host_info *host,
					      const struct vgpu_window_status *window)
{
	size_t i;

	for (i = 0; i < host->nr_guests; i++)
		if (host->guests[i].cid == window->cid && host->guests[i].port == window->port)
			return &host->guests[i];
	return NULL;
}

static void print_window_line(const struct vgpu_host_info *host,
			      const struct vgpu_window_status *window)
{
	const struct vgpu_guest_info *guest = guest_of(host, window);
	char name[24], size[24], mappings[48];

	snprintf(name, sizeof(name), "%" PRIu32 ":%" PRIu32, window->cid, window->port);
	size_words(window->size, size);
	/* Those that are not in it go by copy. */
	snprintf(mappings, sizeof(mappings), "%" PRIu64 " of %" PRIu64, window->bindings,
		 guest && guest->connected ? guest->counters.mappings : 0);
	printf("%-24s %-14s %-6s %-14s %-14s %-7" PRIu64 " %-12s %" PRIu64 "\n", window->path,
	       name, size, window->owner, window->automatic ? "automatically" : "by hand",
	       window->opens, mappings, window->bound_bytes);
}

void print_windows(const struct vgpu_host_info *host)
{
	size_t i;

	if (!host->nr_windows) {
		puts("no guest has a window (vgpuctl window create --to CID --size SIZE)");
		return;
	}
	printf("%-24s %-14s %-6s %-14s %-14s %-7s %-12s %s\n", "WINDOW", "GUEST", "SIZE", "OWNER",
	       "MADE", "OPENED", "MAPPINGS", "BYTES");
	for (i = 0; i < host->nr_windows; i++)
		print_window_line(host, &host->windows[i]);
}

static void put_vhost_user(FILE *to, const char *id, const char *path)
{
	fprintf(to, "-chardev socket,id=%s,path=%s -device vhost-user-test-device-pci,chardev=%s,virtio-id=%d,num_vqs=1,config_size=%d",
	       id, path, id, VGPU_WINDOW_VIRTIO_ID, VGPU_WINDOW_CONFIG_LEN);
}

bool put_qemu_args(FILE *to, const struct vgpu_host_info *host, uint32_t cid, uint32_t port,
		   bool memory)
{
	const struct vgpu_window_status *window;
	char size[24];
	size_t i;

	for (i = 0; i < host->nr_windows; i++) {
		window = &host->windows[i];
		if (window->cid != cid || window->port != (port ? port : host->port))
			continue;
		/* Its device tells of the guest's memory in any case. */
		if (host->user_engine) {
			put_vhost_user(to, "window", window->path);
			return true;
		}
		if (memory && !*window->memory_path)
			return false;
		if (memory) {
			put_vhost_user(to, "memory", window->memory_path);
			fputc(' ', to);
		}
		size_words(window->size, size);
		fprintf(to, "-object memory-backend-file,id=window,mem-path=%s,size=%s,share=on,align=2M -device ivshmem-plain,memdev=window",
		       window->path, size);
		return true;
	}
	return false;
}

static void print_host(const struct vgpu_host_info *host, bool status)
{
	size_t i;

	if (status)
		printf("host: vgpud %s, pid %" PRIu32 ", vsock port %" PRIu32 "%s%s\n",
		       host->version, host->pid, host->port,
		       host->user_engine ? ", engine in user space" : "",
		       host->scratch_keys ? "" : ", no protection keys");
	print_exports(host, status);
	if (!status)
		return;
	for (i = 0; i < host->nr_guests; i++)
		print_guest(&host->guests[i]);
	if (!host->nr_guests)
		puts("no guest is connected");
	for (i = 0; i < host->nr_windows; i++)
		print_window(&host->windows[i]);
}

/* What slows programs down, or does not work if there are fds in it. */
static void print_unknown(const struct vgpu_node_info *node)
{
	size_t i;

	if (!node->nr_unknown)
		return;
	printf("  ioctls without a schema:");
	for (i = 0; i < node->nr_unknown; i++)
		printf("%s %#010" PRIx32 " (%" PRIu64 ")", i ? "," : "", node->unknown[i].cmd,
		       node->unknown[i].calls);
	if (node->unknown_others)
		printf(", others (%" PRIu64 ")", node->unknown_others);
	putchar('\n');
}

/* Hosts with which something is the matter, and all where that is why there is no device. */
static void print_reach(const struct machine *machine)
{
	const struct vgpu_reach_info *reach;
	char words[256];
	size_t i;

	if (!machine->nr_nodes)
		puts("this guest has no device");
	for (i = 0; i < machine->nr_reach; i++) {
		reach = &machine->reach[i];
		reach_words(reach, words);
		if (*words)
			printf("host %s: %s: %s\n", reach->host, reach->state, words);
		else if (!machine->nr_nodes)
			printf("host %s: %s%s\n", reach->host, reach->state,
			       strcmp(reach->state, "connected") ? "" :
			       ": what it exports to this guest is not there");
	}
}

static void print_nodes(const struct machine *machine, bool status)
{
	const struct vgpu_node_info *node;
	size_t i;

	print_reach(machine);
	if (!machine->nr_nodes)
		return;
	printf("%-12s %-22s %-16s %-22s %-12s %-14s %s\n", "NODE", "USUAL NODE", "EXPORT",
	       "PATH ON HOST", "DRIVER", "HOST", "STATE");
	for (i = 0; i < machine->nr_nodes; i++) {
		node = &machine->nodes[i];
		printf("%-12s %-22s %-16s %-22s %-12s %-14s %s\n", node->node,
		       *node->drm_node ? node->drm_node : or_dash(node->class_node), node->name, node->path, or_dash(node->driver),
		       node->host, node->state);
		if (status && *node->bus)
			printf("  %s on the host\n", node->bus);
		if (status)
			printf("  calls %" PRIu64 ", round trips %" PRIu64 ", bytes in %" PRIu64
			       ", out %" PRIu64 ", pages fetched %" PRIu64 "\n", node->calls,
			       node->round_trips, node->bytes_in, node->bytes_out,
			       node->fetched_pages);
		if (status)
			printf("  mappings in the window %" PRIu64 ", by copy %" PRIu64 "\n",
			       node->window_mappings, node->copy_mappings);
		print_unknown(node);
	}
}

void print_machine(const struct machine *machine, bool status)
{
	if (machine->host)
		print_host(machine->host, status);
	if (machine->host && machine->is_guest)
		putchar('\n');
	if (machine->is_guest)
		print_nodes(machine, status);
}
