#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# These tests run vgpud as a service of systemd, and check nodes as udev makes them
# for users. Host and guest are one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh
# shellcheck source-path=SCRIPTDIR source=nodes.sh
. ./nodes.sh

dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/test.conf
holder=
held=
module=
trap 'let_go; [ -z "$module" ] || umount -q "$module"; rm -rf "$dir" "$conf"' EXIT

by_path() {	# by_path FOLDER NODE: udev's name of it there
	for link in "$1"/by-path/*; do
		[ "$(readlink -f "$link")" = "$2" ] && echo "$link" && return
	done
	ls -l "$1/by-path"
	return 1
}

as() {	# as USER COMMAND...: runs the command as that user
	user=$1
	shift
	setpriv --reuid="$user" --regid="$user" --init-groups --inh-caps=-all "$@"
}

opens() {	# opens [as USER] FILE: opens the file for reading and writing
	case $1 in
	as) as "$2" sh -c 'exec 9<>"$1"' sh "$3" ;;
	*) sh -c 'exec 9<>"$1"' sh "$1" ;;
	esac
}

# says STATUS WORDS COMMAND...: the command ends with STATUS, and prints WORDS.
says() {
	status=$1
	words=$2
	shift 2
	said=$(timeout 20 "$@" 2>&1)
	set -- "$status" "$words" $?
	echo "$3: $said"
	[ "$3" = "$status" ] || return 1
	case $said in *"$words"*) return 0 ;; esac
	return 1
}

mock_opens() { opens "$(node mock)"; }
main_pid() { systemctl show -p MainPID --value vgpud; }
# Prints the pids of all shadows. A shadow has its guest program's name, and no command line.
shadow() { find /proc/[0-9]*/exe -maxdepth 0 -lname '*/vgpu-shadow' 2>/dev/null | cut -d/ -f3 | grep .; }
journal_says() { journalctl -u vgpud --no-pager | grep -e "$1"; }

# Remembers the shadow of the holder when it is the only one. Other shadows may be those of a
# program that has just ended, or of udev, which opens new nodes, and may do so at any time.
holders_shadow_alone() {
	grep -q '^State:[[:space:]]*T' "/proc/$holder/status" &&
		held=$(shadow) && [ "$(echo "$held" | wc -l)" = 1 ]
}

# Starts a shell of an ordinary user that keeps the mock open, and stops. The shell does not
# execute another program, as that program would have no shadow before its first call.
hold() {
	setpriv --reuid=tester --regid=tester --init-groups --inh-caps=-all \
		sh -c 'exec 9<>"$1"; kill -STOP $$' sh "$(node mock)" &
	holder=$!
	await 20 holders_shadow_alone
}

let_go() {
	[ -n "$holder" ] || return 0
	kill -KILL "$holder"
	wait "$holder"
	holder=
} 2>/dev/null

confined() {	# one line of the shadow's status
	grep -E "^$1:[[:space:]]+$2" "/proc/$held/status" ||
		{ cat "/proc/$held/status"; return 1; }
}

own_namespaces() {
	for ns in net ipc uts pid mnt; do
		[ "$(readlink "/proc/$held/ns/$ns")" != \
			"$(readlink "/proc/$(main_pid)/ns/$ns")" ] || { echo "$ns"; return 1; }
	done
}

empty_root() { [ -z "$(ls -A "/proc/$held/root")" ]; }
belongs() { [ "$(stat -c '%U:%G %a' "$1")" = "$2" ] || { ls -l "$1"; return 1; }; }

# listed NAME NODE: the guest's list has the node that programs look for.
listed() { vgpuctl list | grep "^$(node "$1")  *$2 "; }

# reaches EXPORT CLASS GROUP FOLDER REAL: the export has a node that belongs to the group, and a
# link in FOLDER as the real one has.
reaches() {
	check "$1: a node" await 60 class_node "$1" "$2"
	udevadm settle
	check "$1: vgpuctl list has it" listed "$1" "$(class_node "$1" "$2")"
	check "$1: is the group's" belongs "$(class_node "$1" "$2")" "$(stat -c '%U:%G %a' "$5")"
	check "$1: which is $3's" belongs "$(class_node "$1" "$2")" "root:$3 660"
	check "$1: the real one has a path" by_path "$4" "$5"
	check "$1: the forwarded one has, too" by_path "$4" "$(class_node "$1" "$2")"
}

write_exports() {
	printf '[mock]\npath = /dev/vgpu-mock\nto = 1\n' >"$conf"
	printf '[gpu]\npath = %s\nto = 1\n' "$VGPU_REAL_GPU_RENDER" >>"$conf"
	printf '[gpu-card]\npath = %s\nto = 1\nmaster = yes\n' "$VGPU_REAL_GPU_CARD" >>"$conf"
	[ -z "$camera" ] || printf '[camera]\npath = %s\nto = 1\n' "$camera" >>"$conf"
	[ -z "$sound" ] || printf '[sound]\npath = %s\nto = 1\n' "$sound" >>"$conf"
}

# No module is loaded, and no vgpud runs.
check "vgpuctl list: no vgpu here" says 3 "systemctl start vgpud" vgpuctl list
check "vgpuctl export: no agent" says 3 "systemctl start vgpud" vgpuctl export /dev/null --to 3
printf '[agent]\nengine = kernel\n' >"$dir/kernel.conf"
check "vgpud: no module, which settings need" says 4 "modprobe vgpu_host" vgpud --config "$dir/kernel.conf"
check "vgpud: no module, and not root" says 4 "only root" setpriv --reuid=tester --regid=tester --clear-groups vgpud
check "vgpud: unknown option" says 2 "usage:" vgpud --frobnicate
check "vgpud: too many words" says 2 "usage:" vgpud start

# Devices of other classes are exported, too, where the kernel has them.
camera='' sound=''
modprobe -q vivid n_devs=1 node_types=0x1 && camera=/dev/video0
modprobe -q snd-aloop && sound=/dev/snd/controlC0
udevadm settle
write_exports
printf '[guest self]\ncid = 1\n' >>/etc/vgpu/vgpud.conf
modprobe vsock_loopback
check "systemctl start" systemctl start vgpud
check "the unit loads the host module" test -c /dev/vgpu-host
check "the journal has its log" await 20 journal_says 'listening on vsock port'
# The limits allow 256 sessions for each of 1000 guests.
files_enough() { [ "$(awk '/^Max open files/ { print $4 }' "/proc/$(main_pid)/limits")" -ge 256000 ]; }
check "it may open as many files as its limits need" files_enough
check "exports of /etc/vgpu/exports.d" sh -c 'vgpuctl list | grep "^gpu  *$1 "' sh "$VGPU_REAL_GPU_RENDER"
modprobe vgpu_guest cid=1
check "they reach the guest" await 60 mock_opens
check "as DRM nodes too" await 60 drm_node gpu
udevadm settle

check "the driver, not its bus" sh -c 'vgpuctl list | grep -w virtio_gpu && ! vgpuctl list | grep virtio-pci'
check "sysfs has it as well" grep -x virtio_gpu "/sys/class/vgpu/$(basename "$(node gpu)")/driver"

check "/dev/vgpu/by-name" test /dev/vgpu/by-name/gpu -ef "$(node gpu)"
check "/dev/vgpu/by-host" test /dev/vgpu/by-host/1:22586/gpu-card -ef "$(node gpu-card)"
check "/dev/vgpuN is the group's" belongs "$(node gpu)" "root:render 660"
check "the DRM node is the group's" belongs "$(drm_node gpu)" "root:render 660"
parent=$(basename "$(readlink -f "/sys/class/vgpu/$(basename "$(node gpu)")/drm")")
check "a PCI device stands for the host's" sh -c 'lspci -Dn -s "$1" | grep 1af4:1050' sh "$parent"
check "the DRM node can be found by that" \
	test "/dev/dri/by-path/pci-$parent-render" -ef "$(drm_node gpu)"
check "as a card" await 60 drm_node gpu-card card
udevadm settle
check "the card is the other group's" belongs "$(drm_node gpu-card card)" "root:video 660"
check "it can be found as well" \
	test "/dev/dri/by-path/pci-$parent-card" -ef "$(drm_node gpu-card card)"
if [ -n "$camera" ]; then
	reaches camera video4linux video /dev/v4l "$camera"
	camera_node=$(class_node camera video4linux)
else
	skip "a camera" "no vivid for this kernel"
fi
if [ -n "$sound" ]; then
	reaches sound sound audio /dev/snd "$sound"
	sound_node=$(class_node sound sound)
else
	skip "a sound card" "no snd-aloop for this kernel"
fi
for file in "$(node gpu)" "$(drm_node gpu)" "$(drm_node gpu-card card)" ${camera:+"$camera_node"} ${sound:+"$sound_node"}; do
	check "a user of the group opens ${file##*/}" opens as tester "$file"
	check "another user does not open ${file##*/}" not opens as other "$file"
done

check "an ordinary user's program has a shadow" hold
check "shadow: a user of its own" confined Uid '187904[0-9]+'
check "shadow: no capabilities" confined CapEff 0000000000000000
check "shadow: no new privileges" confined NoNewPrivs 1
check "shadow: filtered system calls" confined Seccomp 2
check "shadow: namespaces" own_namespaces
check "shadow: an empty root" empty_root
check "shadow: its guest's control group" grep vgpud.service/guests/vgpu-guest-1- "/proc/$held/cgroup"
check "its groups have all controllers" sh -c 'cd /sys/fs/cgroup/system.slice/vgpud.service && for name in cpu io memory pids; do
	grep -w $name guests/cgroup.subtree_control || exit 1; done'
check "all guests together have a limit" grep -x '[0-9]*' /sys/fs/cgroup/system.slice/vgpud.service/guests/memory.max
check "vgpuctl status knows of it" not sh -c 'vgpuctl status | grep "no control groups"'

# Prometheus asks for metrics by HTTP: a service answers each connection.
metrics() { busybox wget -qO- "http://127.0.0.1:9478/$1"; }
check "metrics: the socket" systemctl start vgpu-metrics.socket
check "metrics by HTTP" sh -c 'busybox wget -qO- http://127.0.0.1:9478/metrics | grep "^vgpu_guest_connected{.*} 1$"'
check "metrics: no other path" not metrics secret
check "metrics: again" metrics metrics
systemctl stop vgpu-metrics.socket

check "limits can be saved" vgpuctl limit self sessions=200 --save
check "they are where make install made a directory" grep -x 'sessions = 200' /etc/vgpu/guests.d/self.conf
rm -f /etc/vgpu/guests.d/self.conf

printf '[null]\npath = /dev/null\nto = 1\n' >>"$conf"
check "systemctl reload" systemctl reload vgpud
check "a new export comes" await 30 node null
check "nothing was lost" test -d "/proc/$held"
printf '[zero]\npath = /dev/zero\nto = 1\n[null]\npath = dev/null\nto = 1\n' >>"$conf"
check "a reload with a mistake fails" not systemctl reload vgpud
check "the journal says which" await 20 journal_says "vgpuctl.*: .*test.conf:.*: \[null\]: 'dev/null': give an absolute path"
check "nothing was changed" sh -c 'vgpuctl list | grep "^null " && ! vgpuctl list | grep "^zero "'
check "nor does vgpud end of it" test "$(systemctl is-active vgpud)" = active
sed -i 's,= dev/null,= /dev/null,; /^\[null]/,+2d' "$conf"
check "a reload without it works, and is done when it ends" \
	sh -c 'systemctl reload vgpud && vgpuctl list | grep "^zero "'
check "nothing was lost by that" test -d "/proc/$held"

old=$held
check "systemctl restart" systemctl restart vgpud
check "the old shadow is gone" not test -d "/proc/$old"
check "new opens work" await 60 mock_opens
let_go

old=$(main_pid)
kill -KILL "$old"
check "after a crash it is started again" await 60 sh -c '
	pid=$(systemctl show -p MainPID --value vgpud); [ "$pid" != 0 ] && [ "$pid" != "$1" ]' sh "$old"
check "new opens work after it" await 60 mock_opens

cp /etc/vgpu/vgpud.conf /run/vgpud.conf.old
printf '[shadow]\ncgroups = no\n' >/etc/vgpu/vgpud.conf
check "no control groups: restart" systemctl restart vgpud
check "no control groups: opens work" await 60 mock_opens
check "no control groups: a shadow" hold
check "no control groups: vgpud's" grep -x '.*/vgpud.service/agent' "/proc/$held/cgroup"
check "no control groups: vgpuctl status" sh -c 'vgpuctl status | grep "no control groups"'
let_go
printf '[limits]\nmemory = 256M\n' >/etc/vgpu/vgpud.conf
check "control groups: restart" systemctl restart vgpud
check "control groups: opens work" await 60 mock_opens
check "control groups: a shadow" hold
check "control groups: one for the guest" grep vgpud.service/guests/vgpu-guest-1- "/proc/$held/cgroup"
check "control groups: its limit" grep -x 268435456 \
	"/sys/fs/cgroup/$(cut -d: -f3 "/proc/$held/cgroup")/memory.max"

check "systemctl stop" systemctl stop vgpud
check "no shadow stays" await 10 not shadow
check "nor does vgpud" not pidof vgpud
check "it is no failure" test "$(systemctl is-failed vgpud)" = inactive
let_go
cp /run/vgpud.conf.old /etc/vgpu/vgpud.conf

check "vgpud: not root" says 4 "only root" \
	setpriv --reuid=tester --regid=tester --clear-groups vgpud
check "vgpud by hand: no group of its own" says 3 \
	"systemd has not delegated the group that vgpud runs in: start vgpud by 'systemctl start vgpud'" vgpud
systemd-run -q --scope -p Delegate=yes vgpud --exports-dir /nonexistent >"$dir/scope.log" 2>&1 &
scope=$!
check "vgpud by hand, in a scope: starts" await 20 grep 'listening on vsock port' "$dir/scope.log"
check "vgpud by hand, in a scope: groups of guests" sh -c '
	test -d "/sys/fs/cgroup/$(cut -d: -f3 "/proc/$1/cgroup" | sed "s,/agent\$,/guests,")"' sh "$scope"
kill "$scope"
wait "$scope"
printf '[shadow]\ncgroups = no\n' >"$dir/hand.conf"
hand="--config $dir/hand.conf"
# shellcheck disable=SC2086	# the option and its value
{
	check "vgpud: no shadow program" says 3 "/nonexistent" vgpud $hand --shadow /nonexistent
	check "vgpud: no place for its socket" says 3 "/nonexistent/s" vgpud $hand --socket /nonexistent/s
	check "vgpud: no exports" says 124 "/nonexistent" vgpud $hand --exports-dir /nonexistent
}
check "vgpud: no settings" says 3 "/nonexistent" vgpud --config /nonexistent

printf '[shadow]\nsecomp = yes\n' >/etc/vgpu/vgpud.conf
check "settings with a mistake: no start" not systemctl start vgpud
check "the journal says which" await 20 journal_says 'no setting'
# Before another attempt the unit would be "activating".
gave_up() { systemctl is-failed vgpud | grep -x failed; }
check "it is not tried again" gave_up
cp /run/vgpud.conf.old /etc/vgpu/vgpud.conf
systemctl reset-failed vgpud

mkdir -p /run/systemd/system/vgpud.service.d
printf '[Service]\nDelegate=no\n' >/run/systemd/system/vgpud.service.d/test.conf
systemctl daemon-reload
check "no group that vgpud may use: no start" not systemctl start vgpud
check "the journal says why" await 20 journal_says 'systemd has not delegated the group that vgpud runs in'
check "nor is that tried again" gave_up
rm -r /run/systemd/system/vgpud.service.d
systemctl daemon-reload
systemctl reset-failed vgpud

check "unloads: guest" await 20 rmmod vgpu_guest
check "unloads: host" await 20 rmmod vgpu_host

# The machine has no host module from here on.
module=$(modinfo -n vgpu_host)
check "no module: it cannot be loaded" mount --bind /dev/null "$module"
check "no module: systemctl start" systemctl start vgpud
check "no module: it is not there" not test -e /dev/vgpu-host
check "no module: the journal says so" await 20 journal_says '(modprobe vgpu_host), so user-space engines serve the guests'
check "no module: status says so" sh -c 'vgpuctl status --json | grep "\"engine\":[[:space:]]*\"user\""'
modprobe vgpu_guest cid=1
check "no module: exports reach the guest" await 60 mock_opens
check "no module: the guest's control group has its engine" \
	sh -c 'grep . /sys/fs/cgroup/system.slice/vgpud.service/guests/vgpu-guest-1-*/cgroup.procs'
check "no module: systemctl stop" systemctl stop vgpud
check "no module: it is no failure" test "$(systemctl is-failed vgpud)" = inactive
check "no module: unloads" await 20 rmmod vgpu_guest
umount "$module"
module=
finish
