#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libvirt starts a guest with a window as Documentation/admin/window.rst says: with its XML, its
# qemu.conf and its line for AppArmor, each of which is needed. The guest is a kernel
# without a root file system; QEMU's monitor shows whether the window is there.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

document=${DOCUMENT:-/usr/lib/vgpu-test/window.rst}
dir=$(mktemp -d)
log=/var/log/libvirt/qemu/guest.log
trap 'virsh destroy guest >/dev/null 2>&1; kill $(pidof libvirtd virtlogd vgpud) 2>/dev/null; rm -rf "$dir"' EXIT

# literal FIRST: prints the literal block of the document that begins with a line like FIRST.
literal() {
	awk -v first="$1" '
		!inside && /^     / && $0 ~ "^     " first { inside = 1 }
		inside && /^[^ ]/ { exit }
		inside { print substr($0, 6) }' "$document"
}

# The files get the group and mode that udev gives them.
modprobe -a kvm-amd vhost_vsock vgpu_host
chgrp kvm /dev/kvm /dev/vhost-vsock
chmod 660 /dev/kvm /dev/vhost-vsock
mount -t securityfs securityfs /sys/kernel/security
apparmor_parser -r /etc/apparmor.d/usr.sbin.libvirtd

# Starts libvirtd again, which takes a while where it asks QEMU for its capabilities.
libvirt() {
	kill "$(pidof libvirtd)" 2>/dev/null
	await 20 not pidof libvirtd
	pidof virtlogd || virtlogd -d
	libvirtd -d
	await 300 virsh version
}

# The domain is smaller than in the document, and has a kernel of this machine.
literal '<domain ' | sed -e "s,<memory .*,<memory unit='MiB'>256</memory>," -e 's,<vcpu>2<,<vcpu>1<,' \
	-e '/<type arch/a <kernel>/var/lib/libvirt/vmlinuz</kernel>' >"$dir/domain.xml"
cp /boot/6.12.vmlinuz /var/lib/libvirt/vmlinuz
mkdir -p /etc/vgpu/exports.d
printf '[null]\npath = /dev/null\nto = 3\nwindow = 4G\n' >/etc/vgpu/exports.d/libvirt.conf
setsid vgpud >/run/vgpud.log 2>&1 </dev/null &

starts_not() {
	! virsh start guest || return 1
	tail -n 5 "$log"
	tail -n 5 "$log" | grep -F "can't open backing store /dev/vgpu-window-3 for guest RAM: Permission denied"
}
pid() { cat /run/libvirt/qemu/guest.pid; }
monitor() { virsh qemu-monitor-command guest --hmp "$1"; }
runs_as() { grep -E "^Uid:\s+$(id -u libvirt-qemu)\s" "/proc/$(pid)/status"; }
is_confined() { cat "/proc/$(pid)/attr/current"; grep -xE 'libvirt-[0-9a-f-]+ \(enforce\)' "/proc/$(pid)/attr/current"; }
own_devices() { ls "/proc/$(pid)/root/dev"; [ -e "/proc/$(pid)/root/dev/vgpu-window-3" ] && [ ! -e "/proc/$(pid)/root/dev/vgpu-host" ]; }
opened() { vgpuctl window list; vgpuctl window list | grep -E "^/dev/vgpu-window-3 .* libvirt-qemu +automatically +$1 "; }
# Prints the address where firmware has put the window; its first bytes are "vgpu".
bar() { monitor 'info pci' | grep -A 3 1af4:1110 | sed -n 's/.*BAR2: 64 bit .* at \(0x[0-9a-f]*\) .*/\1/p'; }
has_place() { [ -n "$(bar)" ] && [ $(($(bar) >> 32)) -gt 0 ]; }
shows_window() { monitor "xp /8xb $(bar)"; monitor "xp /8xb $(bar)" | grep -qF "$(printf vgpu | od -An -tx1 | sed 's/ / 0x/g; s/^ //')"; }
refuses() { said=$(timeout 60 virsh "$@" 2>&1); echo "$said"; echo "$said" | grep -F "Migration is disabled"; }

check "vgpud makes the window" await 60 test -c /dev/vgpu-window-3
check "for libvirt's QEMU" test "$(stat -c '%U %a' /dev/vgpu-window-3)" = "libvirt-qemu 600"
check "libvirt is there" libvirt
check "with AppArmor" sh -c 'virsh capabilities | grep "<model>apparmor"'
check "it takes the document's domain" virsh define "$dir/domain.xml"
rule=/etc/apparmor.d/abstractions/libvirt-qemu.d/vgpu
mkdir -p "${rule%/*}"
literal '/dev/vgpu-window-[*] ' >$rule
check "AppArmor's line alone is not enough" starts_not
mv $rule "$dir/rule"
literal 'cgroup_device_acl = ' >>/etc/libvirt/qemu.conf
check "libvirt takes the document's qemu.conf" libvirt
check "that alone is not enough" starts_not
mv "$dir/rule" $rule
check "with both it starts" virsh start guest
check "as libvirt's user" runs_as
check "confined by AppArmor" is_confined
check "with the window in a /dev of its own" own_devices
check "the window is open" opened 1
check "firmware finds the device a place above 4 GiB" await 120 has_place
check "where the window is" shows_window
check "it is not saved" refuses save guest "$dir/saved"
check "nor dumped by migration" refuses dump guest "$dir/dumped"
check "it is paused" virsh suspend guest
check "and goes on" virsh resume guest
check "it ends" virsh destroy guest
check "the window is closed" await 20 opened 0

# with_hook PATH: defines the domain with the document's metadata, which names that device alone
with_hook() {
	literal '<metadata>' | sed -e '/vgpu:window/d; /vgpu:export .*screen/d' -e "s,path='[^']*',path='$1'," \
		-e "s, profile='[^']*',," >"$dir/metadata"
	grep "$1" "$dir/metadata" && sed "/<name>/r $dir/metadata" "$dir/domain.xml" >"$dir/hook.xml" &&
		virsh undefine guest && virsh define "$dir/hook.xml"
}
exported() { vgpuctl list | tee "$dir/list" | grep -E "^gpu +/dev/zero "; }
says_why() { said=$(virsh start guest 2>&1); status=$?; echo "$said"; [ "$status" != 0 ] && echo "$said" | grep -F "/dev/nothing"; }
install -D -m 755 /usr/share/vgpu/libvirt-hook /etc/libvirt/hooks/qemu.d/vgpu
check "libvirt finds the hook" libvirt
check "it takes the document's metadata" with_hook /dev/zero
check "the export is not there yet" not exported
check "the domain starts" virsh start guest
check "the hook has exported the device" exported
check "the domain ends" virsh destroy guest
check "the hook takes the device back" await 60 not exported
check "a domain with a device that is not there" with_hook /dev/nothing
check "does not start, and libvirt says why" says_why
finish
