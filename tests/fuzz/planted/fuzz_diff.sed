# drivers/common/wire_diff.c
# SPDX-License-Identifier: GPL-2.0-only
# The last byte of a page is never sent.
s/while (end < len && old/while (end + 1 < len \&\& old/
