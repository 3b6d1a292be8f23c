# SPDX-License-Identifier: GPL-2.0-only
#
# Commands for users and developers (make help lists them); kbuild itself reads Kbuild.
#
#   make modules KDIR=/path/to/kernel/build   builds for another kernel than the running one
#   make check TEST='mock_ioctl' BED=loopback:6.12   runs one test in one bed

KDIR	?= /lib/modules/$(shell uname -r)/build
DESTDIR	?=
include drivers/common/version.mk
version	:= $(vgpu-version)
harness	:= tests/harness
run	:= $(harness)/run

.DEFAULT_GOAL := help

help: ## show this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name what; do printf '  %-16s %s\n' "$$name" "$$what"; done

# --- for use ------------------------------------------------------------------

modules: ## build vgpu_guest.ko and vgpu_host.ko for KDIR (VGPU_TESTING=1: with parts for tests)
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

modules_install: ## install the modules, so that modprobe finds them (as root)
	@# Modules with planted bugs have a parameter "plant" (drivers/common/plant.c).
	@for module in drivers/guest/vgpu_guest.ko drivers/host/vgpu_host.ko; do \
		! modinfo -F parm $$module 2>/dev/null | grep -q '^plant:' || { \
			echo "error: $$module was built with VGPU_FUZZ=1 and has bugs for fuzzers: make clean modules" >&2; \
			exit 1; }; \
	done
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	@# Kbuild does not where headers come without a System.map, as distributions' do.
	depmod $(addprefix -b ,$(INSTALL_MOD_PATH)) $$($(MAKE) -s --no-print-directory -C $(KDIR) kernelrelease)

lib: ## build vgpud, vgpuctl, vgpu-shadow and libvgpu
	$(MAKE) -C userspace-lib

install: lib ## build and install user space (as root; DESTDIR=, prefix=)
	$(MAKE) -C userspace-lib install

dkms_source := $(DESTDIR)/usr/src/vgpu-$(version)
dkms_sources:
	rm -rf $(dkms_source)
	mkdir -p $(dkms_source)
	@# Without plant.c a module with planted bugs (VGPU_FUZZ=1) cannot be built there.
	find Kbuild drivers uapi \( -name '*.[ch]' ! -name '*.mod.c' ! -name plant.c -o -name Kbuild -o -name '*.mk' \) \
		-exec cp --parents -t $(dkms_source) {} +

dkms: ## let DKMS build and install the modules for each kernel (as root; KVER=)
	dkms remove vgpu/$(version) --all >/dev/null 2>&1 || true
	$(MAKE) dkms_sources
	sed 's/#MODULE_VERSION#/$(version)/' debian/vgpu-dkms.dkms >$(dkms_source)/dkms.conf
	[ -n "$(DESTDIR)" ] || { dkms add vgpu/$(version) && \
		dkms install vgpu/$(version) $(addprefix -k ,$(KVER)); }

uninstall: ## remove what install and dkms installed (as root)
	[ -n "$(DESTDIR)" ] || ! command -v dkms >/dev/null || \
		dkms remove vgpu/$(version) --all >/dev/null 2>&1 || true
	rm -rf $(dkms_source)
	$(MAKE) -C userspace-lib uninstall

deb: ## build Debian packages, in a Debian root (build/deb/)
	@$(harness)/install-packages.sh
	@$(harness)/deb build

# --- for seeing and testing, in virtual machines --------------------------------

prepare:
	@$(harness)/install-packages.sh

demo: prepare ## start two VMs: programs in one VM use a device of the other
	@$(harness)/demo

check: prepare ## run the tests that a change has to pass (TEST=names, BED=tier:kernel/host-kernel)
	@$(run) $(addprefix --bed ,$(BED)) $(TEST)

soak: ## run tests many times, beside other work (TEST=names TIMES=10 LOAD=processes BED=)
	@$(harness)/install-packages.sh $(if $(LOAD),stress-ng)
	@$(if $(TEST),,echo "error: name the tests, as in: make soak TEST=mock_poll" >&2; exit 1)
	@$(run) --soak $(or $(TIMES),10) $(addprefix --load ,$(LOAD)) $(addprefix --bed ,$(BED)) $(TEST)

conformance: prepare ## run suites of other projects on the real and the forwarded device (SUITE= ENGINE=user)
	@$(harness)/conformance $(if $(filter user,$(ENGINE)),--bed user:6.12) $(SUITE)

# Tests of the protection of a shadow's memory: by protection keys, or without them.
keys := session_reach session_shadow mock_ioctl mock_nested hostile_bind hostile_call hostile_close hostile_control hostile_fetch hostile_handshake \
	hostile_kept hostile_kept_release hostile_pin hostile_shadow
check-all: prepare ## as check, in all beds, and on processors without protection keys (TEST=names)
	@$(run) --all $(TEST)
	@$(if $(TEST),,$(run) --no-build --cpu pku=off --bed loopback:6.12 --bed user:6.12 $(keys))

check-nested: prepare ## run tests in guest VMs that QEMU and KVM run inside the host's VM (TEST=names)
	@$(run) --gpu venus --within 600 --bed nested:6.12/6.12 $(TEST)

check-vhost: prepare ## as check-nested, with the user-space engine and the newest QEMU (TEST=names)
	@$(run) --gpu venus --bed vhost:6.12/6.12 --bed vhost:6.12/7 $(TEST)

check-user: prepare ## run tests with the user-space engine, without the host module (TEST=names UBSAN=1)
	@$(run) $(if $(UBSAN),--ubsan) --bed user:6.12 $(TEST)

check-kept: prepare ## test a device that keeps 1 GiB of scattered memory, with both engines, in VMs of 3 GiB
	@$(run) --memory 3072 --bed loopback:6.12 --bed user:6.12 hostile_kept

check-hoard: prepare ## test ten guests that take all that they can get, ten minutes with each engine, in VMs of 8 GiB
	@$(run) --memory 8192 --limit 1500 --bed loopback:6.12 --bed user:6.12 hostile_hoard

comma := ,
deaths := $(or $(DEATHS),8000$(comma)1500$(comma)400$(comma)100)
check-deaths: prepare ## kill 8,000 tasks, 1,500 shadows, 400 agents and engines, 100 QEMUs under load, which takes hours (DEATHS=tasks,shadows,agents,qemus SEED=)
	@$(run) --limit 20000 --env VGPU_DEATHS=$(deaths) $(addprefix --env VGPU_SEED=,$(SEED)) \
		--bed loopback:6.12 --bed user:6.12 mock_deaths mock_oom
	@VGPU_DEATHS=$(deaths) VGPU_SEED=$(SEED) $(run) --no-build --bed nested:6.12/6.12 ordeal_qemus

check-tenants: prepare ## test an innocent guest beside three hostile ones, for half an hour with each engine (MINUTES=30)
	@$(run) --jobs 1 --memory 4096 --limit 10000 --env VGPU_SOAK_MINUTES=$(or $(MINUTES),30) \
		--bed loopback:6.12 --bed user:6.12 hostile_soak

check-share: prepare ## test the shares of guests in a device that queues its work, on a machine that does nothing else
	@$(run) --bed loopback:6.12 hostile_share_async

check-alloc: prepare ## test that each allocation of the modules may fail, for each kind of operation
	@$(run) --bed loopback:debug mock_alloc

gpu-kit: prepare ## build .gpu-kit/, which tests/gpu/run needs on a machine with a GPU
	@tests/gpu/mkkit

check-gpu-kit: gpu-kit ## test that kit without a GPU, with plain devices of this machine (as root)
	@OUT=$$(mktemp -d) && echo "files of the run: $$OUT" && OUT=$$OUT tests/gpu/run --rehearse

check-unit: prepare ## run unit tests and fuzzers in user space (FUZZ_SECONDS=60)
	@$(harness)/unit $(FUZZ_SECONDS)

fuzz: prepare ## fuzz the modules in a machine with the debug kernel (MINUTES=4 FUZZER=names; PLANT=1: find planted bugs)
	@$(harness)/fuzz $(addprefix --minutes ,$(MINUTES)) $(if $(PLANT),--plant) $(FUZZER)

check-install: prepare ## test install, dkms and uninstall in a temporary Debian, and README's commands
	@$(harness)/install

check-deb: prepare ## build Debian packages, and test them in a temporary Debian and in a VM (KERNEL=names)
	@$(harness)/deb build
	@$(harness)/deb check $(KERNEL)
	@$(run) --bed packages:6.12

check-libvirt: prepare ## test the documents' libvirt settings, and a guest that libvirt runs
	@$(harness)/libvirt
	@$(run) --bed libvirt:6.12

check-cluster: prepare ## test that podman and Slurm give containers and jobs the devices that they should
	@$(run) --bed cluster:6.12

lint: prepare ## check code and documents (W=1, sparse, checkpatch, shellcheck, Sphinx)
	@$(harness)/lint

docs: prepare ## make web pages and manual pages of the documents (build/docs/)
	@$(harness)/compatibility.py --write
	@$(foreach kind,html man,sphinx-build -q -E -n -W --keep-going -d build/docs/doctrees -b $(kind) \
		Documentation build/docs/$(kind) &&) echo "build/docs/html/index.html build/docs/man"

bench: prepare ## measure the cost of a forwarded call and the speed of the window
	@$(harness)/bench

shell-guest: prepare ## open a prompt in the guest of two VMs in which everything is loaded (BED=)
	@$(run) --shell guest $(addprefix --bed ,$(BED))

shell-host: prepare ## open a prompt in the host of two VMs in which everything is loaded (BED=)
	@$(run) --shell host $(addprefix --bed ,$(BED))

clean: ## remove the files built in this tree (the cache stays)
	[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	$(MAKE) -C userspace-lib clean
	rm -rf tests/unit/build tests/fuzz/build build

.PHONY: help modules modules_install lib install uninstall dkms dkms_sources deb prepare demo check soak conformance check-all \
	check-nested check-vhost check-user check-kept check-hoard check-deaths check-tenants check-share check-alloc gpu-kit check-gpu-kit check-unit fuzz check-install check-deb check-libvirt check-cluster lint docs bench shell-guest shell-host clean
