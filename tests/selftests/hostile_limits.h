/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hostile guest that keeps to the protocol, but asks for as much as it can, and for calls that
 * make the host wait. Its use of the host has limits, and the host's work for it waits for no
 * driver where other guests wait for that work.
 */
#ifndef HOSTILE_LIMITS_H
#define HOSTILE_LIMITS_H

#include "hostile_host.h"

#include "kselftest_harness.h"

FIXTURE(limits) {
	struct peer peer;
	uint64_t files;
};

FIXTURE_SETUP(limits)
{
	NEEDS_HOST();

	ASSERT_EQ(0, export_as("limits", NULL, LOOPBACK, PORT, false));
	self->peer.control = -1;
	ASSERT_TRUE(witness());
	self->files = files_at_rest();
}

FIXTURE_TEARDOWN(limits)
{
	if (!real_path)
		return;
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	unexport("limits");
}

/* Maps a page of the device, and binds it in @window unless that is 0. */
static inline bool mmap_send_for(int lane, uint32_t object, uint64_t seq, uint64_t addr,
				 uint64_t offset, uint64_t window, uint64_t window_offset)
{
	struct peer_call call;

	peer_mmap_init(&call, object, seq, addr, VGPU_PAGE_SIZE, offset, PROT_READ | PROT_WRITE);
	call.msg.args.mmap.window = htole64(window);
	call.msg.args.mmap.window_offset = htole64(window_offset);
	return peer_call_send(lane, &call, 0, 0);
}

#endif /* HOSTILE_LIMITS_H */
