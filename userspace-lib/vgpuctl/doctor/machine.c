// SPDX-License-Identifier: MIT
/* The host's kernel and processor: what vgpu needs of them, and known traps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"

/* Default of vm.max_map_count, which is enough for the default limits. */
#define MAP_COUNT	65530
/* LimitNOFILE= of vgpud.service. */
#define OPEN_FILES	1048576

static long number_of(const struct doctor *doctor, const char *path)
{
	char line[256];

	return root_line(&doctor->root, path, line) ? atol(line) : -1;
}

static bool has_word(const struct doctor *doctor, const char *path, const char *word)
{
	char *text = root_read(&doctor->root, path, NULL), *at, *rest;
	bool there = false;

	for (at = text ? strtok_r(text, " \t\n", &rest) : NULL; at && !there;
	     at = strtok_r(NULL, " \t\n", &rest))
		there = !strcmp(at, word);
	free(text);
	return there;
}

static void examine_kernel(struct doctor *doctor)
{
	if (kernel_before(doctor, 6, 1)) {
		found(doctor, ERROR, "kernel-old", "",
		      "kernel %s is older than 6.1, the oldest with which vgpu works", doctor->release);
		advise(doctor, "start a kernel from 6.1 on");
	} else if (doctor->major) {
		found(doctor, PASSED, "kernel", "", "kernel %s", doctor->release);
	}
	if (has_word(doctor, "/proc/cmdline", "ia32_emulation=0") ||
	    has_word(doctor, "/proc/cmdline", "ia32_emulation=off")) {
		found(doctor, NOTE, "no-32-bit", "",
		      "this kernel runs no 32-bit programs, so calls of guests' 32-bit programs fail with EOPNOTSUPP");
		advise(doctor, "if guests have such programs, remove ia32_emulation= from the kernel's command line");
	}
}

static void examine_cgroups(struct doctor *doctor)
{
	static const char *const needed[] = { "memory", "pids" };
	static const char path[] = "/sys/fs/cgroup/cgroup.controllers";
	const char *want = doctor->settings.cgroups;
	enum finding_kind kind = strcmp(want, "auto") ? FINDING_ERROR : FINDING_WARNING;
	size_t i;

	if (!strcmp(want, "no")) {
		found(doctor, WARNING, "cgroups-off", "",
		      "vgpud.conf has 'cgroups = no', so a guest can use up this host's memory");
		advise(doctor, "remove that line, unless all guests are trusted");
		return;
	}
	if (!root_exists(&doctor->root, "/sys/fs/cgroup"))
		return;
	if (!root_exists(&doctor->root, path)) {
		finding_add(&doctor->findings, kind, "cgroup2-missing", "",
			    "no file system cgroup2 is mounted at /sys/fs/cgroup, so guests cannot have control groups");
		advise(doctor, "remove systemd.unified_cgroup_hierarchy=0 from the kernel's command line; without systemd: mount -t cgroup2 none /sys/fs/cgroup");
		return;
	}
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (has_word(doctor, path, needed[i]))
			continue;
		finding_add(&doctor->findings, kind, "cgroup-controller-missing", needed[i],
			    "control groups have no controller %s, which guests' groups need", needed[i]);
		advise(doctor, "remove cgroup_disable=%s from the kernel's command line, or unmount the cgroup1 hierarchy that has it",
		       needed[i]);
	}
}

static void examine_processor(struct doctor *doctor)
{
	bool known = root_exists(&doctor->root, "/proc/cpuinfo");

	if (doctor->info ? !doctor->info->scratch_keys :
	    known && !has_word(doctor, "/proc/cpuinfo", "ospke")) {
		found(doctor, WARNING, "protection-keys-missing", "",
		      "this processor has no protection keys, so only random addresses keep drivers from a shadow's own memory");
		advise(doctor, "remove nopku from the kernel's command line if it is there; in a virtual machine give the processor the flag pku (-cpu host). Other processors cannot have it");
	} else if (known) {
		found(doctor, PASSED, "protection-keys", "", "the processor has protection keys");
	}
	if (root_exists(&doctor->root, "/sys") && !root_exists(&doctor->root, "/dev/kvm")) {
		found(doctor, WARNING, "kvm-missing", "",
		      "there is no /dev/kvm, so QEMU has to emulate its guests' processors");
		advise(doctor, "modprobe kvm_intel or kvm_amd; if that fails, turn virtualization on in the firmware, or nesting in the hypervisor of this machine");
	}
}

/* User-space engines need more of the kernel than the module. */
static void examine_engine(struct doctor *doctor)
{
	bool chosen = !strcmp(doctor->settings.engine, "user");
	bool off = kernel_before(doctor, 6, 5) ?
		   !has_word(doctor, "/proc/cmdline", "secretmem.enable=1") :
		   has_word(doctor, "/proc/cmdline", "secretmem.enable=0");
	long maps = number_of(doctor, "/proc/sys/vm/max_map_count");

	if (!chosen)
		return;
	if (!root_exists(&doctor->root, "/dev/userfaultfd")) {
		found(doctor, ERROR, "userfaultfd-missing", "",
		      "there is no /dev/userfaultfd, which the user-space engine needs");
		advise(doctor, "take a kernel with CONFIG_USERFAULTFD, or the module vgpu_host ('engine = kernel')");
	}
	if (doctor->major && off) {
		found(doctor, ERROR, "secret-memory-off", "",
		      "memfd_secret() is turned off, which the user-space engine needs");
		advise(doctor, kernel_before(doctor, 6, 5) ?
		       "add secretmem.enable=1 to the kernel's command line" :
		       "remove secretmem.enable=0 from the kernel's command line");
	}
	if (maps >= 0 && maps < MAP_COUNT) {
		found(doctor, WARNING, "map-count-low", "",
		      "vm.max_map_count is %ld, too low for the default limits of guests", maps);
		advise(doctor, "sysctl vm.max_map_count=%d, and the same line in /etc/sysctl.d",
		       MAP_COUNT);
	}
}

static void examine_limits(struct doctor *doctor)
{
	long files = number_of(doctor, "/proc/sys/fs/nr_open");

	if (!doctor->settings.namespaces) {
		found(doctor, WARNING, "namespaces-off", "",
		      "vgpud.conf has 'namespaces = no', so shadows see other processes and the network of this host");
		advise(doctor, "remove that line, unless all guests are trusted");
	}
	if (files < 0 || files >= OPEN_FILES)
		return;
	found(doctor, ERROR, "open-files-low", "",
	      "fs.nr_open is %ld, so systemd cannot give vgpud.service its LimitNOFILE=%d", files,
	      OPEN_FILES);
	advise(doctor, "sysctl fs.nr_open=%d, and the same line in /etc/sysctl.d", OPEN_FILES);
}

/* Shadows run as users of a range that no other user should be in. */
static void examine_users(struct doctor *doctor)
{
	unsigned long long first = doctor->settings.uid_base, uid;
	char *text = root_read(&doctor->root, "/etc/passwd", NULL), *line, *rest, *at;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		at = strchr(line, ':');
		at = at ? strchr(at + 1, ':') : NULL;
		uid = at ? strtoull(at + 1, NULL, 10) : 0;
		if (!at || uid < first || uid - first >= doctor->settings.uid_count)
			continue;
		*strchr(line, ':') = '\0';
		found(doctor, ERROR, "uid-range-taken", line,
		      "user %s (%llu) is in the range of uid-base, as whose users shadows run: a guest could change that user's files and processes",
		      line, uid);
		advise(doctor, "set uid-base in [shadow] of vgpud.conf to a range that nobody uses");
	}
	free(text);
}

/* Windows of user-space engines need QEMU 11.1. Debian's list of packages says what is installed. */
static void examine_qemu(struct doctor *doctor)
{
	char *text = root_read(&doctor->root, "/var/lib/dpkg/status", NULL);
	const char *at = text ? strstr(text, "\nPackage: qemu-system-x86\n") : NULL;
	const char *end = at ? strstr(at, "\n\n") : NULL;
	unsigned int major, minor;
	bool windows = false;
	size_t i;

	for (i = 0; i < doctor->settings.nr_exports; i++)
		windows |= doctor->settings.exports[i].window != 0;
	at = at ? strstr(at, "\nVersion: ") : NULL;
	if (windows && !strcmp(doctor->settings.engine, "user") && at && (!end || at < end) &&
	    (sscanf(at, "\nVersion: %*u:%u.%u", &major, &minor) == 2 ||
	     sscanf(at, "\nVersion: %u.%u", &major, &minor) == 2) &&
	    (major < 11 || (major == 11 && !minor))) {
		found(doctor, ERROR, "qemu-old", "",
		      "QEMU %u.%u is installed, but windows of the user-space engine need QEMU 11.1",
		      major, minor);
		advise(doctor, "install a newer QEMU, or use the module ('engine = kernel')");
	}
	free(text);
}

static bool uses_windows(const struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->settings.nr_exports; i++)
		if (doctor->settings.exports[i].window)
			return true;
	for (i = 0; i < doctor->hypervisors.nr; i++)
		if (doctor->hypervisors.list[i].window)
			return true;
	return doctor->info && doctor->info->nr_windows;
}

/* Traps of KVM that concern windows (Documentation/admin/window.rst). */
static void examine_kvm(struct doctor *doctor)
{
	bool windows = uses_windows(doctor);
	char nested[256];

	if (!root_line(&doctor->root, "/sys/module/kvm_intel/parameters/nested", nested))
		return;
	if (kernel_before(doctor, 6, 13) && (nested[0] == 'Y' || nested[0] == '1')) {
		finding_add(&doctor->findings, windows ? FINDING_ERROR : FINDING_WARNING,
			    "window-nested-vmx", "",
			    "kvm_intel has nested=1 on a kernel before 6.13: no window can be made or opened (EPERM), because guests of guests could keep its pages");
		advise(doctor, "echo 'options kvm_intel nested=0' >/etc/modprobe.d/vgpu.conf, then, while no guest runs: modprobe -r kvm_intel && modprobe kvm_intel; or a kernel from 6.13 on");
	}
	if (windows) {
		found(doctor, NOTE, "window-memory-type", "",
		      "KVM on Intel ignores the memory types that a guest asks for, where a driver maps ordinary memory: harmless if the device's DMA is coherent, as that of PCIe cards is; wrong data if not");
		advise(doctor, "give no window to guests of other devices ('In the guest's page tables' in Documentation/internals/window.rst)");
	}
}

void machine_examine(struct doctor *doctor)
{
	examine_kernel(doctor);
	examine_cgroups(doctor);
	examine_processor(doctor);
	examine_engine(doctor);
	examine_limits(doctor);
	examine_users(doctor);
	examine_qemu(doctor);
	examine_kvm(doctor);
}
