/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest of the tests hostile_*.c whose fixture is "hostile": it sends a real host messages
 * that no guest module would send. The host must close the guest's connection or fail its call,
 * and other guests must notice nothing.
 *
 * The tests run where the host is, as root: they ask vgpud for an export of their own on a port
 * of their own. So they run in the loopback and user tiers only. VGPU_REAL is the mock device.
 * VGPU_FWD is the same device forwarded by the guest module; its program is the witness that
 * other guests still work.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <signal.h>
#include <stddef.h>

#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define LIST_CONF	"/etc/vgpu/exports.d/hostile-list.conf"

/* Adds an export to this guest on which the ioctl OBJ_INFO is denied, or removes it if !@there. */
static inline bool list_export(bool there)
{
	FILE *file;

	if (!there)
		return !unlink(LIST_CONF) && !system("vgpuctl reload >/dev/null");
	if (system("mkdir -p /etc/vgpu/exports.d"))
		return false;
	file = fopen(LIST_CONF, "w");
	if (!file)
		return false;
	fprintf(file, "[hostile-list]\npath = %s\nto = %d:%d\ndeny-ioctls = %#x\n", real_path,
		LOOPBACK, PORT,
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_OBJ_INFO)));
	return !fclose(file) && !system("vgpuctl reload >/dev/null");
}

FIXTURE(hostile) {
	struct peer peer;
	uint64_t files;
};

FIXTURE_SETUP(hostile)
{
	NEEDS_HOST();

	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	self->peer.control = -1;
	ASSERT_TRUE(witness());
	self->files = files_at_rest();
}

FIXTURE_TEARDOWN(hostile)
{
	if (!real_path)
		return;
	peer_close(&self->peer);
	/* All of this guest's state is gone, and other guests work as before. */
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	unexport("hostile");
	if (!access(LIST_CONF, F_OK))
		list_export(false);
}

#endif /* HOSTILE_H */
