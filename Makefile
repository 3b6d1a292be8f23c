# SPDX-License-Identifier: GPL-2.0-only
#
# Commands for users and developers (make help lists them); kbuild itself reads Kbuild.
#
#   make modules KDIR=/path/to/kernel/build   builds for another kernel than the running one
#   make check TEST='mock_ioctl' BED=loopback:6.12   runs one test in one bed

KDIR	?= /lib/modules/$(shell uname -r)/build
DESTDIR	?=
version	:= 0.1
harness	:= tests/harness
run	:= $(harness)/run

.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name what; do printf '  %-16s %s\n' "$$name" "$$what"; done

# --- for use ------------------------------------------------------------------

modules: ## vgpu_guest.ko and vgpu_host.ko for KDIR (VGPU_TESTING=1: with parts for tests)
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

modules_install: ## install the modules (as root), for plain modprobe
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	@# Kbuild does not where headers come without a System.map, as distributions' do.
	depmod $(addprefix -b ,$(INSTALL_MOD_PATH)) $$($(MAKE) -s --no-print-directory -C $(KDIR) kernelrelease)

lib: ## vgpud, vgpuctl, vgpu-shadow and libvgpu
	$(MAKE) -C userspace-lib

install: lib ## install these (as root; DESTDIR=, prefix=)
	$(MAKE) -C userspace-lib install

dkms_source := $(DESTDIR)/usr/src/vgpu-$(version)
dkms: ## have DKMS build and install the modules for each kernel (as root; KVER=)
	dkms remove vgpu/$(version) --all >/dev/null 2>&1 || true
	rm -rf $(dkms_source)
	mkdir -p $(dkms_source)
	find Kbuild drivers uapi \( -name '*.[ch]' ! -name '*.mod.c' -o -name Kbuild -o -name '*.mk' \) \
		-exec cp --parents -t $(dkms_source) {} +
	printf '%s\n' 'PACKAGE_NAME=vgpu' 'PACKAGE_VERSION=$(version)' 'AUTOINSTALL=yes' \
		'MAKE[0]="make -C $$kernel_source_dir M=$$dkms_tree/$$module/$$module_version/build modules"' \
		'BUILT_MODULE_NAME[0]=vgpu_guest' 'BUILT_MODULE_LOCATION[0]=drivers/guest' \
		'DEST_MODULE_LOCATION[0]=/updates' \
		'BUILT_MODULE_NAME[1]=vgpu_host' 'BUILT_MODULE_LOCATION[1]=drivers/host' \
		'DEST_MODULE_LOCATION[1]=/updates' >$(dkms_source)/dkms.conf
	[ -n "$(DESTDIR)" ] || { dkms add vgpu/$(version) && \
		dkms install vgpu/$(version) $(addprefix -k ,$(KVER)); }

uninstall: ## remove what install and dkms installed (as root)
	[ -n "$(DESTDIR)" ] || ! command -v dkms >/dev/null || \
		dkms remove vgpu/$(version) --all >/dev/null 2>&1 || true
	rm -rf $(dkms_source)
	$(MAKE) -C userspace-lib uninstall

# --- for seeing and testing, in virtual machines --------------------------------

prepare:
	@$(harness)/install-packages.sh

demo: prepare ## two VMs: programs in the one use the other's device
	@$(harness)/demo

check: prepare ## all tests, in all beds (TEST=names, BED=tier:guest-kernel/host-kernel)
	@$(run) $(addprefix --bed ,$(BED)) $(TEST)

soak: ## tests again and again, beside other work (TEST=names TIMES=10 LOAD=processes BED=)
	@$(harness)/install-packages.sh $(if $(LOAD),stress-ng)
	@$(if $(TEST),,echo "error: TEST=names says which tests" >&2; exit 1)
	@$(run) --soak $(or $(TIMES),10) $(addprefix --load ,$(LOAD)) $(addprefix --bed ,$(BED)) $(TEST)

conformance: prepare ## suites of others, on the real device and on the forwarded one (SUITE=names ENGINE=user)
	@$(harness)/conformance $(if $(filter user,$(ENGINE)),--bed user:6.12) $(SUITE)

# Tests of the protection of a shadow's memory: by protection keys, or without them.
keys := session_reach session_shadow mock_ioctl mock_nested hostile_bind hostile_call hostile_close hostile_control hostile_fetch hostile_handshake \
	hostile_kept hostile_kept_release hostile_pin hostile_shadow
check-all: prepare ## the same, both modules on 6.1, and processors without protection keys
	@$(run) --all $(TEST)
	@$(if $(TEST),,$(run) --no-build --cpu pku=off --bed loopback:6.12 --bed user:6.12 $(keys))

check-nested: prepare ## guest VMs in QEMU and KVM of the host's VM (TEST=names)
	@$(run) --gpu venus --within 600 --bed nested:6.12/6.12 $(TEST)

check-vhost: prepare ## as check-nested, with the user-space engine and the newest QEMU (TEST=names)
	@$(run) --gpu venus --bed vhost:6.12/6.12 --bed vhost:6.12/7 $(TEST)

check-user: prepare ## the guest's module and the user-space engine, no module on the host (TEST=names UBSAN=1)
	@$(run) $(if $(UBSAN),--ubsan) --bed user:6.12 $(TEST)

check-kept: prepare ## 1 GiB of memory, all in pieces, that a device keeps: both engines, in machines of 3 GiB
	@$(run) --memory 3072 --bed loopback:6.12 --bed user:6.12 hostile_kept

gpu-kit: prepare ## what tests/gpu/run needs, to carry to a machine with a GPU (.gpu-kit/)
	@tests/gpu/mkkit

check-gpu-kit: gpu-kit ## that kit and tests/gpu/run, with plain devices of this machine (as root)
	@OUT=$$(mktemp -d) && echo "files of the run: $$OUT" && OUT=$$OUT tests/gpu/run --rehearse

check-unit: prepare ## tests and fuzzing in user space (FUZZ_SECONDS=60)
	@$(harness)/unit $(FUZZ_SECONDS)

check-install: prepare ## install, dkms, uninstall in a throw-away Debian; README's commands
	@$(harness)/install

check-libvirt: prepare ## what the documents tell libvirt, judged by Debian's; a guest that it runs
	@$(harness)/libvirt
	@$(run) --bed libvirt:6.12

lint: prepare ## W=1 and sparse for all kernels, checkpatch, shellcheck, documents
	@$(harness)/lint

docs: prepare ## the documents as web pages and manual pages (build/docs/)
	@$(foreach kind,html man,sphinx-build -q -E -n -W --keep-going -d build/docs/doctrees -b $(kind) \
		Documentation build/docs/$(kind) &&) echo "build/docs/html/index.html build/docs/man"

bench: prepare ## what a forwarded call costs, and how fast the window is
	@$(harness)/bench

shell-guest: prepare ## a prompt in the guest of two VMs, everything loaded
	@$(run) --shell guest $(addprefix --bed ,$(BED))

shell-host: prepare ## a prompt in the host of two VMs, everything loaded
	@$(run) --shell host $(addprefix --bed ,$(BED))

clean: ## remove what was built in this tree (the cache stays)
	[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	$(MAKE) -C userspace-lib clean
	rm -rf tests/unit/build tests/fuzz/build build

.PHONY: help modules modules_install lib install uninstall dkms prepare demo check soak conformance check-all \
	check-nested check-vhost check-user check-kept gpu-kit check-gpu-kit check-unit check-install check-libvirt lint docs bench shell-guest shell-host clean
