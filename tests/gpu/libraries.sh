# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash

# libraries ROOT PROGRAM: prints the loader and the libraries of ROOT that PROGRAM runs with.
libraries() {
	local libs=$1/usr/lib/x86_64-linux-gnu
	"$libs/ld-linux-x86-64.so.2" --library-path "$libs" --list "$2" |
		sed -nE "s,.* => ($1/[^ ]*) .*,\1,p"
	printf '%s\n' "$libs/ld-linux-x86-64.so.2"
}
