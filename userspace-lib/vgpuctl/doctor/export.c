// SPDX-License-Identifier: MIT
/* Exports and their guests, as the files say and as vgpud has them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "vgpuctl/doctor/doctor.h"

/* Context IDs that belong to no guest. 1 is this machine itself, as in tests. */
#define CID_HYPERVISOR	0
#define CID_HOST	2

static void examine_device(struct doctor *doctor, const struct wanted *wanted)
{
	const char *slash = strrchr(wanted->path, '/');
	struct stat st;

	/* vgpud says so if a path is not absolute. */
	if (!slash)
		return;
	if (root_stat(&doctor->root, wanted->path, &st)) {
		found(doctor, WARNING, "export-device-missing", wanted->name,
		      "[%s] of %s exports %s, which does not exist: guests get it when it does",
		      wanted->name, wanted->file, wanted->path);
		advise(doctor, "load the device's driver, or correct 'path'; ls %.*s shows what there is",
		       (int)(slash - wanted->path), wanted->path);
	} else if (root_is_live(&doctor->root) && !S_ISCHR(st.st_mode)) {
		found(doctor, ERROR, "export-wrong-device", wanted->name,
		      "[%s] of %s exports %s, which is no character device", wanted->name,
		      wanted->file, wanted->path);
		advise(doctor, "correct 'path'");
	} else if (!(st.st_mode & 0600)) {
		found(doctor, WARNING, "export-device-mode", wanted->name,
		      "%s has mode %04o: not even its owner may open it", wanted->path,
		      st.st_mode & 07777);
		advise(doctor, "chmod u+rw %s, and look for the rule of udev that changed it",
		       wanted->path);
	}
}

static void examine_guest(struct doctor *doctor, const struct wanted *wanted, uint32_t cid)
{
	if (cid != CID_HOST && cid != CID_HYPERVISOR)
		return;
	found(doctor, ERROR, "context-id-reserved", wanted->name,
	      "[%s] of %s is for context id %" PRIu32 ", which is %s and no guest", wanted->name,
	      wanted->file, cid, cid == CID_HOST ? "the host itself" : "the hypervisor");
	advise(doctor, "give the guest's context id in 'to': the number after guest-cid= of its QEMU, from 3 on");
}

static void examine_wanted(struct doctor *doctor, const struct wanted *wanted)
{
	size_t i;

	examine_device(doctor, wanted);
	for (i = 0; i < wanted->nr_guests; i++)
		examine_guest(doctor, wanted, wanted->guests[i]);
	if (!wanted->nr_guests) {
		found(doctor, ERROR, "export-without-guest", wanted->name,
		      "[%s] of %s is for no guest", wanted->name, wanted->file);
		advise(doctor, "add 'to = CID', then: vgpuctl reload");
	}
	if (wanted->any_port) {
		found(doctor, NOTE, "export-any-port", wanted->name,
		      "[%s] of %s has any-port, so any user of a guest can pose as the guest's kernel",
		      wanted->name, wanted->file);
		advise(doctor, "remove any-port unless a bridge hides the guest's ports");
	}
}

/* Check whether vgpud has an export that no file asks for, for this guest. */
static bool has_grant(const struct doctor *doctor, uint32_t cid)
{
	size_t i, j;

	for (i = 0; doctor->info && i < doctor->info->nr_exports; i++)
		for (j = 0; j < doctor->info->exports[i]->nr_grants; j++)
			if (doctor->info->exports[i]->grants[j]->cid == cid)
				return true;
	return false;
}

static bool is_wanted(const struct doctor *doctor, uint32_t cid)
{
	size_t i;

	for (i = 0; i < doctor->settings.nr_exports; i++)
		if (wanted_has(&doctor->settings.exports[i], cid))
			return true;
	return false;
}

/* Compare guests that run with those that something is exported to. */
static void compare_guests(struct doctor *doctor)
{
	const struct hypervisor *process;
	const struct wanted *wanted;
	char about[16];
	size_t i, j;

	for (i = 0; i < doctor->hypervisors.nr; i++) {
		process = &doctor->hypervisors.list[i];
		if (!process->cid || is_wanted(doctor, process->cid) ||
		    has_grant(doctor, process->cid))
			continue;
		snprintf(about, sizeof(about), "%" PRIu32, process->cid);
		found(doctor, WARNING, "guest-without-export", about,
		      "guest %" PRIu32 " runs (process %" PRIu32 "), but nothing is exported to it",
		      process->cid, process->pid);
		advise(doctor, "vgpuctl export PATH --to %" PRIu32 ", or 'to = %" PRIu32 "' in a file of %s",
		       process->cid, process->cid, doctor->settings.exports_dir);
	}
	for (i = 0; doctor->hypervisors.all && i < doctor->settings.nr_exports; i++) {
		wanted = &doctor->settings.exports[i];
		for (j = 0; j < wanted->nr_guests; j++) {
			if (wanted->guests[j] <= CID_HOST ||
			    hypervisor_of(&doctor->hypervisors, wanted->guests[j]))
				continue;
			snprintf(about, sizeof(about), "%" PRIu32, wanted->guests[j]);
			found(doctor, NOTE, "guest-not-running", about,
			      "[%s] of %s is for guest %" PRIu32 ", but no QEMU has guest-cid=%" PRIu32,
			      wanted->name, wanted->file, wanted->guests[j], wanted->guests[j]);
			advise(doctor, "start the guest, or compare 'to' with the guest-cid= of its QEMU");
		}
	}
}

/* Check whether a file asks for an export that vgpud does not have. */
static void compare_files(struct doctor *doctor)
{
	const struct wanted *wanted;
	size_t i, j;

	for (i = 0; doctor->info && i < doctor->settings.nr_exports; i++) {
		wanted = &doctor->settings.exports[i];
		for (j = 0; j < doctor->info->nr_exports; j++)
			if (!strcmp(doctor->info->exports[j]->name, wanted->name))
				break;
		if (j < doctor->info->nr_exports || wanted->nvidia)
			continue;
		found(doctor, ERROR, "export-not-made", wanted->name,
		      "[%s] of %s is not among vgpud's exports", wanted->name, wanted->file);
		advise(doctor, "vgpuctl reload, which says what is wrong");
	}
}

/* Say which limits a guest has reached. Only root, and members of a group, may ask that. */
static void examine_limits(struct doctor *doctor, const struct vgpu_guest_info *guest,
			   const char *about)
{
	const struct vgpu_guest_name name = { .cid = guest->cid, .port = guest->port };
	const struct vgpu_limit_info *limit;
	struct vgpu_limits_info *info;
	size_t i;

	if (vgpu_agent_limits(doctor->agent, NULL, &name, &info))
		return;
	for (i = 0; i < info->nr_limits; i++) {
		limit = info->limits[i];
		if (!limit->used || !limit->limit || limit->most < limit->limit)
			continue;
		found(doctor, WARNING, "limit-reached", about,
		      "guest %s has reached its limit %s (%" PRIu64 ") since it connected", about,
		      limit->name, limit->limit);
		advise(doctor, "if its calls failed: vgpuctl limit %s %s=VALUE", about, limit->name);
	}
	vgpu_limits_info_free(info);
}

/* Examine what vgpud knows of guests that are connected. */
static void examine_guests(struct doctor *doctor)
{
	const struct vgpu_guest_info *guest;
	char about[24];
	size_t i;

	for (i = 0; doctor->info && i < doctor->info->nr_guests; i++) {
		guest = doctor->info->guests[i];
		if (!guest->connected)
			continue;
		snprintf(about, sizeof(about), "%" PRIu32 ":%" PRIu32, guest->cid, guest->port);
		examine_limits(doctor, guest, about);
		if (guest->counters.cut_off) {
			found(doctor, ERROR, "guest-cut-off", about,
			      "guest %s did not answer in time too often, so drivers do not wait for memory of its programs for some minutes",
			      about);
			advise(doctor, "is the guest paused or overloaded? See patience-ms in vgpud(8)");
		}
		if (guest->counters.malformed) {
			found(doctor, WARNING, "guest-malformed", about,
			      "guest %s has broken the protocol %" PRIu64 " times", about,
			      guest->counters.malformed);
			advise(doctor, "the guest was stopped in mid-message, or somebody in it attacks this host: journalctl -u vgpud");
		}
		if (guest->counters.fetch_timeouts) {
			found(doctor, WARNING, "guest-slow", about,
			      "guest %s did not send memory in time %" PRIu64 " times; the calls failed with EFAULT",
			      about, guest->counters.fetch_timeouts);
			advise(doctor, "was the guest paused? Else see fetch-timeout-ms in vgpud(8)");
		}
		if (guest->counters.refused) {
			found(doctor, NOTE, "guest-refused", about,
			      "%" PRIu64 " calls of guest %s were refused by a limit or the terms of an export",
			      guest->counters.refused, about);
			advise(doctor, "vgpuctl status names denied ioctls, vgpuctl limit %s shows the limits", about);
		}
	}
}

void export_examine(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->settings.nr_exports; i++)
		examine_wanted(doctor, &doctor->settings.exports[i]);
	if (!doctor->settings.nr_exports && !(doctor->info && doctor->info->nr_exports)) {
		found(doctor, WARNING, "nothing-exported", "", "this host exports nothing");
		advise(doctor, "vgpuctl export PATH --to CID, or a file in %s that ends in .conf (Documentation/admin/exports.rst)",
		       doctor->settings.exports_dir);
	}
	compare_guests(doctor);
	compare_files(doctor);
	examine_guests(doctor);
}
