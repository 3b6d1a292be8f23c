#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the Debian packages that building and testing needs on this machine:
#
#   mmdebstrap            makes the Debian roots in which everything else runs
#   debian-archive-keyring  checks the signatures of fetched packages
#   e2fsprogs             makes the disk image of the test VMs (mke2fs)
#   make                  reads the Makefile
#   python3               runs the VM runner (standard library only)
#   util-linux, mount     enter the Debian roots in a mount namespace (unshare)
#   zstd, cpio, xz-utils, kmod  pack kernels, modules and initramfs for the VMs
#   rsync                 copies sources beside the checkout, which stays clean
#   python3-sphinx        makes web pages and manual pages of the documents
#
# and the packages that are given as arguments:
#
#   stress-ng             gives this machine other work, for make soak
#
# Compilers, QEMU, kernels and the tested programs are not installed here: they
# are in the Debian roots, so that results do not depend on this machine.
#
# apt-get needs root. If nothing is missing, this script does nothing.
set -euo pipefail

declare -A needs=(
	[mmdebstrap]=mmdebstrap
	[mke2fs]=e2fsprogs
	[make]=make
	[git]=git
	[/usr/bin/python3]=python3
	[unshare]=util-linux
	[mount]=mount
	[zstd]=zstd
	[cpio]=cpio
	[xz]=xz-utils
	[depmod]=kmod
	[rsync]=rsync
	[sphinx-build]=python3-sphinx
	[/usr/share/keyrings/debian-archive-keyring.gpg]=debian-archive-keyring
)

for package; do
	needs[$package]=$package
done

PATH=$PATH:/usr/sbin:/sbin
missing=()
for probe in "${!needs[@]}"; do
	if [[ $probe == /* ]]; then
		[ -e "$probe" ] || missing+=("${needs[$probe]}")
	else
		command -v "$probe" >/dev/null || missing+=("${needs[$probe]}")
	fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "error: run $0 as root: it installs ${missing[*]}" >&2
		exit 1
	}
	sudo=(sudo)
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get -q update >&2
"${sudo[@]}" apt-get -q install -y --no-install-recommends "${missing[@]}" >&2
