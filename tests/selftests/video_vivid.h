/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes of vivid, the driver of a test camera, as real and forwarded devices for vgpu_diff.h.
 *
 * In the loopback and user tiers the test, as root, exports the nodes to the guest of this machine.
 * With two machines the host has exported its nodes already (VGPU_CAMERA), and the nodes of the
 * guest's own kernel are the real devices.
 */
#ifndef VIDEO_VIVID_H
#define VIDEO_VIVID_H

#include "tool.h"
#include "vgpu_diff.h"

/* Command that prints the /dev name of the node which vivid calls @name. */
#define VIVID_CAMERA(name) \
	"f=$(grep -lx " name " /sys/devices/*/vivid.?/video4linux/*/name) && basename ${f%/name}"

/**
 * struct vivid_node - a node that tests use
 * @export: name of the export, and of the node for DIFF_TEST_NODE()
 * @find: command that prints the name of the node in /dev
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

/* atexit() handler of the harness; tests are other processes, which end by _exit(). */
static inline void vivid_teardown(void)
{
	unsigned int i;

	for (i = 0; tool_has_host() && i < vivid_nr_nodes; i++)
		tool_run("vgpuctl unexport %s --force", vivid_nodes[i].export);
	/* Shadows may close their files some time later, so try again. */
	for (i = 0; i < 200 && tool_run("rmmod vivid")->status; i++)
		usleep(50000);
}

static inline bool vivid_export(const char *dev, const char *name)
{
	return !tool_run("vgpuctl export %s --to 1 --name %s", dev, name)->status;
}

/* Loads vivid with @parameters and exports @nodes. Without a device, tests are skipped later. */
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
