// SPDX-License-Identifier: MIT
/* Command doctor: examines this machine, and prints what is wrong and what to do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"
#include "vgpuctl/vgpuctl.h"

static void (*const host_parts[])(struct doctor *doctor) = {
	machine_examine,
	files_examine,
	host_module_examine,
	service_examine,
	agent_examine,
	transport_examine,
	export_examine,
	hypervisor_examine,
	window_examine,
	libvirt_examine,
	nvidia_examine,
};

static void (*const guest_parts[])(struct doctor *doctor) = {
	guest_module_examine,
	guest_transport_examine,
	guest_reach_examine,
	guest_node_examine,
	guest_window_examine,
	guest_nvidia_examine,
};

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* A machine with one of these is set up as a host, or as a guest. */
static const char *const host_signs[] = {
	"/run/vgpu/vgpud.sock", "/dev/vgpu-host", "/sys/module/vgpu_host",
};

static const char *const guest_signs[] = {
	"/sys/module/vgpu_guest", "/sys/class/vgpu", "/etc/modules-load.d/vgpu_guest.conf",
	"/etc/modules-load.d/vgpu.conf",
};

static bool has_sign(const struct doctor *doctor, const char *const signs[], size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (root_exists(&doctor->root, signs[i]))
			return true;
	return false;
}

/* Check whether the machine is a virtual one, by the processor's flags. */
static bool is_virtual(const struct doctor *doctor)
{
	char *text = root_read(&doctor->root, "/proc/cpuinfo", NULL);
	bool found_flag = text && strstr(text, " hypervisor");

	free(text);
	return found_flag;
}

/* Find out whether the machine is a host or a guest, unless the command line says so. */
static void find_sides(struct doctor *doctor, const char *side)
{
	size_t i;

	doctor->host = side && !strcmp(side, "host");
	doctor->guest = side && !strcmp(side, "guest");
	if (side)
		return;
	doctor->host = has_sign(doctor, host_signs, ARRAY_SIZE(host_signs)) ||
		       doctor->settings.nr_exports || doctor->info;
	for (i = 0; i < doctor->hypervisors.nr; i++)
		doctor->host |= doctor->hypervisors.list[i].window != 0;
	doctor->guest = has_sign(doctor, guest_signs, ARRAY_SIZE(guest_signs));
	if (doctor->host || doctor->guest)
		return;
	doctor->guest = is_virtual(doctor);
	doctor->host = !doctor->guest;
	found(doctor, WARNING, "not-set-up", "",
	      "this machine is neither a host (nothing is exported, and vgpud does not run) nor a guest (vgpu_guest is not loaded); it was examined as a %s",
	      doctor->host ? "host" : "guest");
	advise(doctor, "see Documentation/admin/quickstart.rst, or say which it is to be: vgpuctl doctor host, vgpuctl doctor guest");
}

static void read_release(struct doctor *doctor)
{
	if (root_line(&doctor->root, "/proc/sys/kernel/osrelease", doctor->release) &&
	    sscanf(doctor->release, "%u.%u", &doctor->major, &doctor->minor) == 2)
		return;
	doctor->major = 0;
	found(doctor, UNSEEN, "kernel", "",
	      "the release of the kernel is not known (/proc/sys/kernel/osrelease), so traps of kernels were not looked for");
}

static void ask_agent(struct doctor *doctor, const struct options *options)
{
	const char *given = options->values[OPT_SOCKET], *path = doctor->settings.socket;

	if (!*path)
		path = VGPU_AGENT_SOCKET;
	if (asprintf(&doctor->socket, "%s%s", given ? "" : doctor->root.path,
		     given ? given : path) < 0) {
		doctor->socket = NULL;
		doctor->agent_error = -ENOMEM;
		return;
	}
	doctor->agent_error = vgpu_agent_open(doctor->socket, &doctor->agent);
	if (doctor->agent_error)
		return;
	doctor->agent_error = vgpu_agent_status(doctor->agent, &doctor->info);
	if (doctor->agent_error)
		doctor->info = NULL;
}

static void examine(struct doctor *doctor, const char *side)
{
	size_t i;

	find_sides(doctor, side);
	for (i = 0; doctor->host && i < ARRAY_SIZE(host_parts); i++)
		host_parts[i](doctor);
	for (i = 0; doctor->guest && i < ARRAY_SIZE(guest_parts); i++)
		guest_parts[i](doctor);
}

int cmd_doctor(const char *side, const struct options *options)
{
	struct doctor doctor = { .host = false };
	bool no_memory;
	int ret;

	if (side && strcmp(side, "host") && strcmp(side, "guest"))
		return fail(EXIT_USAGE, "doctor examines 'host' or 'guest', and no '%s' (vgpuctl help doctor)",
			    side);
	ret = root_init(&doctor.root, options->values[OPT_ROOT]);
	if (ret)
		return fail(exit_status(ret), "%s: %s: give the root directory of a system", options->values[OPT_ROOT] ?
			    options->values[OPT_ROOT] : "/", strerror(-ret));
	settings_read(&doctor.root, &doctor.settings);
	no_memory = !hypervisors_find(&doctor.root, &doctor.hypervisors);
	ask_agent(&doctor, options);
	read_release(&doctor);
	examine(&doctor, side);
	no_memory |= doctor.settings.no_memory || doctor.findings.no_memory ||
		     doctor.agent_error == -ENOMEM;
	if (no_memory)
		ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	else if (option_given(options, OPT_JSON))
		findings_print_json(&doctor.findings, doctor.host, doctor.guest);
	else
		findings_print(&doctor.findings, option_given(options, OPT_VERBOSE));
	if (!ret && findings_count(&doctor.findings, FINDING_ERROR))
		ret = EXIT_FAILED;
	findings_free(&doctor.findings);
	vgpu_host_info_free(doctor.info);
	vgpu_agent_close(doctor.agent);
	settings_free(&doctor.settings);
	free(doctor.hypervisors.list);
	free(doctor.socket);
	root_exit(&doctor.root);
	return ret;
}
