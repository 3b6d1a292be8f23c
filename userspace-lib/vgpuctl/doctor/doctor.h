/* SPDX-License-Identifier: MIT */
/*
 * vgpuctl's doctor examines this machine, as a host and as a guest, and says what is wrong and what
 * to do. Each file below this directory examines one part, by functions that add findings.
 */
#ifndef VGPUCTL_DOCTOR_DOCTOR_H
#define VGPUCTL_DOCTOR_DOCTOR_H

#include <stdint.h>

#include "vgpu.h"
#include "vgpuctl/doctor/finding.h"
#include "vgpuctl/doctor/hypervisor.h"
#include "vgpuctl/doctor/root.h"
#include "vgpuctl/doctor/settings.h"

/**
 * struct doctor - an examination
 * @findings: findings so far
 * @root: files of the system
 * @host: true if the system is a host
 * @guest: true if the system is a guest
 * @release: release of the kernel, such as "6.12.107"; "": not known
 * @major: major version of the kernel; 0: not known
 * @minor: minor version of the kernel
 * @settings: settings of vgpud and exports of its files
 * @hypervisors: QEMUs of the system
 * @agent: connection to vgpud; NULL: there is none
 * @agent_error: negative errno with which the connection failed
 * @info: answer of vgpud; NULL: there is none
 * @socket: path of vgpud's socket, in the mount namespace of vgpuctl
 */
struct doctor {
	struct findings findings;
	struct root root;
	bool host;
	bool guest;
	char release[256];
	unsigned int major;
	unsigned int minor;
	struct settings settings;
	struct hypervisors hypervisors;
	struct vgpu_agent *agent;
	int agent_error;
	struct vgpu_host_info *info;
	char *socket;
};

/* Add a finding, see finding_add(). */
#define found(doctor, kind, name, about, ...) \
	finding_add(&(doctor)->findings, FINDING_##kind, name, about, __VA_ARGS__)
/* Say what to do about the last finding. */
#define advise(doctor, ...) finding_advise(&(doctor)->findings, __VA_ARGS__)

/* Return: true if the kernel is known, and older than this version. */
static inline bool kernel_before(const struct doctor *doctor, unsigned int major,
				 unsigned int minor)
{
	return doctor->major && (doctor->major < major ||
				 (doctor->major == major && doctor->minor < minor));
}

/* --- module.c ------------------------------------------------------------- */

bool module_is_loaded(const struct doctor *doctor, const char *name);
/*
 * Add a finding of @kind if a module that is needed is not loaded, which says why it is not. @why:
 * consequence for the user.
 */
void module_examine(struct doctor *doctor, enum finding_kind kind, const char *name,
		    const char *why);
/* Examine a module that was built from this project: its file, its options, its node. */
void module_examine_own(struct doctor *doctor, const char *name);
void host_module_examine(struct doctor *doctor);

/* --- other parts of a host ------------------------------------------------- */

void machine_examine(struct doctor *doctor);
void agent_examine(struct doctor *doctor);
/* Check whether vgpud.service or a drop-in has this setting, given as the beginning of a line. */
bool service_has(const struct doctor *doctor, const char *setting);
void service_examine(struct doctor *doctor);
void files_examine(struct doctor *doctor);
void transport_examine(struct doctor *doctor);
void export_examine(struct doctor *doctor);
void window_examine(struct doctor *doctor);
void hypervisor_examine(struct doctor *doctor);
void libvirt_examine(struct doctor *doctor);
void nvidia_examine(struct doctor *doctor);

/* --- parts of a guest ------------------------------------------------------- */

void guest_module_examine(struct doctor *doctor);
void guest_transport_examine(struct doctor *doctor);
void guest_reach_examine(struct doctor *doctor);
void guest_node_examine(struct doctor *doctor);
void guest_window_examine(struct doctor *doctor);
void guest_nvidia_examine(struct doctor *doctor);

#endif /* VGPUCTL_DOCTOR_DOCTOR_H */
