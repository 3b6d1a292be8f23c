# drivers/common/wire_reply.c
# SPDX-License-Identifier: GPL-2.0-only
# A host may return a few bytes more than a program has asked for.
s/result > (s64)most || /result > (s64)most + 8 || /
