// SPDX-License-Identifier: MIT
/*
 * Exports and grants: vgpud keeps their lists, passes them to the host module or the engines, and
 * notifies guests of changes of devices.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "device/exporter.h"
#include "device/files.h"
#include "device/paths.h"
#include "export/export.h"
#include "guest/listener.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "shared/log.h"

struct export_list exports = TAILQ_HEAD_INITIALIZER(exports);

/* --- specs ---------------------------------------------------------------- */

bool export_name_ok(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len && len < 32 && !name[len];
}

int export_spec_add_guest(struct export_spec *spec, uint32_t cid, uint32_t port)
{
	void *guests = realloc(spec->guests, (spec->nr_guests + 1) * sizeof(*spec->guests));

	if (!guests)
		return -ENOMEM;
	spec->guests = guests;
	spec->guests[spec->nr_guests].cid = cid;
	spec->guests[spec->nr_guests].port = port ? port : settings.port;
	spec->nr_guests++;
	return 0;
}

bool export_spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port)
{
	size_t i;

	for (i = 0; i < spec->nr_guests; i++)
		if (spec->guests[i].cid == cid && spec->guests[i].port == port)
			return true;
	return false;
}

int export_spec_add_ioctl(struct export_spec *spec, uint32_t cmd)
{
	uint32_t *ioctls;

	if (spec->nr_ioctls == EXPORT_IOCTLS_MAX)
		return -E2BIG;
	ioctls = realloc(spec->ioctls, (spec->nr_ioctls + 1) * sizeof(*ioctls));
	if (!ioctls)
		return -ENOMEM;
	spec->ioctls = ioctls;
	spec->ioctls[spec->nr_ioctls++] = cmd;
	return 0;
}

void export_spec_free(struct export_spec *spec)
{
	free(spec->guests);
	free(spec->ioctls);
	spec->guests = NULL;
	spec->ioctls = NULL;
}

static bool spec_has_ioctl(const struct export_spec *spec, uint32_t cmd)
{
	size_t i;

	for (i = 0; i < spec->nr_ioctls; i++)
		if (spec->ioctls[i] == cmd)
			return true;
	return false;
}

bool export_spec_same_ioctls(const struct export_spec *a, const struct export_spec *b)
{
	size_t i;

	if (a->nr_ioctls != b->nr_ioctls || (a->nr_ioctls && a->ioctls_deny != b->ioctls_deny))
		return false;
	/* The order does not matter. No list names an ioctl twice, so one direction is enough. */
	for (i = 0; i < a->nr_ioctls; i++)
		if (!spec_has_ioctl(b, a->ioctls[i]))
			return false;
	return true;
}

bool export_spec_same_terms(const struct export_spec *a, const struct export_spec *b)
{
	return !strcmp(a->path, b->path) && a->master == b->master &&
	       a->no_demand == b->no_demand &&
	       export_spec_same_ioctls(a, b);
}

/* --- grants --------------------------------------------------------------- */

static bool grant_fits(const struct grant *grant, const struct peer *peer)
{
	return grant->cid == peer->cid && grant->port == peer->port &&
	       (grant->any_port || peer->trusted_port);
}

/*
 * Grant an export to a connected peer. A peer that is about to go gets the grant when it
 * connects again. A card of NVIDIA's may be granted later (see exporter.h). Return: 0, or a
 * negative errno with words in @answer.
 */
static int grant_tell(struct export *export, struct grant *grant, struct peer *peer,
		      struct answer *answer)
{
	struct vgpu_host_grant arg = {
		.flags = grant->read_only ? VGPU_HOST_GRANT_READ_ONLY : 0,
		.peer = peer->number,
		.export = export->number,
		.ioctls = (uintptr_t)export->spec.ioctls,
		.nr_ioctls = export->spec.nr_ioctls,
		.ioctls_deny = export->spec.ioctls_deny,
	};
	int ret;

	if (!export->number || peer->state != PEER_UP || !grant_fits(grant, peer))
		return 0;
	if (export->device.kind == VGPU_EXPORT_NVIDIA && nvidia_is_card(export->device.rdev) &&
	    !exporter_is_ready(export->spec.path, export->device.rdev))
		return 0;
	ret = hostdev_grant(&arg);
	if (!ret || ret == -ENODEV || ret == -ENOENT)
		return 0;
	return answer_say(answer, ret, "%s refused to let guest %u:%u use %s: %s",
			  hostdev_is_engine() ? "its engine" : "the host module", peer->cid,
			  peer->port, export->spec.name, strerror(-ret));
}

/* Grant an export when no client waits for the answer: a failure is logged. */
static void grant_tell_or_log(struct export *export, struct grant *grant, struct peer *peer)
{
	struct answer answer;

	if (grant_tell(export, grant, peer, &answer))
		log_limited(peer->cid, peer->port, "%s", answer.text);
}

struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port)
{
	struct grant *grant;

	TAILQ_FOREACH(grant, &export->grants, node)
		if (grant->cid == cid && grant->port == port)
			return grant;
	return NULL;
}

static bool grant_same_terms(const struct grant *grant, bool any_port, bool read_only)
{
	return grant->any_port == any_port && grant->read_only == read_only;
}

static int grant_taken(const struct export *export, const struct grant *grant,
		       struct answer *answer)
{
	return answer_say(answer, -EEXIST, "%s is exported to guest %u:%u on other terms: unexport it first",
			  export->spec.name, grant->cid, grant->port);
}

int export_grant_add(struct export *export, uint32_t cid, uint32_t port, bool any_port,
		     bool read_only, struct answer *answer)
{
	struct grant *grant = export_grant(export, cid, port);
	struct peer *peer;
	int ret;

	if (grant)
		return grant_same_terms(grant, any_port, read_only) ? 0 :
		       grant_taken(export, grant, answer);
	ret = listener_get(port);
	if (ret)
		return answer_say(answer, ret, "cannot listen on vsock port %u: %s", port,
			   strerror(-ret));
	grant = calloc(1, sizeof(*grant));
	if (!grant) {
		listener_put(port);
		return answer_say(answer, -ENOMEM, "out of memory");
	}
	grant->cid = cid;
	grant->port = port;
	grant->any_port = any_port;
	grant->read_only = read_only;
	TAILQ_INSERT_TAIL(&export->grants, grant, node);
	LIST_FOREACH(peer, &peers, node) {
		ret = grant_tell(export, grant, peer, answer);
		if (ret) {
			export_grant_del(export, grant);
			return ret;
		}
	}
	return 0;
}

/* Revoke the export from the peer, if the peer has it by this grant. */
static void grant_revoke(struct export *export, const struct grant *grant, struct peer *peer)
{
	if (export->number && peer->state == PEER_UP && grant_fits(grant, peer))
		hostdev_revoke(peer->number, export->number);
}

void export_grant_del(struct export *export, struct grant *grant)
{
	struct peer *peer;

	LIST_FOREACH(peer, &peers, node)
		grant_revoke(export, grant, peer);
	TAILQ_REMOVE(&export->grants, grant, node);
	listener_put(grant->port);
	free(grant);
	exporters_review();
}

int export_grant_change(struct export *export, struct grant *grant, bool any_port,
			bool read_only, struct answer *answer)
{
	const bool anew = grant->read_only != read_only;
	const struct grant old = *grant;
	struct peer *peer;
	int ret;

	grant->any_port = any_port;
	grant->read_only = read_only;
	LIST_FOREACH(peer, &peers, node) {
		if (!anew && grant_fits(&old, peer) == grant_fits(grant, peer))
			continue;
		grant_revoke(export, &old, peer);
		ret = grant_tell(export, grant, peer, answer);
		if (ret) {
			export_grant_del(export, grant);
			return ret;
		}
	}
	exporters_review();
	return 0;
}

bool exports_for_guest(uint32_t cid, uint32_t port, bool *any_port)
{
	struct export *export;
	struct grant *grant;
	bool found = false;

	*any_port = false;
	TAILQ_FOREACH(export, &exports, node) {
		grant = export_grant(export, cid, port);
		if (grant) {
			found = true;
			*any_port |= grant->any_port;
		}
	}
	return found;
}

void exports_grant_all(struct peer *peer)
{
	struct export *export;
	struct grant *grant;

	TAILQ_FOREACH(export, &exports, node)
		TAILQ_FOREACH(grant, &export->grants, node)
			grant_tell_or_log(export, grant, peer);
}

/* Shadows of a guest that has disconnected may still use devices. */
static bool peer_is_there(const struct peer *peer)
{
	return peer->state == PEER_UP || sessions_count(peer, false);
}

bool exports_for_device(dev_t rdev)
{
	struct export *export;
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->number || export->device.rdev != rdev)
			continue;
		TAILQ_FOREACH(grant, &export->grants, node)
			LIST_FOREACH(peer, &peers, node)
				if (grant_fits(grant, peer) && peer_is_there(peer))
					return true;
	}
	return false;
}

void exports_grant_device(dev_t rdev)
{
	struct export *export;
	struct grant *grant;
	struct peer *peer;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->number || export->device.rdev != rdev)
			continue;
		TAILQ_FOREACH(grant, &export->grants, node)
			LIST_FOREACH(peer, &peers, node)
				grant_tell_or_log(export, grant, peer);
	}
}

/* --- exports -------------------------------------------------------------- */

struct export *export_find(const char *name)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		if (!strcmp(export->spec.name, name))
			return export;
	return NULL;
}

static bool export_has_files(const struct export *export)
{
	return export->number && (export->device.kind == VGPU_EXPORT_DRM_PRIMARY ||
				  export->device.kind == VGPU_EXPORT_NVIDIA);
}

/* Read the files of the first export that is due. files_ask() takes one request at a time. */
static void files_next(void)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->files_due || !export_has_files(export))
			continue;
		if (files_ask(export->number, &export->device, export->files_due))
			export->files_due = FILES_NONE;
		return;
	}
}

static void files_expired(struct timer *timer)
{
	struct export *export;
	bool any = false;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export_has_files(export))
			continue;
		any = true;
		if (!LIST_EMPTY(&peers) && !export->files_due)
			export->files_due = FILES_QUICK;
	}
	files_next();
	if (any)
		timer_set(timer, EXPORT_FILES_MS);
}

static struct timer files_again = { .expired = files_expired };

/*
 * Open a device that can be exported, with device_open(). @answer gets the reason of a failure.
 */
static int export_open(const struct export_spec *spec, struct device *device,
		       struct answer *answer)
{
	int fd = device_open(spec->path, device);

	if (fd == -ENOTTY)
		return answer_say(answer, fd, "%s is no character device: give the device file, such as /dev/dri/renderD128",
				  spec->path);
	if (fd == -EXDEV)
		return answer_say(answer, fd, "%s belongs to vgpu itself: export the real device",
				  spec->path);
	if (fd == -EOPNOTSUPP)
		return answer_say(answer, -ENOTTY, "%s is of VFIO, iommufd or vhost, which could go on with memory of a guest's program that it gives up: guests cannot have it",
				  spec->path);
	if (fd < 0)
		return answer_say(answer, fd, "%s: %s", spec->path, strerror(-fd));
	if (device->kind == VGPU_EXPORT_NVIDIA && nvidia_is_divided(device->title)) {
		close(fd);
		return answer_say(answer, -ENOTTY, "%s is divided into MIG instances, which guests cannot have: 'nvidia-smi mig -dci' and '-dgi' undo that",
				  spec->path);
	}
	return fd;
}

/*
 * Check whether an export may be made anew on other terms. The change would be for all guests,
 * including those to whom vgpuctl has given the export.
 */
static int check_anew(struct export *export, const struct export_spec *spec,
		      struct answer *answer)
{
	struct grant *grant;

	if (!export->origin)
		return answer_say(answer, -EEXIST, "vgpuctl has exported %s by that name%s: unexport it first",
				  export->spec.path,
				  strcmp(export->spec.path, spec->path) ? "" : ", on other terms");
	TAILQ_FOREACH(grant, &export->grants, node)
		if (grant->by_hand)
			return answer_say(answer, -EEXIST, "vgpuctl has exported it, as it was, to guest %u:%u: unexport it there first",
					  grant->cid, grant->port);
	return 0;
}

/*
 * Check for conflicts with vgpuctl: a file may take over an export of vgpuctl's with equal
 * terms.
 */
static int check_taken(const struct export_spec *spec, struct answer *answer)
{
	struct export *export = export_find(spec->name);
	struct grant *grant;
	size_t i;

	if (!export)
		return 0;
	if (!export_spec_same_terms(&export->spec, spec))
		return check_anew(export, spec, answer);
	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && grant->by_hand &&
		    !grant_same_terms(grant, spec->any_port, spec->read_only))
			return answer_say(answer, -EEXIST, "vgpuctl has exported it to guest %u:%u on other terms: unexport it first",
					  grant->cid, grant->port);
	}
	return 0;
}

/* Check the path. Paths appear in lines of the log and of tables, which they must not break. */
static int check_path(const struct export_spec *spec, struct answer *answer)
{
	const char *at;

	for (at = spec->path; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return answer_say(answer, -EINVAL, "a path has no blanks and no control characters");
	if (spec->path[0] != '/')
		return answer_say(answer, -EINVAL, "'%s': give an absolute path", spec->path);
	return 0;
}

int export_check(const struct export_spec *spec, struct answer *answer)
{
	struct device device;
	int fd, ret;

	ret = check_path(spec, answer);
	if (ret)
		return ret;
	fd = export_open(spec, &device, answer);
	if (fd >= 0)
		close(fd);
	/* A missing device is no mistake, as it may be plugged in later. */
	return fd < 0 && fd != -ENOENT ? fd : check_taken(spec, answer);
}

int export_up(struct export *export, struct answer *answer)
{
	struct export_spec *spec = &export->spec;
	struct vgpu_host_export_add arg = {
		.flags = (spec->master ? VGPU_HOST_EXPORT_MASTER : 0) |
			 (spec->no_demand ? VGPU_HOST_EXPORT_NO_DEMAND : 0),
	};
	struct grant *grant;
	struct peer *peer;
	int fd, ret;

	fd = export_open(spec, &export->device, answer);
	if (fd < 0)
		return fd;

	arg.path_fd = fd;
	arg.kind = export->device.kind;
	arg.device = export->device.device;
	memcpy(arg.name, spec->name, sizeof(arg.name));
	memcpy(arg.driver, export->device.driver, sizeof(arg.driver));
	memcpy(arg.path, spec->path, sizeof(arg.path));
	arg.bus = export->device.identity.bus;
	memcpy(arg.bus_id, export->device.identity.bus_id, sizeof(arg.bus_id));
	memcpy(arg.title, export->device.title, sizeof(arg.title));
	memcpy(arg.pci_header, export->device.identity.pci_header, sizeof(arg.pci_header));
	ret = hostdev_export_add(&arg);
	close(fd);
	if (ret == -EXDEV)
		return answer_say(answer, ret, "%s belongs to vgpu itself: export the real device",
			   spec->path);
	if (ret)
		return answer_say(answer, ret, "%s: the host module refused it: %s", spec->path,
			   strerror(-ret));

	export->number = arg.out_export;
	export->files_due = FILES_ALL;
	files_next();
	timer_set(&files_again, EXPORT_FILES_MS);
	log_info("export %s: %s, driver %s", spec->name, spec->path, export->device.driver);
	TAILQ_FOREACH(grant, &export->grants, node)
		LIST_FOREACH(peer, &peers, node)
			grant_tell_or_log(export, grant, peer);
	return 0;
}

static void export_down(struct export *export)
{
	if (export->number)
		hostdev_export_del(export->number);
	export->number = 0;
	timer_cancel(&export->told);
	export->asked = false;
	export->files_due = FILES_NONE;
	memset(&export->change, 0, sizeof(export->change));
	exporters_review();
}

void export_free(struct export *export)
{
	struct grant *grant;

	export_down(export);
	while ((grant = TAILQ_FIRST(&export->grants)))
		export_grant_del(export, grant);
	TAILQ_REMOVE(&exports, export, node);
	export_spec_free(&export->spec);
	free(export->origin);
	free(export);
}

static void export_tell(struct export *export)
{
	export->asked = false;
	int ret = hostdev_export_change(export->number, &export->change);

	if (ret)
		log_warning("export %s: a change: %s", export->spec.name, strerror(-ret));
	memset(&export->change, 0, sizeof(export->change));
	timer_set(&export->told, EXPORT_CHANGE_MS);
}

/* Read the export's files before guests are notified of a change, which shows in the files. */
static void export_note(struct export *export)
{
	export->asked = true;
	export->files_due = FILES_ALL;
	timer_set(&export->told, EXPORT_FILES_WAIT_MS);
	files_next();
}

static void export_told(struct timer *timer)
{
	struct export *export = container_of(timer, struct export, told);

	if (!export->change.flags)
		return;
	if (export->asked)
		export_tell(export);
	else
		export_note(export);
}

void exports_files_told(uint32_t number)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		/*
		 * If files are due once more, the read began before the change: wait for the
		 * next one.
		 */
		if (export->number == number && export->asked && !export->files_due)
			export_tell(export);
	files_next();
}

/*
 * Merge two changes. Hotplugs of two different connectors become a hotplug of any connector
 * (0), and changes of two properties one of any property.
 */
static void change_merge(struct device_change *change, const struct device_change *more)
{
	uint32_t both = change->flags & more->flags;

	if (!(both & VGPU_CHANGE_HOTPLUG)) {
		change->connector |= more->connector;
		change->property |= more->property;
	} else if (change->connector != more->connector) {
		change->connector = 0;
		change->property = 0;
	} else if (change->property != more->property) {
		change->property = 0;
	}
	change->wedged |= more->wedged;
	change->flags |= more->flags;
}

void exports_change(dev_t rdev, const struct device_change *change)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->number || export->device.kind != VGPU_EXPORT_DRM_PRIMARY ||
		    (rdev && export->device.rdev != rdev))
			continue;
		change_merge(&export->change, change);
		if (!export->told.set)
			export_note(export);
	}
}

struct export *export_new(struct export_spec *spec, const char *origin)
{
	struct export *export = calloc(1, sizeof(*export));

	if (!export)
		return NULL;
	if (origin) {
		export->origin = strdup(origin);
		if (!export->origin) {
			free(export);
			return NULL;
		}
	}
	TAILQ_INIT(&export->grants);
	export->told.expired = export_told;
	export->spec = *spec;
	export->spec.guests = NULL;
	export->spec.nr_guests = 0;
	spec->ioctls = NULL;
	TAILQ_INSERT_TAIL(&exports, export, node);
	return export;
}

/* Watch the path of each export: its file, or a link on the way to it, may change. */
static void exports_watch(void)
{
	struct export *export;

	paths_begin();
	TAILQ_FOREACH(export, &exports, node)
		paths_watch(export->spec.path, !export->number);
	/* A file may have come before its directory was watched. */
	TAILQ_FOREACH(export, &exports, node)
		if (!export->number && export->error == -ENOENT && !access(export->spec.path, F_OK))
			paths_changed();
}

static int default_name(struct export_spec *spec, struct answer *answer)
{
	const char *slash = strrchr(spec->path, '/');

	if (spec->name[0]) {
		if (export_name_ok(spec->name))
			return 0;
		return answer_say(answer, -EINVAL,
			   "'%s' is no name: use 1 to 31 of A-Z a-z 0-9 . _ -", spec->name);
	}
	if (!slash || !export_name_ok(slash + 1))
		return answer_say(answer, -EINVAL, "%s: no name can be made from this path: give --name",
			   spec->path);
	snprintf(spec->name, sizeof(spec->name), "%.31s", slash + 1);
	return 0;
}

/* Remove the grants of guests in @spec that neither a file nor vgpuctl owns. */
static void take_back(struct export *export, const struct export_spec *spec)
{
	struct grant *grant;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && !grant->by_file && !grant->by_hand)
			export_grant_del(export, grant);
	}
}

/* Grant the export to all guests of @spec by hand, or on failure to none that did not have it. */
static int give_all(struct export *export, const struct export_spec *spec, struct answer *answer)
{
	size_t i;
	int ret;

	for (i = 0; i < spec->nr_guests; i++) {
		ret = export_grant_add(export, spec->guests[i].cid, spec->guests[i].port,
				       spec->any_port, spec->read_only, answer);
		if (ret) {
			take_back(export, spec);
			return ret;
		}
	}
	for (i = 0; i < spec->nr_guests; i++)
		export_grant(export, spec->guests[i].cid, spec->guests[i].port)->by_hand = true;
	return 0;
}

/* Check the grants of all guests of @spec before any is made: none may exist on other terms. */
static int check_grants(struct export *export, const struct export_spec *spec,
			struct answer *answer)
{
	struct grant *grant;
	size_t i;

	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && !grant_same_terms(grant, spec->any_port, spec->read_only))
			return grant_taken(export, grant, answer);
	}
	return 0;
}

int export_add(struct export_spec *spec, struct answer *answer)
{
	struct export *export;
	int ret;

	ret = check_path(spec, answer);
	if (!ret)
		ret = default_name(spec, answer);
	if (ret)
		return ret;

	export = export_find(spec->name);
	if (export && !export_spec_same_terms(&export->spec, spec))
		return answer_say(answer, -EEXIST, "the name %s is taken by %s%s: give another --name, or unexport it first",
			   spec->name, export->spec.path,
			   strcmp(export->spec.path, spec->path) ? "" : ", on other terms");
	if (export) {
		ret = check_grants(export, spec, answer);
		return ret ? ret : give_all(export, spec, answer);
	}
	export = export_new(spec, NULL);
	if (!export)
		return answer_say(answer, -ENOMEM, "out of memory");
	ret = export_up(export, answer);
	if (!ret)
		ret = give_all(export, spec, answer);
	if (ret)
		export_free(export);
	else
		exports_watch();
	return ret;
}

int export_check_unused(struct export *export, struct grant *only, struct answer *answer)
{
	struct peer *peer;
	struct grant *grant;

	TAILQ_FOREACH(grant, &export->grants, node) {
		if (only && grant != only)
			continue;
		LIST_FOREACH(peer, &peers, node)
			if (grant_fits(grant, peer) && peer->nr_sessions)
				return answer_say(answer, -EBUSY,
					   "guest %u:%u runs %u programs on this host's devices: stop them, or use --force (files that are open stay so)",
					   peer->cid, peer->port, peer->nr_sessions);
	}
	return 0;
}

int export_check_remove(const char *name, uint32_t cid, uint32_t port, bool force,
			struct answer *answer)
{
	struct export *export = export_find(name);
	struct grant *grant = NULL;

	if (!export)
		return answer_say(answer, -ENOENT, "there is no export %s: 'vgpuctl list' shows them",
			   name);
	if (cid) {
		grant = export_grant(export, cid, port ? port : settings.port);
		if (!grant)
			return answer_say(answer, -ENOENT, "%s is not exported to guest %u:%u", name,
				   cid, port ? port : settings.port);
	}
	return force ? 0 : export_check_unused(export, grant, answer);
}

int export_remove(const char *name, uint32_t cid, uint32_t port, bool force,
		  struct answer *answer)
{
	struct export *export = export_find(name);
	struct grant *grant;
	int ret = export_check_remove(name, cid, port, force, answer);

	if (ret)
		return ret;
	grant = cid ? export_grant(export, cid, port ? port : settings.port) : NULL;
	if (grant)
		export_grant_del(export, grant);
	if (!grant || TAILQ_EMPTY(&export->grants))
		export_free(export);
	return 0;
}

/* --- devices that come and go ---------------------------------------------- */

static void retry_expired(struct timer *timer)
{
	(void)timer;
	exports_rescan();
}

static struct timer retry = { .expired = retry_expired };

void exports_rescan(void)
{
	struct export *export;
	struct device device;
	struct answer answer;
	bool failed = false;
	int fd, error;

	TAILQ_FOREACH(export, &exports, node) {
		if (export->number) {
			fd = device_open(export->spec.path, &device);
			if (fd >= 0)
				close(fd);
			if (fd >= 0 && device.rdev == export->device.rdev &&
			    device.device == export->device.device) {
				export->files_due = FILES_ALL;
				continue;
			}
			log_info("export %s: %s is gone", export->spec.name, export->spec.path);
			export_down(export);
		}
		error = export->error;
		export->error = export_up(export, &answer);
		/* Log an error only when it changes. */
		if (export->error && export->error != -ENOENT && export->error != error)
			log_warning("export %s: %s", export->spec.name, answer.text);
		failed |= export->error && export->error != -ENOENT;
	}
	files_next();
	/*
	 * Nothing reports that a device can be exported at last, so failed exports are retried.
	 */
	timer_cancel(&retry);
	if (failed)
		timer_set(&retry, EXPORT_RETRY_MS);
	exports_watch();
}
