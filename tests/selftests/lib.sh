# SPDX-License-Identifier: GPL-2.0-only
#
# Test scripts share these functions for TAP and for waiting. They include this file by
# ". ./lib.sh"; $dir is a directory that the script has made and removes at its end.
# shellcheck shell=sh disable=SC2154	# dir

number=0
failed=0

result() {	# result STATUS NAME
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		failed=1
		echo "not ok $number $2"
	fi
}

skip() {	# skip NAME REASON: reports a test that cannot run here
	number=$((number + 1))
	echo "ok $number $1 # SKIP $2"
}

skip_all() {	# skip_all REASON: reports that no test can run here, and ends the script
	echo "1..0 # SKIP $1"
	exit 4
}

check() {	# check NAME COMMAND...: ok if the command succeeds; else prints its output
	name=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		result 0 "$name"
	else
		sed 's/^/# /' "$dir/log"
		result 1 "$name"
	fi
}

await() {	# await SECONDS COMMAND...: repeats it until it succeeds; else prints its last output
	end=$(($(date +%s) + $1))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || { "$@"; return 1; }
		busybox usleep 50000
	done
}

not() { ! "$@"; }

finish() {	# prints the plan, and exits with the status of all tests
	echo "1..$number"
	exit $failed
}
