# SPDX-License-Identifier: GPL-2.0-only
# The version of the modules, of user space and of the packages. debian/changelog has the same.
vgpu-version := 0.1
