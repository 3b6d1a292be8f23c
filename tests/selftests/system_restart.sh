#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs use a device while vgpud.service, with the setting 'lasting', is restarted, crashes and is
# upgraded, VGPU_RESTARTS times each (5). None of them notices, and nothing is left when they have
# ended. Host and guest are one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

times=${VGPU_RESTARTS:-5}
dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/restart.conf
programs=
mkdir -p "${conf%/*}"
cp /etc/vgpu/vgpud.conf "$dir/vgpud.conf"
trap 'end_programs; cp "$dir/vgpud.conf" /etc/vgpu/vgpud.conf; rm -rf "$dir" "$conf"' EXIT

node() {	# prints the guest's /dev/vgpuN of the export
	for entry in /sys/class/vgpu/*; do
		[ "$(cat "$entry/name" 2>/dev/null)" = mock ] && echo "/dev/${entry##*/}" && return
	done
	return 1
}

mock_opens() { sh -c 'exec 9<>"$1"' sh "$(node)"; }
main_pid() { systemctl show -p MainPID --value vgpud; }
journal_says() { journalctl -u vgpud --no-pager | grep -e "$1"; }
running() { find /proc/[0-9]*/exe -maxdepth 0 -lname "*/$1*" 2>/dev/null | cut -d/ -f3 | grep .; }

# Calls the driver again and again by the same file. It ends when the folder has a file "stop".
caller() {
	exec perl -e 'my ($node, $dir) = @ARGV;
		open(my $file, "+<", $node) or die "open: $!";
		while (! -e "$dir/stop") {
			defined(ioctl($file, 0xb500, 0)) or die "ioctl: $!";
			open(my $count, ">", "$dir/count.new"); print $count ++$calls; close($count);
			rename("$dir/count.new", "$dir/count");
			select(undef, undef, undef, 0.01);
		}' "$1" "$dir"
}

# Begins programs one after the other, which open the device and end.
newcomers() {
	while [ ! -e "$dir/stop" ]; do
		perl -e 'open(my $file, "+<", $ARGV[0]) or die "open: $!";
			defined(ioctl($file, 0xb500, 0)) or die "ioctl: $!"' "$1" || return
		echo . >>"$dir/came"
	done
}

start_programs() {
	rm -f "$dir"/stop "$dir"/count "$dir"/came
	for program in caller newcomers; do
		$program "$(node)" >"$dir/$program" 2>&1 &
		programs="$programs $!"
	done
	await 60 sh -c '[ -s "$1/count" ] && [ -s "$1/came" ]' sh "$dir"
}

end_programs() {	# fails if one of them has failed
	ended=0
	touch "$dir/stop"
	for pid in $programs; do
		wait "$pid" || ended=1
	done
	programs=
	for program in caller newcomers; do
		[ ! -s "$dir/$program" ] || { echo "$program:"; cat "$dir/$program"; ended=1; }
	done
	return $ended
}

all_run() {
	for pid in $programs; do
		kill -0 "$pid" || { cat "$dir/caller" "$dir/newcomers"; return 1; }
	done
}

# The program that has the file open makes calls, and a new program gets its answers.
all_go_on() {
	count=$(cat "$dir/count")
	came=$(wc -l <"$dir/came")
	await 60 sh -c '[ "$(cat "$1/count")" -gt "$2" ] && [ "$(wc -l <"$1/came")" -gt $(($3 + 1)) ]' \
		sh "$dir" "$count" "$came" && all_run
}

is_another() { pid=$(main_pid); [ "$pid" != 0 ] && [ "$pid" != "$1" ] && vgpuctl status; }

# again WHAT COMMAND...: ends vgpud by the command again and again, beside programs
again() {
	what=$1
	shift
	i=0
	while [ "$i" -lt "$times" ]; do
		i=$((i + 1))
		# systemd gives up a service that is started often in a short time.
		systemctl reset-failed vgpud
		old=$(main_pid)
		"$@" || { echo "$what $i"; return 1; }
		await 60 is_another "$old" || { echo "$what $i: no vgpud"; systemctl status vgpud; return 1; }
		all_go_on || { echo "$what $i"; journalctl -u vgpud --no-pager | tail -n 40; return 1; }
	done
}

restart() { systemctl restart vgpud; }
crash() { kill -KILL "$old"; }

# Replaces the programs as a package does: by other files of the same names.
upgrade() {
	for file in /usr/sbin/vgpud /usr/libexec/vgpu/*; do
		cp -p "$file" "$file.new" && echo >>"$file.new" && mv "$file.new" "$file" || return
	done
	systemctl daemon-reload
	systemctl restart vgpud
}

# What host and guest hold for programs.
held() {
	vgpuctl status --json | sed -n '/"counters"/,/}/p' |
		grep -E '"(sessions|lanes|objects|mappings)"' || return
	echo "shadows $(running vgpu-shadow | wc -l)"
	grep -E '^(vgpu_guest|vgpu_host|vgpu_mock|vsock) ' /proc/modules | cut -d' ' -f1,3
	for group in /sys/fs/cgroup/system.slice/vgpud.service/guests/*/; do
		echo "$group $(cat "$group/pids.current")"
	done
}
holds_as_before() { held >"$dir/after" && diff "$dir/before" "$dir/after"; }

printf '[mock]\npath = /dev/vgpu-mock\nto = 1\n' >"$conf"
printf '[agent]\nengine = kernel\nlasting = yes\n' >/etc/vgpu/vgpud.conf
modprobe vsock_loopback
modprobe vgpu_guest cid=1
check "systemctl start" systemctl start vgpud
check "the export reaches the guest" await 60 mock_opens
check "the setting has its effect" not journal_says 'has no effect'
await 20 not running vgpu-shadow >/dev/null
held >"$dir/before"

check "programs start" start_programs
check "systemctl restart, $times times" again restart restart
check "a crash, $times times" again crash crash
check "an upgrade, $times times" again upgrade upgrade
check "no program has failed" end_programs
check "the guest was taken over each time" \
	sh -c '[ "$(journalctl -u vgpud --no-pager | grep -c "taken over from an earlier vgpud")" -ge "$1" ]' sh $((3 * times))
check "and was never gone" not journal_says 'guest 1:22586: gone'
check "nothing is left of the programs" await 60 holds_as_before

check "programs start again" start_programs
check "systemctl stop" systemctl stop vgpud
check "no shadow stays" await 20 not running vgpu-
check "no group of the unit stays" await 20 not test -d /sys/fs/cgroup/system.slice/vgpud.service/guests
check "it is no failure" test "$(systemctl is-failed vgpud)" = inactive
end_programs >/dev/null

# Without the setting, all processes end with vgpud, though systemd ends vgpud alone.
for engine in kernel user; do
	printf '[agent]\nengine = %s\n' $engine >/etc/vgpu/vgpud.conf
	check "$engine, without the setting: systemctl start" systemctl start vgpud
	check "$engine, without the setting: the export reaches the guest" await 60 mock_opens
	# The shell stays itself: another program would have no shadow before its first call.
	sh -c 'exec 9<>"$1"; kill -STOP $$' sh "$(node)" &
	holder=$!
	check "$engine, without the setting: a process serves the guest" await 20 running vgpu-
	old=$(running vgpu-)
	kill -KILL "$(main_pid)"
	check "$engine, without the setting: it ends at a crash" \
		await 30 sh -c 'for pid in $1; do [ ! -d "/proc/$pid" ] || exit 1; done' sh "$old"
	check "$engine, without the setting: new opens work" await 60 mock_opens
	check "$engine, without the setting: systemctl restart" systemctl restart vgpud
	check "$engine, without the setting: new opens work again" await 60 mock_opens
	check "$engine, without the setting: systemctl stop" systemctl stop vgpud
	check "$engine, without the setting: nothing stays" not running vgpu-
	kill -KILL "$holder"
	wait "$holder" 2>/dev/null
done
check "--clear is not for a shell" not vgpud --clear

check "unloads: guest" await 20 rmmod vgpu_guest
check "unloads: host" await 20 rmmod vgpu_host
finish
