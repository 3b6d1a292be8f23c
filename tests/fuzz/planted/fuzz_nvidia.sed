# drivers/common/nvidia_rules.c
# SPDX-License-Identifier: GPL-2.0-only
# The object of a request is taken for the client that makes it.
s/look->client = get32(bytes, 0);/look->client = get32(bytes, 4);/
