#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The fuzzers of the modules (tests/fuzz/kernel) find nothing in a short time, with the same numbers
# each time, or with those of VGPU_SEED. They run some of the inputs in tests/fuzz/corpus first, and
# then go on from these. `make fuzz` gives them more time, new numbers, and modules that tell what
# has run.
# shellcheck disable=SC2317	# called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

[ "${VGPU_TIER:-}" = loopback ] || skip_all "the host module is in another machine, or not there"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tools=/usr/lib/vgpu-test/tools
seconds=20	# for each fuzzer
seed=${VGPU_SEED:-1}

# fuzz NAME SECONDS SEED: runs a fuzzer, which ends itself if it makes no progress.
fuzz() {
	timeout -s KILL 240 "$tools/$1" --seconds "$2" --seed "$3" --corpus "$dir/$1"
}

# Those that end the agent or the guest's connection come last.
for fuzzer in fuzz_file fuzz_wire fuzz_host fuzz_shadow; do
	mkdir "$dir/$fuzzer"
	[ ! -e "$tools/$fuzzer.tar.gz" ] || tar -C "$dir/$fuzzer" -xzf "$tools/$fuzzer.tar.gz"
	check "$fuzzer, seed $seed" fuzz $fuzzer $seconds "$seed"
	grep "^$fuzzer: " "$dir/log" | sed 's/^/# /'
done

# fuzz_shadow has ended the agent.
check "the agent is back" /usr/lib/vgpu-test/setup host 1
check "so are the devices" /usr/lib/vgpu-test/setup env

finish
