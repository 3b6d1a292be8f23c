# drivers/guest/argument/marshal_finish.c
# SPDX-License-Identifier: GPL-2.0-only
# A driver may say that it has filled more of an array than there is.
s/return min_t(u64, bytes, info->len);/return bytes;/
