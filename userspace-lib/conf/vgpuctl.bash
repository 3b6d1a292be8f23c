# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion for bash of the command line of vgpuctl: commands, options, exports, guests, users.

_vgpuctl_said() {	# _vgpuctl_said exports|guests|'limits GUEST': prints names of exports, names and
			# context ids of guests, or names of a guest's limits, each with a =
	case $1 in
	limits*) vgpuctl limit "${1#limits }" 2>/dev/null | sed -n '/^LIMIT /,$ { s/^\([a-z-]*\) .*/\1=/p }' ;;
	exports) vgpuctl list 2>/dev/null | sed -n '/^EXPORT /,/^$/{/^EXPORT /d; s/ .*//p}' ;;
	guests)	vgpuctl list --json 2>/dev/null | sed -n \
			's/.*"cid":\([0-9]*\).*/\1/p; s/.*"guest_name":"\([^"]\+\)".*/\1/p' | sort -u ;;
	esac
}

_vgpuctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local i command='' verb='' words=''

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--to | --name | --size | --owner | --profile | --socket | --root) i=$((i + 1)) ;;
		-*) ;;
		*)	if [ -z "$command" ]; then
				command=${COMP_WORDS[i]}
			elif [ -z "$verb" ]; then
				verb=${COMP_WORDS[i]}
			fi ;;
		esac
	done
	COMPREPLY=()
	case $before in
	--to) mapfile -t COMPREPLY < <(compgen -W "$(_vgpuctl_said guests)" -- "$word"); return ;;
	--owner) mapfile -t COMPREPLY < <(compgen -u -- "$word"); return ;;
	--socket) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
	--root) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
	--profile) mapfile -t COMPREPLY < <(compgen -W 'render display compute all' -- "$word"); return ;;
	--name | --size) return ;;
	esac
	case $command${verb:+ $verb} in
	'') words='export unexport window limit reload diff list status doctor help --version' ;;
	help) words='export unexport window limit reload diff list status doctor' ;;
	limit) words=$(_vgpuctl_said guests) ;;
	'limit '*) words="$(_vgpuctl_said "limits $verb") --save" ;;
	export*) words='--to --nvidia --name --master --no-demand --read-only --profile --audit --any-port' ;;
	unexport*) words='--to --nvidia --force --now' ;;
	doctor) words='host guest --root --verbose' ;;
	'doctor '*) words='--root --verbose' ;;
	window) words='create destroy drain fill list qemu-args' ;;
	'window create') words='--to --size --owner' ;;
	'window destroy') words='--to --force' ;;
	'window drain' | 'window fill') words='--to' ;;
	'window qemu-args') words='--to --memory' ;;
	esac
	[ "$command" = help ] || words="$words --json --socket --help"
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	case $command:$word in
	*:-*) ;;
	export:*) [ -n "$verb" ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${word:-/dev/}") ;;
	unexport:*) [ -n "$verb" ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_vgpuctl_said exports)" -- "$word") ;;
	esac
}
complete -o filenames -F _vgpuctl vgpuctl
