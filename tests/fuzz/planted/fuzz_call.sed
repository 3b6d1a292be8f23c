# drivers/common/wire_call.c
# SPDX-License-Identifier: GPL-2.0-only
# A field with a fixup may reach beyond its segment.
s/(u64)offset + fixup_size(fixup) > /(u64)offset > /
