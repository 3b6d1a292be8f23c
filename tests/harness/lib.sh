# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2016	# read by others; apt expands $(...)
#
# The functions that the harness's shell scripts share: they find the cache and the
# package mirror, and unpack single packages of other Debian suites.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${VGPU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu}

# Debian releases that supply each kernel under test.
declare -A kernel_suite=([6.1]=bookworm [6.12]=trixie [7]=forky)

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# cache_key FILE...: prints the key of a cached thing, a hash over its input files.
# Another VGPU_CACHE_EPOCH gives other keys, so that everything is made again.
cache_key() {
	{
		printf '%s\n' "${VGPU_CACHE_EPOCH:-0}"
		cat -- "$@"
	} | sha256sum | cut -c1-12
}

# debian_mirror: prints the mirror that this machine already uses for Debian's main archive.
debian_mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)|$(LABEL)|$(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
		sed -n 's/|Debian|main$//p' | head -n1)
	[ -n "$uri" ] || uri=$(apt-get indextargets \
		--format '$(REPO_URI)|$(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
		sed -n 's/|main$//p' | grep -v security | head -n1)
	[ -n "$uri" ] || die "apt knows no Debian archive: run apt-get update"
	printf '%s\n' "$uri"
}

# suite_apt SUITE STATE: sets suite_opts to options by which apt tools see only SUITE and
# keep their lists under STATE. The machine's own apt state does not change.
suite_apt() {
	local suite=$1 state=$2
	mkdir -p "$state/lists/partial" "$state/cache"
	: >"$state/status"	# packages installed on this machine must not count
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
		"$(debian_mirror)" "$suite" >"$state/sources.list"
	suite_opts=(-q
		-o "Dir::Etc::SourceList=$state/sources.list"
		-o Dir::Etc::SourceParts=/nonexistent
		-o "Dir::State::Lists=$state/lists"
		-o "Dir::State::status=$state/status"
		-o "Dir::Cache=$state/cache"
		-o APT::Sandbox::User=root
		-o Acquire::Languages=none)
	[ -s "$state/updated" ] ||
		apt-get "${suite_opts[@]}" update >"$state/updated" 2>&1 ||
		{ cat "$state/updated" >&2; rm -f "$state/updated"; return 1; }
}

# unpack_debs SUITE STATE TARGET PACKAGE...: unpacks these packages in TARGET, without
# the packages that they depend on.
unpack_debs() {
	local suite=$1 state=$2 target=$3 deb
	shift 3
	suite_apt "$suite" "$state"
	mkdir -p "$state/debs" "$target"
	(cd "$state/debs" && rm -f ./*.deb &&
		apt-get "${suite_opts[@]}" download "$@" >&2)
	for deb in "$state/debs"/*.deb; do
		dpkg-deb -x "$deb" "$target"
	done
}

# kernel_debs SUITE STATE image|headers: prints the packages that hold the suite's current
# amd64 kernel or its headers. Metapackages are left out.
kernel_debs() {
	local suite=$1 state=$2 what=$3
	suite_apt "$suite" "$state"
	apt-cache "${suite_opts[@]}" depends --recurse --no-recommends \
		--no-suggests --no-conflicts --no-breaks --no-replaces \
		--no-enhances "linux-$what-amd64" |
		grep -E '^linux-(headers|kbuild|image|binary|modules|base)-[0-9]' |
		sort -u
}

# mend_vkms DIR: mends a deadlock in the source of vkms in DIR. In 6.1 and 6.12 one processor
# ends the vblanks and waits for their timer while it holds locks (drm_crtc_vblank_off(),
# vkms_disable_vblank()) that the timer's function takes on another processor
# (drm_handle_vblank()). Emulated processors run into this. In the mended source the first
# processor does not wait, and the timer's function stops the timer once vblanks have ended.
mend_vkms() {
	local file=$1/vkms_crtc.c
	grep -q 'hrtimer_cancel(' "$file" || return 0
	sed -i -e 's/hrtimer_cancel(/hrtimer_try_to_cancel(/' \
		-e 's/DRM_ERROR("vkms failure on handling vblank");/goto ended;/' \
		-e 's/^\treturn HRTIMER_RESTART;/&\
ended:\
	spin_unlock(\&output->lock);\
	dma_fence_end_signalling(fence_cookie);\
	return HRTIMER_NORESTART;/' "$file"
}

# mend_atomic DIR: mends a use after free in the source of DRM's helpers in DIR.
# drm_atomic_helper_commit_tail() signals that the hardware is done and then reads the new
# state of each CRTC to wait for vblanks. For a driver without vblanks (virtio-gpu) the next
# commit does not wait for that and frees the state, which KASAN reports. The mended source
# does not read the state for such drivers.
mend_atomic() {
	local before='if (old_state->legacy_cursor_update)'
	local after='if (old_state->legacy_cursor_update || !drm_dev_has_vblank(dev))'
	sed -i "/^drm_atomic_helper_wait_for_vblanks(/,/^}/s/$before/$after/" \
		"$1/drm_atomic_helper.c"
	grep -qF "$after" "$1/drm_atomic_helper.c" ||
		die "drm_atomic_helper_wait_for_vblanks() is not as it was"
}
