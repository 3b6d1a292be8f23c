// SPDX-License-Identifier: MIT
/* The transport: vsock on both sides, and context ids. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vgpu_wire.h>
#include <linux/vm_sockets.h>

#include "vgpuctl/doctor/doctor.h"

/* Number of vsock devices among virtio's. */
#define VIRTIO_ID_VSOCK	0x13

/* Check whether an export has a guest beside this machine itself, as tests do. */
static bool has_other_guest(const struct doctor *doctor)
{
	size_t i, j, nr = 0;

	for (i = 0; i < doctor->settings.nr_exports; i++)
		for (j = 0; j < doctor->settings.exports[i].nr_guests; j++, nr++)
			if (doctor->settings.exports[i].guests[j] != VMADDR_CID_LOCAL)
				return true;
	for (i = 0; doctor->info && i < doctor->info->nr_exports; i++)
		for (j = 0; j < doctor->info->exports[i]->nr_grants; j++, nr++)
			if (doctor->info->exports[i]->grants[j]->cid != VMADDR_CID_LOCAL)
				return true;
	return !nr;
}

/* Linux 7.0 may give new network namespaces, as vgpud.service makes one, a vsock of their own. */
static void examine_namespaces(struct doctor *doctor)
{
	char mode[256];

	if (!root_line(&doctor->root, "/proc/sys/net/vsock/child_ns_mode", mode) ||
	    strcmp(mode, "local") || service_has(doctor, "PrivateNetwork=no"))
		return;
	found(doctor, ERROR, "vsock-namespace", "",
	      "net.vsock.child_ns_mode is local: vgpud.service has a network namespace, whose vsock guests do not reach");
	advise(doctor, "systemctl edit vgpud, and add '[Service]' and 'PrivateNetwork=no' (SECURITY in vgpud(8)); or set net.vsock.child_ns_mode to global");
}

void transport_examine(struct doctor *doctor)
{
	bool device = root_exists(&doctor->root, "/sys/class/misc/vhost-vsock");

	if (*doctor->settings.socket_dir) {
		found(doctor, ERROR, "socket-directory-missing", doctor->settings.socket_dir,
		      "[sockets] of vgpud.conf has a path in %s, which does not exist",
		      doctor->settings.socket_dir);
		advise(doctor, "make the directory, owned by the user that serves the guest's vsock, and restart vgpud");
	}
	if (doctor->settings.socket_dirs && strcmp(doctor->settings.engine, "user")) {
		found(doctor, ERROR, "sockets-need-user-engine", "",
		      "vgpud.conf has guests in [sockets], which only the user-space engine can serve");
		advise(doctor, "set 'engine = user' in [agent], or remove [sockets]");
	}
	if (doctor->settings.port && doctor->settings.port != VGPU_WIRE_PORT) {
		found(doctor, NOTE, "port-unusual", "",
		      "vgpud listens on port %llu; guests connect to %u unless they are told otherwise",
		      doctor->settings.port, VGPU_WIRE_PORT);
		advise(doctor, "in each guest: 'options vgpu_guest port=%llu' in /etc/modprobe.d",
		       doctor->settings.port);
	}
	if (!doctor->settings.vsock)
		return;
	examine_namespaces(doctor);
	if (!has_other_guest(doctor)) {
		module_examine(doctor, FINDING_ERROR, "vsock_loopback",
			       "exports go to context id 1, which is this machine itself");
		return;
	}
	if (!device)
		module_examine(doctor, FINDING_ERROR, "vhost_vsock",
			       "QEMU cannot give guests a vsock device");
	if ((device || module_is_loaded(doctor, "vhost_vsock")) &&
	    !root_exists(&doctor->root, "/dev/vhost-vsock")) {
		found(doctor, ERROR, "vhost-vsock-node-missing", "",
		      "/dev/vhost-vsock is not there, although vhost_vsock is loaded");
		advise(doctor, "is this a container, or is /dev not managed by udev? QEMU opens this node");
	}
}

/* --- guest ---------------------------------------------------------------------- */

/* Find a virtio device of vsock. *@driven: set if a driver has it. */
static bool find_device(const struct doctor *doctor, bool *driven)
{
	DIR *dir = root_dir(&doctor->root, "/sys/bus/virtio/devices");
	struct dirent *entry;
	char path[320], line[256];
	bool there = false;

	*driven = false;
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/device", entry->d_name);
		if (entry->d_name[0] == '.' || !root_line(&doctor->root, path, line) ||
		    strtoul(line, NULL, 16) != VIRTIO_ID_VSOCK)
			continue;
		there = true;
		snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/driver", entry->d_name);
		*driven |= root_exists(&doctor->root, path);
	}
	if (dir)
		closedir(dir);
	return there;
}

static void examine_own_id(struct doctor *doctor)
{
	int fd = root_is_live(&doctor->root) ? open("/dev/vsock", O_RDONLY | O_CLOEXEC) : -1;
	unsigned int cid;

	if (fd < 0)
		return;
	if (ioctl(fd, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid))
		cid = VMADDR_CID_ANY;
	close(fd);
	if (cid == VMADDR_CID_ANY) {
		found(doctor, ERROR, "context-id-missing", "", "vsock gives this machine no context id");
		advise(doctor, "on the host: give QEMU -device vhost-vsock-pci,guest-cid=3 (a number of this guest's own)");
	} else {
		found(doctor, PASSED, "context-id", "",
		      "the context id of this machine is %u: the host's exports need it in 'to ='",
		      cid);
	}
}

void guest_transport_examine(struct doctor *doctor)
{
	char hosts[256] = "", port[256];
	bool driven, there = find_device(doctor, &driven);
	bool other = module_is_loaded(doctor, "vmw_vsock_vmci_transport") ||
		     module_is_loaded(doctor, "hv_sock");

	root_line(&doctor->root, "/sys/module/vgpu_guest/parameters/cid", hosts);
	/* A host with context id 1 is this machine itself, as in tests. */
	if (!strcmp(hosts, "1")) {
		module_examine(doctor, FINDING_ERROR, "vsock_loopback",
			       "vgpu_guest is to connect to this machine itself (cid=1)");
		return;
	}
	if (*hosts && strcmp(hosts, "2")) {
		found(doctor, WARNING, "host-id-unusual", "vgpu_guest",
		      "vgpu_guest is to connect to context id %s; the host of a guest has 2", hosts);
		advise(doctor, "unless another machine is meant, remove cid= from the options of vgpu_guest (/etc/modprobe.d), and load it again");
	}
	root_line(&doctor->root, "/sys/module/vgpu_guest/parameters/port", port);
	if (*port && atoi(port) && atoi(port) != VGPU_WIRE_PORT) {
		found(doctor, NOTE, "host-port-unusual", "vgpu_guest",
		      "vgpu_guest is to connect to port %s; vgpud listens on %u unless it is told otherwise",
		      port, VGPU_WIRE_PORT);
		advise(doctor, "compare it with 'port' in vgpud.conf of the host");
	}
	if (!there && !other) {
		found(doctor, ERROR, "vsock-device-missing", "", "this machine has no vsock device");
		advise(doctor, "on the host: give QEMU -device vhost-vsock-pci,guest-cid=3 (a number of this guest's own), or libvirt's domain <vsock>; then start the guest again");
		return;
	}
	if (!driven && !other) {
		module_examine(doctor, FINDING_ERROR, "vmw_vsock_virtio_transport",
			       "no driver has this machine's vsock device");
		return;
	}
	if (!root_exists(&doctor->root, "/dev/vsock")) {
		found(doctor, ERROR, "vsock-node-missing", "",
		      "/dev/vsock is not there, although there is a vsock device");
		advise(doctor, "modprobe vsock");
	}
	examine_own_id(doctor);
}
