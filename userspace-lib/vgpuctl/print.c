// SPDX-License-Identifier: MIT
/* State of a machine as tables and text for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "libvgpu/counter.h"
#include "vgpuctl.h"

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

/* --- counters -------------------------------------------------------------- */

/* Length of the longest line of counters. */
#define COLUMNS		96

/* Format a number of bytes with the largest unit that fits. */
static void bytes_words(uint64_t bytes, char words[24])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t rest = 0;
	size_t i;

	for (i = 0; bytes >= 1024; i++) {
		rest = bytes % 1024;
		bytes /= 1024;
	}
	/* One digit after the point is precise enough. */
	if (rest * 10 / 1024)
		snprintf(words, 24, "%" PRIu64 ".%" PRIu64 " %s", bytes, rest * 10 / 1024, units[i]);
	else
		snprintf(words, 24, "%" PRIu64 " %s", bytes, units[i]);
}

/* Print the numbers of the struct @of, in lines that fit on the screen. */
static void print_counters(const struct counter *counter, const void *of)
{
	char number[24], words[72], *underline;
	size_t column = 0, len;
	uint64_t value;

	for (; counter->name; counter++) {
		value = *counter_in(counter, of);
		if (counter->bytes)
			bytes_words(value, number);
		else
			snprintf(number, sizeof(number), "%" PRIu64, value);
		snprintf(words, sizeof(words), "%s %s", counter->name, number);
		while ((underline = strchr(words, '_')))
			*underline = ' ';
		len = strlen(words);
		if (column && column + len + 2 > COLUMNS) {
			printf(",\n");
			column = 0;
		}
		printf("%s%s", column ? ", " : "  ", words);
		column += len + 2;
	}
	putchar('\n');
}

/* --- exports and guests of a host ----------------------------------------- */

/* Format the name of a grant's guest, or its CID, with its port unless it is the default @port. */
static void grant_guest(const struct vgpu_grant_info *grant, uint32_t port, char name[32])
{
	if (*grant->name)
		snprintf(name, 32, "%s", grant->name);
	else
		snprintf(name, 32, grant->port == port ? "%" PRIu32 : "%" PRIu32 ":%" PRIu32,
			 grant->cid, grant->port);
}

/* Format the grants as words, separated by commas, and cut off a list that is too long to read. */
static void grant_words(const struct vgpu_export_info *export, uint32_t port, char words[1024])
{
	const struct vgpu_grant_info *grant;
	char name[32];
	size_t i, len = 0;

	words[0] = '\0';
	for (i = 0; i < export->nr_grants && len < 1024; i++) {
		grant = export->grants[i];
		grant_guest(grant, port, name);
		len += snprintf(words + len, 1024 - len, "%s%s%s%s%s", i ? ", " : "", name,
				grant->read_only ? " read-only" : "",
				grant->any_port ? " any-port" : "",
				grant->connected ? " (connected)" : "");
	}
	if (len >= 1024)
		strcpy(words + 1024 - sizeof("..."), "...");
}

/* Print the ioctls that were denied to guests, or let through by an audit, if there are any. */
static void print_denials(const struct vgpu_host_info *host)
{
	const struct vgpu_denial_info *denial;
	struct libscols_table *table = NULL;
	const struct vgpu_grant_info *grant;
	char name[32], denied[24], audited[24];
	size_t i, j, k;

	for (i = 0; i < host->nr_exports; i++)
		for (j = 0; j < host->exports[i]->nr_grants; j++) {
			grant = host->exports[i]->grants[j];
			/* The port is shown even if it is the default, as no port is 0. */
			grant_guest(grant, 0, name);
			for (k = 0; k < grant->nr_denials; k++) {
				if (!table)
					table = table_new("DENIED IOCTL", "EXPORT", "GUEST",
							  ">DENIED", ">LET THROUGH", NULL);
				denial = grant->denials[k];
				snprintf(denied, sizeof(denied), "%" PRIu64, denial->denied);
				snprintf(audited, sizeof(audited), "%" PRIu64, denial->audited);
				table_add(table, denial->ioctl, host->exports[i]->name, name, denied,
					  audited);
			}
		}
	if (table)
		table_print(table);
}

static void print_exports(const struct vgpu_host_info *host, bool status)
{
	const struct vgpu_export_info *export;
	struct libscols_table *table;
	char grants[1024];
	size_t i;

	if (!host->nr_exports) {
		puts("nothing is exported (vgpuctl export PATH --to CID)");
		return;
	}
	table = status ? table_new("EXPORT", "PATH", "DRIVER", "KIND", "BUS", "TO", NULL) :
		table_new("EXPORT", "PATH", "DRIVER", "KIND", "TO", NULL);
	for (i = 0; i < host->nr_exports; i++) {
		export = host->exports[i];
		grant_words(export, host->port, grants);
		table_add(table, export->name, export->path,
			  export->ready ? or_dash(export->driver) : "(absent)",
			  or_dash(export->kind), status ? or_dash(export->bus) : grants, grants);
	}
	table_print(table);
	for (i = 0; status && i < host->nr_exports; i++) {
		export = host->exports[i];
		if (export->no_demand)
			printf("%s: drivers do not wait for memory of programs (no demand pages)\n",
			       export->name);
		if (*export->profile)
			printf("%s: guests may make ioctls of profile %s\n", export->name,
			       export->profile);
		if (export->audit)
			printf("%s: ioctls that would be denied are let through (audit)\n",
			       export->name);
	}
	if (status)
		print_denials(host);
}

static void print_guest(const struct vgpu_guest_info *guest)
{
	printf("guest %s%s%" PRIu32 ":%" PRIu32 ": %s, shadows run as user %" PRIu32 "\n",
	       guest->name, *guest->name ? ", " : "", guest->cid, guest->port, guest->connected ? "connected" : "ending", guest->uid);
	if (guest->connected)
		print_counters(guest_counters, &guest->counters);
	if (guest->connected && guest->counters.cut_off)
		puts("  cut off: for some minutes drivers do not wait for memory of this guest's programs");
}

static void print_programs(const struct vgpu_host_info *host)
{
	struct libscols_table *table = NULL;
	const struct vgpu_guest_info *guest;
	char name[24], pid[12], shadow[12];
	size_t i, j;

	for (i = 0; i < host->nr_guests; i++) {
		guest = host->guests[i];
		for (j = 0; j < guest->nr_programs; j++) {
			if (!table)
				table = table_new("PROGRAM", "GUEST", ">PID IN GUEST", ">SHADOW",
						  NULL);
			snprintf(name, sizeof(name), "%" PRIu32 ":%" PRIu32, guest->cid, guest->port);
			snprintf(pid, sizeof(pid), "%" PRIu32, guest->programs[j]->guest_pid);
			snprintf(shadow, sizeof(shadow), "%" PRIu32, guest->programs[j]->shadow_pid);
			table_add(table, guest->programs[j]->comm, name, pid, shadow);
		}
	}
	if (table)
		table_print(table);
}

/* --- limits of a guest ------------------------------------------------------ */

/* Format the value of a limit, or what is used of it. */
static void limit_words(const struct vgpu_limit_info *limit, uint64_t value, char words[24])
{
	if (limit->bytes)
		bytes_words(value, words);
	else
		snprintf(words, 24, "%" PRIu64, value);
}

void print_limits(const struct vgpu_limits_info *info)
{
	struct libscols_table *table = table_new("LIMIT", ">USE", ">MOST", ">VALUE", "FROM", NULL);
	const struct vgpu_limit_info *limit;
	char use[24], most[24], value[24];
	size_t i;

	printf("guest %s%s%" PRIu32 ":%" PRIu32 ": %sconnected\n", info->name,
	       *info->name ? ", " : "", info->cid, info->port, info->connected ? "" : "not ");
	for (i = 0; i < info->nr_limits; i++) {
		limit = info->limits[i];
		limit_words(limit, limit->use, use);
		limit_words(limit, limit->most, most);
		limit_words(limit, limit->limit, value);
		table_add(table, limit->name, limit->used ? use : "-", limit->used ? most : "-",
			  value, limit->origin);
	}
	table_print(table);
}

/* --- windows --------------------------------------------------------------- */

/* Print a line for each mistake in the window's setup, with the place that describes the remedy. */
static void print_exposure(const struct vgpu_window_status *window, const struct exposure *exposure)
{
	size_t i;

	for (i = 0; i < exposure->nr_companions; i++)
		printf("  warning: process %" PRIu32 ", which has opened the window of guest %" PRIu32 ", also has a VFIO device, %s: "
		       "behind a virtual IOMMU this device can reach device memory of other guests "
		       "('Beside other things in one machine' in Documentation/admin/window.rst)\n",
		       exposure->companions[i].pid, window->cid, exposure->companions[i].path);
	if (!exposure->nr_openers)
		return;
	printf("  warning: not only the hypervisor of guest %" PRIu32 " may open this window, but also:",
	       window->cid);
	for (i = 0; i < exposure->nr_openers; i++)
		printf("%s %s%s%s", i ? "," : "", exposure->openers[i].kind,
		       *exposure->openers[i].name ? " " : "", exposure->openers[i].name);
	puts(" ('A user for each guest' in Documentation/admin/window.rst)");
}

static void print_window(const struct vgpu_window_status *window, const struct exposure *exposure)
{
	printf("window %s: for guest %" PRIu32 ":%" PRIu32 ", of user %s, made %s%s\n",
	       window->path, window->cid, window->port, window->owner,
	       window->automatic ? "automatically" : "by hand",
	       window->drain ? ", being drained" : "");
	if (window->memory_huge)
		puts("  all memory of the guest is in hugetlbfs: devices cannot keep memory of its programs");
	print_counters(window_counters, window);
	print_exposure(window, exposure);
}

/* Format a size as QEMU and vgpuctl accept it. */
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
		if (host->guests[i]->cid == window->cid && host->guests[i]->port == window->port)
			return host->guests[i];
	return NULL;
}

static void add_window(struct libscols_table *table, const struct vgpu_host_info *host,
		       const struct vgpu_window_status *window)
{
	const struct vgpu_guest_info *guest = guest_of(host, window);
	char name[24], size[24], opens[24], mappings[48], bytes[24];

	snprintf(name, sizeof(name), "%" PRIu32 ":%" PRIu32, window->cid, window->port);
	size_words(window->size, size);
	snprintf(opens, sizeof(opens), "%" PRIu64, window->opens);
	/* Mappings that the window does not hold are in copy mode. */
	snprintf(mappings, sizeof(mappings), "%" PRIu64 " of %" PRIu64, window->bindings,
		 guest && guest->connected ? guest->counters.mappings : 0);
	bytes_words(window->bound_bytes, bytes);
	table_add(table, window->path, name, size, window->owner,
		  window->automatic ? "automatically" : "by hand", opens, mappings, bytes);
}

void print_windows(const struct vgpu_host_info *host)
{
	struct libscols_table *table;
	size_t i;

	if (!host->nr_windows) {
		puts("no guest has a window (vgpuctl window create --to CID --size SIZE)");
		return;
	}
	table = table_new("WINDOW", "GUEST", ">SIZE", "OWNER", "MADE", ">OPENS", ">BINDINGS",
			  ">BOUND BYTES", NULL);
	for (i = 0; i < host->nr_windows; i++)
		add_window(table, host, host->windows[i]);
	table_print(table);
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
		window = host->windows[i];
		if (window->cid != cid || window->port != (port ? port : host->port))
			continue;
		/* This window's vhost-user device reports the guest's memory in any case. */
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

static void print_host(const struct machine *machine, bool status)
{
	const struct vgpu_host_info *host = machine->host;
	size_t i;

	if (status)
		printf("host: vgpud %s, pid %" PRIu32 ", vsock port %" PRIu32 "%s%s%s\n",
		       host->version, host->pid, host->port,
		       host->user_engine ? ", engine in user space" : "",
		       host->scratch_keys ? "" : ", no protection keys",
		       host->cgroups ? "" : ", no control groups");
	print_exports(host, status);
	if (!status)
		return;
	for (i = 0; i < host->nr_guests; i++)
		print_guest(host->guests[i]);
	print_programs(host);
	if (!host->nr_guests)
		puts("no guest is connected");
	for (i = 0; i < host->nr_windows; i++)
		print_window(host->windows[i], &machine->exposures[i]);
}

/* --- devices of a guest ---------------------------------------------------- */

/* Print ioctls without a schema: they are slow, and fail if their arguments hold fds. */
static void print_unknown(const struct vgpu_node_info *node)
{
	size_t i;

	if (!node->nr_unknown)
		return;
	printf("%s: ioctls without a schema:", node->node);
	for (i = 0; i < node->nr_unknown; i++) {
		printf("%s %#010" PRIx32, i ? "," : "", node->unknown[i]->cmd);
		if (node->unknown[i]->class_of)
			printf(" class %#010" PRIx32, node->unknown[i]->class_of);
		if (node->unknown[i]->command_of)
			printf(" command %#010" PRIx32, node->unknown[i]->command_of);
		printf(" (%" PRIu64 ")", node->unknown[i]->calls);
	}
	if (node->unknown_others)
		printf(", others (%" PRIu64 ")", node->unknown_others);
	putchar('\n');
}

/* Print the hosts that have a problem; if there is no device, print all hosts. */
static void print_reach(const struct machine *machine)
{
	const struct vgpu_reach_info *reach;
	char words[256];
	size_t i;

	if (!machine->nr_nodes)
		puts("this guest has no device");
	for (i = 0; i < machine->nr_reach; i++) {
		reach = machine->reach[i];
		reach_words(reach, words);
		if (*words)
			printf("host %s: %s: %s\n", reach->host, reach->state, words);
		else if (!machine->nr_nodes)
			printf("host %s: %s%s\n", reach->host, reach->state,
			       strcmp(reach->state, "connected") ? "" :
			       ": the devices that it exports to this guest are not there");
	}
}

static void print_nodes(const struct machine *machine, bool status)
{
	const struct vgpu_node_info *node;
	struct libscols_table *table;
	size_t i;

	print_reach(machine);
	if (!machine->nr_nodes)
		return;
	table = table_new("NODE", "USUAL NODE", "EXPORT", "PATH ON HOST", "DRIVER", "HOST", "STATE",
			  status ? "BUS ON HOST" : NULL, NULL);
	for (i = 0; i < machine->nr_nodes; i++) {
		node = machine->nodes[i];
		table_add(table, node->node,
			  *node->drm_node ? node->drm_node : or_dash(node->class_node), node->name,
			  node->path, or_dash(node->driver), node->host, node->state,
			  or_dash(node->bus));
	}
	table_print(table);
	for (i = 0; i < machine->nr_nodes; i++) {
		if (status)
			printf("%s:\n", machine->nodes[i]->node);
		if (status)
			print_counters(node_counters, machine->nodes[i]);
		print_unknown(machine->nodes[i]);
	}
}

void print_machine(const struct machine *machine, bool status)
{
	if (machine->host)
		print_host(machine, status);
	if (machine->host && machine->is_guest)
		putchar('\n');
	if (machine->is_guest)
		print_nodes(machine, status);
}
