#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Debian packages are installed in a machine with systemd, upgraded while a guest uses devices, and
# removed. Host and guest are one machine. The modules are those that the test harness has built:
# `make check-deb` has DKMS build them elsewhere, as a compiler takes long in an emulated machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/test.conf
packages="vgpu-host vgpu-guest vgpu-tools libvgpu0"
reader=
trap 'reader_ends; rm -rf "$dir" "$conf" /etc/modprobe.d/vgpu-test.conf' EXIT

node() {	# node NAME: the guest's /dev/vgpuN of that export
	for entry in /sys/class/vgpu/*; do
		[ "$(cat "$entry/name" 2>/dev/null)" = "$1" ] && echo "/dev/${entry##*/}" && return
	done
	return 1
}

# drm_node: the render node that programs look for
drm_node() {
	for entry in "/sys/class/vgpu/$(basename "$(node gpu)")/drm/drm/renderD"[0-9]*; do
		[ -e "$entry/dev" ] && echo "/dev/dri/${entry##*/}" && return
	done
	return 1
}

# ours: lists the files of this project but for modules and what the test harness has.
ours() {
	find /usr /etc /var/lib -name '*vgpu*' ! -type d ! -path '/usr/lib/vgpu-test/*' \
		! -path '/usr/lib/modules/*' ! -path '/var/lib/dpkg/*' ! -name 'vgpu-test*'
}

opens() { sh -c 'exec 9<>"$1"' sh "$(node "$1")"; }
main_pid() { systemctl show -p MainPID --value vgpud; }
install() { DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i "$@"; }
status_of() { dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1"; }

# later: makes packages of a later version of all that are installed
later() {
	for name in $packages; do
		deb=$(echo "$dir/$name"_*.deb)
		dpkg-deb -R "$deb" "$dir/next" || return
		sed -i -e 's/^Version: .*/&+next/' -e 's/(\(>\{0,1\}= [^)]*\))/(\1+next)/g' "$dir/next/DEBIAN/control"
		dpkg-deb --root-owner-group -Znone -b "$dir/next" "$dir/$name.next" || return
		rm -rf "$dir/next"
	done
}

# A program of the guest that reads from a file that it has opened once. It notes each read, and
# ends at the first that fails.
reader_starts() {
	sh -c 'exec 9<"$1"
		while head -c 4096 <&9 | cmp -s -n 4096 - /dev/zero; do echo >>"$2/reads"; done' \
		sh "$(node zero)" "$dir" &
	reader=$!
}

reads() { wc -l <"$dir/reads"; }
read_more() { [ "$(reads)" -gt "$1" ]; }

reader_ends() {
	[ -n "$reader" ] || return 0
	kill "$reader" 2>/dev/null
	wait "$reader" 2>/dev/null
	reader=
}

# The machine has what `make install` puts there; packages are to bring all of it.
# shellcheck disable=SC2046	# several words
rm -f $(ours)
rm -rf /etc/vgpu /usr/libexec/vgpu
check "the machine has nothing of this project" test -z "$(ours)"
check "(packages)" tar -C "$dir" -xf /dev/disk/by-id/virtio-packages
# shellcheck disable=SC2046	# several words
check "dpkg installs the packages" install $(for name in $packages; do echo "$dir/$name"_*.deb; done)
for name in $packages; do
	check "$name: all files are there" dpkg --verify "$name"
done
check "vgpud runs" await 20 systemctl is-active vgpud
check "the unit has loaded the module" test -c /dev/vgpu-host
check "vgpud will be started at each boot" systemctl is-enabled vgpud
check "no unit of the packages is wrong" not sh -c 'systemctl --failed --plain --no-legend | grep vgpu'
check "the group is there" getent group vgpu
check "nothing is exported" sh -c '[ -z "$(vgpuctl list --json | grep -w path)" ]'

modprobe vsock_loopback
echo 'options vgpu_guest cid=1' >/etc/modprobe.d/vgpu-test.conf
check "each boot will load the guest's module" systemctl restart systemd-modules-load
check "(the guest's module)" grep -q '^vgpu_guest ' /proc/modules
printf '[gpu]\npath = %s\nto = 1\n[zero]\npath = /dev/zero\nto = 1\n' "$VGPU_REAL_GPU_RENDER" >"$conf"
check "systemctl reload" systemctl reload vgpud
check "the guest gets its devices" await 60 opens zero
check "a DRM node, too" await 60 drm_node
udevadm settle
check "which belongs to the group render" test "$(stat -c %G "$(drm_node)")" = render
check "doctor finds no mistake in these packages" sh -c '! vgpuctl doctor | grep -i "not installed\|another version"'

reader_starts
check "a program uses a device" await 20 read_more 0
old=$(main_pid)
echo '# mine' >>/etc/vgpu/vgpud.conf
check "(packages of a later version)" later
before=$(reads)
check "dpkg upgrades them" install "$dir"/*.next
check "to the later version" sh -c '[ "${1%+next}" != "$1" ]' sh "$(status_of vgpu-host)"
check "vgpud goes on" test "$(main_pid)" = "$old"
check "the program has gone on meanwhile" read_more "$before"
check "and goes on" await 20 read_more "$(reads)"
check "other programs open devices" opens zero
check "the settings are kept" grep -qx '# mine' /etc/vgpu/vgpud.conf
check "the new vgpuctl talks to the old vgpud" sh -c 'vgpuctl list | grep "^zero .*connected"'
check "reload works" systemctl reload vgpud
reader_ends

# The documents' commands for a time when guests can bear it.
check "restart: stop" systemctl stop vgpud
check "restart: the module is removed" await 20 modprobe -r vgpu_host
check "restart: start" systemctl start vgpud
check "restart: another vgpud" test "$(main_pid)" != "$old"
check "restart: devices can be opened" await 60 opens zero

check "dpkg removes the host's package" dpkg -r vgpu-host
check "which stops vgpud" not pidof vgpud vgpu-shadow vgpu-engine
check "devices cannot be opened any more" not opens zero
check "settings stay" grep -qx '# mine' /etc/vgpu/vgpud.conf
check "unloads: guest" await 20 modprobe -r vgpu_guest
check "unloads: host" await 20 modprobe -r vgpu_host
rm -f "$conf" /etc/modprobe.d/vgpu-test.conf
# shellcheck disable=SC2086	# several words
check "dpkg purges the packages" dpkg -P $packages
check "nothing stays" test -z "$(ours)"
check "nor a directory" test ! -e /etc/vgpu -a ! -e /usr/libexec/vgpu
check "nor a unit that systemd knows" not sh -c 'systemctl list-unit-files --no-legend | grep vgpud'
finish
