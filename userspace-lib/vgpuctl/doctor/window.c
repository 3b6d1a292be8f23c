// SPDX-License-Identifier: MIT
/* Windows of a host: whether they are there, and who may open them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"
#include "vgpuctl/vgpuctl.h"

#define WINDOW_SMALL	(4ULL << 30)

static const struct vgpu_window_status *window_of(const struct doctor *doctor, uint32_t cid)
{
	size_t i;

	for (i = 0; doctor->info && i < doctor->info->nr_windows; i++)
		if (doctor->info->windows[i]->cid == cid)
			return doctor->info->windows[i];
	return NULL;
}

static void examine_size(struct doctor *doctor, const struct wanted *wanted)
{
	if (!wanted->window)
		return;
	if (wanted->window & (wanted->window - 1)) {
		found(doctor, ERROR, "window-size-wrong", wanted->name,
		      "[%s] of %s asks for a window of %llu bytes, which is no power of two",
		      wanted->name, wanted->file, wanted->window);
		advise(doctor, "take a power of two, such as window = 4G: its size costs no memory");
	} else if (wanted->window < WINDOW_SMALL) {
		found(doctor, WARNING, "window-small", wanted->name,
		      "[%s] of %s asks for a window of less than 4G, which firmware puts below 4 GiB, so mappings go by copy",
		      wanted->name, wanted->file);
		advise(doctor, "window = 4G or more: its size costs no memory");
	}
}

/* Examine the window that a file asks for: it is to be there when QEMU starts. */
static void examine_wanted(struct doctor *doctor, const struct wanted *wanted, uint32_t cid)
{
	const struct vgpu_window_status *window = window_of(doctor, cid);
	const struct hypervisor *process = hypervisor_of(&doctor->hypervisors, cid);
	char about[32], path[64];
	struct stat st;

	if (!wanted->window)
		return;
	snprintf(about, sizeof(about), "%" PRIu32, cid);
	snprintf(path, sizeof(path), "/dev/vgpu-window-%" PRIu32, cid);
	if (doctor->info && !window) {
		found(doctor, ERROR, "window-missing", about,
		      "[%s] of %s asks for a window of guest %" PRIu32 ", which is not there",
		      wanted->name, wanted->file, cid);
		advise(doctor, "vgpuctl reload, which says what is wrong; journalctl -u vgpud");
	}
	if (process && !process->daemon && process->window != cid) {
		found(doctor, WARNING, "window-not-in-qemu", about,
		      "guest %" PRIu32 " is to have a window, but its QEMU (process %" PRIu32 ") does not have it, so mappings go by copy",
		      cid, process->pid);
		advise(doctor, "add to QEMU's arguments what 'vgpuctl window qemu-args --to %" PRIu32 "' prints, and start the guest again",
		       cid);
	}
	if (!root_stat(&doctor->root, path, &st) && st.st_mode & 066) {
		found(doctor, ERROR, "window-mode", about,
		      "%s has mode %04o, so others than its owner can see memory of guest %" PRIu32, path,
		      st.st_mode & 07777, cid);
		advise(doctor, "chmod 600 %s, and look for the rule of udev that changed it", path);
	}
}

/* Find users and processes that endanger a window ('vgpuctl status' prints them as well). */
static void examine_exposures(struct doctor *doctor)
{
	const struct vgpu_window_status *window;
	struct exposure *exposures = NULL;
	char about[32];
	size_t i, j;

	if (!doctor->info || !root_is_live(&doctor->root))
		return;
	if (exposures_find(doctor->info, &exposures)) {
		doctor->findings.no_memory = true;
		exposures_free(exposures, doctor->info->nr_windows);
		return;
	}
	for (i = 0; i < doctor->info->nr_windows; i++) {
		window = doctor->info->windows[i];
		snprintf(about, sizeof(about), "%" PRIu32, window->cid);
		for (j = 0; j < exposures[i].nr_openers; j++) {
			found(doctor, WARNING, "window-open-to-others", about,
			      "%s%s%s may open the window of guest %" PRIu32 ", and not only its hypervisor",
			      exposures[i].openers[j].kind,
			      *exposures[i].openers[j].name ? " " : "",
			      exposures[i].openers[j].name, window->cid);
			advise(doctor, "give each guest a user of its own ('A user for each guest' in Documentation/admin/window.rst)");
		}
		for (j = 0; j < exposures[i].nr_companions; j++) {
			found(doctor, ERROR, "window-beside-vfio", about,
			      "process %" PRIu32 " has the window of guest %" PRIu32 " and a device of VFIO (%s): behind a virtual IOMMU the device reaches memory of other guests",
			      exposures[i].companions[j].pid, window->cid,
			      exposures[i].companions[j].path);
			advise(doctor, "take one of the two away ('Beside other things in one machine' in Documentation/admin/window.rst)");
		}
		if (!exposures[i].companions_known && exposures[i].seen) {
			found(doctor, UNSEEN, "window-processes", about,
			      "files of other users' processes cannot be seen, so devices of VFIO beside the window of guest %" PRIu32 " were not looked for",
			      window->cid);
			advise(doctor, "run this command as root");
		}
	}
	exposures_free(exposures, doctor->info->nr_windows);
}

/* Examine windows that vgpud has. */
static void examine_window(struct doctor *doctor, const struct vgpu_window_status *window)
{
	char about[32];

	snprintf(about, sizeof(about), "%" PRIu32, window->cid);
	if (window->drain) {
		found(doctor, WARNING, "window-drained", about,
		      "the window of guest %" PRIu32 " is kept empty, so mappings go by copy",
		      window->cid);
		advise(doctor, "vgpuctl window fill --to %" PRIu32, window->cid);
	}
	if (window->memory_huge) {
		found(doctor, WARNING, "window-memory-huge", about,
		      "all memory of guest %" PRIu32 " is in hugetlbfs, so devices cannot keep memory of its programs",
		      window->cid);
		advise(doctor, "give QEMU memory of small pages, such as memory-backend-memfd,share=on ('Memory that devices keep' in Documentation/admin/window.rst)");
	}
	if (window->timeouts) {
		found(doctor, WARNING, "window-timeouts", about,
		      "a driver did not give a page for the window of guest %" PRIu32 " in time, %" PRIu64 " times",
		      window->cid, window->timeouts);
		advise(doctor, "the kernel's log says whether the driver hangs: dmesg");
	}
}

void window_examine(struct doctor *doctor)
{
	const struct wanted *wanted;
	size_t i, j;

	for (i = 0; i < doctor->settings.nr_exports; i++) {
		wanted = &doctor->settings.exports[i];
		examine_size(doctor, wanted);
		for (j = 0; j < wanted->nr_guests; j++)
			examine_wanted(doctor, wanted, wanted->guests[j]);
	}
	for (i = 0; doctor->info && i < doctor->info->nr_windows; i++)
		examine_window(doctor, doctor->info->windows[i]);
	examine_exposures(doctor);
}
