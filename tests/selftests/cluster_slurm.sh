#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Slurm places jobs on forwarded devices with the settings of Documentation/admin/clusters.rst, and
# its control groups keep a job from the devices of others. Host, guest and controller are one
# machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh
# shellcheck source-path=SCRIPTDIR source=nodes.sh
. ./nodes.sh

document=${DOCUMENT:-/usr/lib/vgpu-test/clusters.rst}
dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/cluster.conf
state=/run/vgpu-slurm
trap 'scancel -f -u root 2>/dev/null; systemctl stop slurmd slurmctld munge; rm -rf "$dir" "$conf" "$state"' EXIT

# literal FIRST: prints the literal block of the document that begins with a line like FIRST.
literal() {
	awk -v first="$1" '
		!inside && /^     / && $0 ~ "^     " first { inside = 1 }
		inside && /^[^ ]/ { exit }
		inside { print substr($0, 6) }' "$document"
}

# Exports two render nodes to this machine, and waits for them.
forward_two() {
	printf '[gpu]\npath = %s\nto = 1\n[vgem]\npath = %s\nto = 1\n' \
		"$VGPU_REAL_GPU_RENDER" "$VGPU_REAL_VGEM_RENDER" >"$conf"
	modprobe vsock_loopback && systemctl start vgpud && modprobe vgpu_guest cid=1 &&
		await 60 drm_node gpu && await 60 drm_node vgem && udevadm settle
}

# Settings of a cluster that knows nothing of vgpu, but for a node that has more processors than
# this machine: jobs wait for devices, and not for processors. The C library finds no address to
# listen at in a machine that has that of its loopback device alone.
plain_cluster() {
	hostname node1
	busybox ip addr add 10.0.0.1/8 dev lo
	echo '10.0.0.1 node1' >>/etc/hosts
	mkdir -p /etc/slurm "$state/controller" "$state/node"
	chown slurm "$state/controller"
	cat >/etc/slurm/slurm.conf <<-END
		ClusterName=bed
		SlurmctldHost=node1
		SlurmUser=slurm
		StateSaveLocation=$state/controller
		SlurmdSpoolDir=$state/node
		SlurmctldLogFile=$state/controller/log
		SlurmdLogFile=$state/node.log
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SlurmdParameters=config_overrides
		ReturnToService=2
		PartitionName=all Nodes=ALL Default=YES State=UP
	END
	mungekey --create --force && chown munge: /etc/munge/munge.key && systemctl restart munge &&
		munge -n | unmunge
}

# The document's settings, as printed.
printed() {
	literal 'GresTypes=' >>/etc/slurm/slurm.conf
	literal 'ConstrainDevices=' >/etc/slurm/cgroup.conf
	literal 'for vgpu in' >"$dir/list" && sh -e "$dir/list"
	cat /etc/slurm/*.conf
	grep '^NodeName=' /etc/slurm/slurm.conf && grep . /etc/slurm/cgroup.conf
}

lists() { cat /etc/slurm/gres.conf; [ "$(files | sort)" = "$(printf '%s\n' "$@" | sort)" ]; }
files() { sed 's/.*MultipleFiles=//; y/,/\n/' /etc/slurm/gres.conf; }
# of NAME: prints the files of that export
of() { node "$1" && drm_node "$1" && drm_node "$1" card; }

starts() {
	sh -e "$dir/start" && await 120 sh -c 'sinfo -h -o %T | grep -x idle' && return
	systemctl status slurmctld slurmd --no-pager
	tail -n 30 "$state/controller/log" "$state/node.log"
	return 1
}

# A program that prints for each file whether it can be opened.
cat >"$dir/open" <<-'END'
	#!/bin/sh
	for file; do
		if said=$( (exec 9<>"$file") 2>&1); then echo "$file opened"; else echo "$file $said"; fi
	done
END
# A job that says so in the file NAME.saw of its working directory, and goes on until there is a file
# NAME.end.
cat >"$dir/job" <<-'END'
	#!/bin/sh
	name=$1
	shift
	./open "$@" >"$name.tmp" && mv "$name.tmp" "$name.saw"
	while [ ! -e "$name.end" ]; do sleep 0.2; done
END
chmod 755 "$dir" "$dir/open" "$dir/job"

# starts_job NAME [OPTION...]: has Slurm start that job when it can
starts_job() {
	job=$1
	shift
	# shellcheck disable=SC2046	# several words
	sbatch -D "$dir" -J "$job" -o "$dir/$job.log" "$@" "$dir/job" "$job" $(files)
}
ends_job() { touch "$dir/$1.end" && await 60 sh -c '[ -z "$(squeue -h -n "$1")" ]' sh "$1"; }
runs() { await 120 test -s "$dir/$1.saw" && cat "$dir/$1.saw"; }
waits() { squeue -h -n "$1" -o '%T %r' | tee "$dir/why" && grep -x 'PENDING Resources' "$dir/why" && [ ! -e "$dir/$1.saw" ]; }

# given FILE: prints the devices (lines of gres.conf) of which all files may be opened according to
# what `open` has written; fails if it is only some of a device.
given() {
	sed 's/.*MultipleFiles=//' /etc/slurm/gres.conf | while IFS=, read -r plain others; do
		for file in $plain $(echo "$others" | tr , ' '); do grep "^$file " "$1"; done >"$dir/its"
		case $(grep -c 'Operation not permitted' "$dir/its") in
		0) grep -qx "$plain opened" "$dir/its" && grep -q '/renderD.* opened' "$dir/its" && echo "$plain" ;;
		"$(wc -l <"$dir/its")") ;;
		*) echo "a part of $plain" ;;
		esac
	done
}
has_one() { given "$1" | tee "$dir/given" && [ "$(wc -l <"$dir/given")" = 1 ] && grep -x '/dev/vgpu[0-9]*' "$dir/given"; }
# in_step FILE [OPTION...]: runs `open` by srun
in_step() {
	saw=$1
	shift
	# shellcheck disable=SC2046	# several words
	srun "$@" -D / "$dir/open" $(files) >"$saw" && cat "$saw"
}
no_device() { in_step "$dir/none" && [ -z "$(given "$dir/none")" ]; }
# The user 1000 is in the group of render nodes.
user_has_one() {
	# shellcheck disable=SC2046	# several words
	setpriv --reuid 1000 --regid 1000 --init-groups srun --gres=gpu:1 -D / "$dir/open" $(files) >"$dir/user" &&
		cat "$dir/user" && has_one "$dir/user"
}

check "devices of the guest" forward_two
check "a cluster with munge" plain_cluster
check "the document's settings" printed
# shellcheck disable=SC2046	# several words
check "all files of both devices are listed" lists $(of gpu) $(of vgem)
literal 'systemctl restart slurmctld' >"$dir/start"
check "Slurm starts with the document's command" starts
check "the node has two devices" sh -c 'scontrol show node node1 | grep -w Gres=gpu:2'
# shellcheck disable=SC2046	# several words
check "without Slurm, all are free for root" sh -c '"$@" | tee /dev/stderr | grep -c "not permitted" | grep -x 0' sh "$dir/open" $(files)
check "a job without a device opens none" no_device
check "a user's job opens one" user_has_one
check "a job" starts_job one --gres=gpu:1
check "which runs" runs one
check "and opens one" has_one "$dir/one.saw"
check "another job" starts_job two --gres=gpu:1
check "which runs beside it" runs two
check "and opens one, too" has_one "$dir/two.saw"
check "the other one" sh -c '[ "$1" != "$2" ]' sh "$(given "$dir/one.saw")" "$(given "$dir/two.saw")"
check "the node has processors left" in_step "$dir/left"
check "a third job" starts_job three --gres=gpu:1
check "waits for a device" await 60 waits three
check "the first one ends" ends_job one
check "then the third one runs" runs three
check "on the first one's device" sh -c '[ -n "$1" ] && [ "$1" = "$2" ]' sh "$(given "$dir/one.saw")" "$(given "$dir/three.saw")"
check "the others end" sh -c 'touch "$1/two.end" "$1/three.end"' sh "$dir"
check "a job with both" starts_job both --gres=gpu:2
check "runs" runs both
check "and opens both" sh -c '[ "$1" = 2 ]' sh "$(given "$dir/both.saw" | grep -cx '/dev/vgpu[0-9]*')"
check "ends" ends_job both
check "unloads" end_forwarding
finish
