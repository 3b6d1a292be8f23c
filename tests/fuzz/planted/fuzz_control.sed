# drivers/common/wire.c
# SPDX-License-Identifier: GPL-2.0-only
# The answer to a FETCH may be longer than a message of a lane.
s/bytes + sizeof(struct vgpu_fetched) <= limit_call_bytes/bytes <= limit_call_bytes/
