#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# These tests show that vgpud.service has little power, and that what it has is enough for
# everything that vgpud does, with either engine. Host and guest are one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/power.conf
mkdir -p "${conf%/*}"
cp /etc/vgpu/vgpud.conf "$dir/vgpud.conf"
trap 'cp "$dir/vgpud.conf" /etc/vgpu/vgpud.conf; rm -rf "$dir" "$conf"' EXIT

node() {	# node NAME: the guest's /dev/vgpuN of that export
	for entry in /sys/class/vgpu/*; do
		[ "$(cat "$entry/name" 2>/dev/null)" = "$1" ] && echo "/dev/${entry##*/}" && return
	done
	return 1
}

opens() { sh -c 'exec 9<>"$1"' sh "$(node "$1")"; }
main_pid() { systemctl show -p MainPID --value vgpud; }
journal_says() { journalctl -u vgpud --no-pager | grep -e "$1"; }
status_has() { grep -E "^$1:[[:space:]]+$2\$" "/proc/$(main_pid)/status" || { cat "/proc/$(main_pid)/status"; return 1; }; }
exposure() { systemd-analyze security --offline=true --no-pager --threshold=39 "$1"; }
belongs() { [ "$(stat -c '%U:%G %a' "$1")" = "$2" ] || { ls -l "$1"; return 1; }; }
as() { setpriv --reuid="$1" --regid="$1" --init-groups --inh-caps=-all sh -c "$2"; }

masters() { find /proc/[0-9]*/exe -maxdepth 0 -lname '*/vgpu-engine-master' 2>/dev/null | grep .; }

# in_unit COMMAND...: runs the command with the unit's view of files and networks, and its devices
in_unit() {
	sh -c 'group=$(cut -d: -f3 "/proc/$1/cgroup") && echo $$ >"/sys/fs/cgroup$group/cgroup.procs" &&
		pid=$1 && shift && exec nsenter -m -n -t "$pid" "$@"' sh "$(main_pid)" "$@"
}

# read_only DIR: vgpud cannot make files in the directory
read_only() { in_unit sh -c '! touch "$1/power" || { cat /proc/self/mountinfo; exit 1; }' sh "$1"; }

# program TIER NAME: runs a test program on the mock device and on the forwarded one
program() {
	VGPU_REAL=/dev/vgpu-mock VGPU_FWD=$(node mock) VGPU_NAME=mock VGPU_TIER=$1 VGPU_TIMES=5 \
		timeout 150 "./$2"
}

# hypervisor USER: connects to the window as a hypervisor of that user, and waits
hypervisor() {
	setpriv --reuid="$1" --regid="$1" --clear-groups perl -MSocket -e \
		'socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un($ARGV[0])) or die "$!"; sleep 300' \
		/run/vgpu/window-1-22586 &
	connected=$!
}

for unit in /usr/lib/systemd/system/vgpu*.service; do
	check "exposure below 4.0: ${unit##*/}" exposure "$unit"
done

printf '[mock]\npath = /dev/vgpu-mock\nto = 1\n' >"$conf"
printf '[gpu-card]\npath = %s\nto = 1\nmaster = yes\n' "$VGPU_REAL_GPU_CARD" >>"$conf"
modprobe vsock_loopback
modprobe vgpu_guest cid=1

for engine in kernel user; do
	tier=user
	[ $engine = user ] || tier=loopback
	printf '[agent]\nengine = %s\n' $engine >/etc/vgpu/vgpud.conf
	check "$engine: systemctl restart" systemctl restart vgpud
	check "$engine: the export reaches the guest" await 60 opens mock
	check "$engine: so does a card with masters" await 60 opens gpu-card

	# CHOWN, SETGID, SETUID, SETPCAP, NET_ADMIN, SYS_CHROOT, SYS_ADMIN and MKNOD
	check "$engine: few capabilities" status_has CapEff 00000000082411c1
	check "$engine: no others to be had" status_has CapBnd 00000000082411c1
	check "$engine: no new privileges" status_has NoNewPrivs 1
	check "$engine: filtered system calls" status_has Seccomp 2
	check "$engine: files cannot be changed" read_only /etc/vgpu
	check "$engine: nor settings of the kernel" not in_unit sh -c 'echo 1 >/proc/sys/vm/swappiness'
	check "$engine: no network" in_unit sh -c '! grep -v -e "|" -e lo: /proc/self/net/dev'
	check "$engine: no kernel log" not in_unit sh -c 'exec 9</dev/kmsg'
	check "$engine: character devices" in_unit sh -c 'exec 9</dev/zero'
	block=/dev/$(find /sys/class/block -name 'vd*' -printf '%f\n' | head -n 1)
	check "$engine: a block device" sh -c 'exec 9<"$1"' sh "$block"
	check "$engine: which it cannot open" not in_unit sh -c 'exec 9<"$1"' sh "$block"

	for name in mock_ioctl mock_compat mock_map_ioctl; do
		[ -x "./$name" ] && check "$engine: $name" program "$tier" $name
	done

	check "$engine: a window" vgpuctl window create --to 1 --size 1M --owner tester
	check "$engine: its socket is the owner's" belongs /run/vgpu/window-1-22586 "tester:tester 600"
	if [ $engine = user ]; then
		check "user: a process makes masters" await 20 masters
		hypervisor tester
		check "user: vgpud sees a hypervisor's files" \
			await 20 journal_says 'guest 1:22586: a hypervisor has connected to its window'
		kill "$connected"
		check "user: and that it went" \
			await 20 journal_says 'guest 1:22586: .*until its hypervisor connects again\|has disconnected'
		hypervisor root
		check "user: but not those of root, which gets no window" \
			await 20 journal_says 'guest 1:22586: its hypervisor cannot have a window: vgpud may not see whether'
		kill "$connected"
	fi
	check "$engine: no window" vgpuctl window destroy --to 1 --force

	printf '[null]\npath = /dev/null\nto = 1\n' >>"$conf"
	check "$engine: systemctl reload" systemctl reload vgpud
	check "$engine: a new export comes" await 30 opens null
	sed -i '/^\[null]/,$d' "$conf"
	check "$engine: systemctl reload without it" systemctl reload vgpud
	check "$engine: it goes" await 30 not node null
done
check "vgpud could end all processes" not journal_says 'cannot end process'
check "no program made a forbidden system call" not journal_says 'forbidden system call'
check "vgpud was refused nothing" not journal_says 'not permitted'

# The group whose members may change exports.
check "make install brings the group" grep -x 'g vgpu -' /usr/lib/sysusers.d/vgpu.conf
check "which systemd makes" systemd-sysusers
check "it is there" grep '^vgpu:' /etc/group
cp "$dir/vgpud.conf" /etc/vgpu/vgpud.conf
systemctl restart vgpud
check "without members: the socket is everybody's" belongs /run/vgpu/vgpud.sock "root:vgpu 666"
check "without members: others see the list" as other 'vgpuctl list'
check "without members: and change nothing" not as tester 'vgpuctl export /dev/null --to 77 --name power'
check "the journal says who tried" \
	await 20 journal_says 'refused: .*"export".*dev.*null.*, by vgpuctl (tester, uid 1000, pid'
sed -i 's/^vgpu:.*/&tester/' /etc/group
systemctl restart vgpud
check "a member: the socket is the group's" belongs /run/vgpu/vgpud.sock "root:vgpu 660"
check "a member: changes exports" as tester 'vgpuctl export /dev/null --to 77 --name power'
check "the journal says who did" \
	await 20 journal_says 'export power: guest 77:22586 may use it, by vgpuctl (tester, uid 1000, pid'
check "others: see nothing" not as other 'vgpuctl list'
check "systemctl reload with a group" systemctl reload vgpud
sed -i '/^vgpu:/d' /etc/group

check "systemctl stop" systemctl stop vgpud
check "unloads: guest" await 20 rmmod vgpu_guest
check "unloads: host" await 20 rmmod vgpu_host
finish
