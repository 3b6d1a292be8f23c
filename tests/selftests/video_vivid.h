/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes of vivid, the driver of a test camera, as real and forwarded devices of vgpu_diff.h.
 *
 * They are exported to the guest of this machine, as root, in the loopback and user tiers. Guests
 * in machines of their own have the host's, which were exported to them (VGPU_CAMERA), beside
 * real ones of their own kernel.
 */
#ifndef VIDEO_VIVID_H
#define VIDEO_VIVID_H

#include "tool.h"
#include "vgpu_diff.h"

/* A command that prints the name of the node that vivid calls so. */
#define VIVID_CAMERA(name) \
	"f=$(grep -lx " name " /sys/devices/*/vivid.?/video4linux/*/name) && basename ${f%/name}"

/**
 * struct vivid_node - one that tests use
 * @export: name of its export, and of the node for DIFF_TEST_NODE()
 * @find: command that prints its name in /dev
 */
struct vivid_node {
	const char *export;
	const char *find;
};

static const struct vivid_node *vivid_nodes;
static unsigned int vivid_nr_nodes;

static inline const char *vivid_path(const char *name)
{
	return diff_node(forwarded ? "VGPU_FWD" : "VGPU_REAL", name);
}

/* The harness exits by itself; tests are other processes, which leave with _exit(). */
static inline void vivid_teardown(void)
{
	unsigned int i;

	for (i = 0; tool_has_host() && i < vivid_nr_nodes; i++)
		tool_run("vgpuctl unexport %s --force", vivid_nodes[i].export);
	/* Shadows close files when they are told to, not at once. */
	for (i = 0; i < 200 && tool_run("rmmod vivid")->status; i++)
		usleep(50000);
}

static inline bool vivid_export(const char *dev, const char *name)
{
	return !tool_run("vgpuctl export %s --to 1 --name %s", dev, name)->status;
}

/* Without a device tests are skipped. @parameters: of the module */
static inline void vivid_setup(const char *parameters, const struct vivid_node *nodes,
			       unsigned int nr)
{
	char variable[64], dev[64];
	struct tool_run *run;
	unsigned int i;

	if ((!tool_has_host() && !getenv("VGPU_CAMERA")) || geteuid() ||
	    tool_run("modprobe -q vivid %s", parameters)->status)
		return;
	vivid_nodes = nodes;
	vivid_nr_nodes = nr;
	atexit(vivid_teardown);
	for (i = 0; i < nr; i++) {
		run = tool_run("%s", nodes[i].find);
		run->out[strcspn(run->out, "\n")] = '\0';
		snprintf(dev, sizeof(dev), "/dev/%.50s", run->out);
		if (run->status || (tool_has_host() && !vivid_export(dev, nodes[i].export))) {
			printf("# %s: %s\n", nodes[i].export, run->out);
			continue;
		}
		snprintf(variable, sizeof(variable), "VGPU_REAL_%s", nodes[i].export);
		setenv(variable, dev, 1);
		close(tool_open_export(nodes[i].export));
		snprintf(variable, sizeof(variable), "VGPU_FWD_%s", nodes[i].export);
		snprintf(dev, sizeof(dev), "/dev/vgpu%d", tool_find_export(nodes[i].export));
		setenv(variable, dev, 1);
	}
}

#endif /* VIDEO_VIVID_H */
