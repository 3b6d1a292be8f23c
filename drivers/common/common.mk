# SPDX-License-Identifier: GPL-2.0-only
# Rules for code that is linked into both modules; drivers/{guest,host}/Kbuild include
# this file. Each module compiles its own copy, as common-<noun>.o, so that two modules
# built at the same time never share an object file.

vgpu-root := $(src)/../..
include $(src)/../common/version.mk

# The modules' MODULE_VERSION(), which DKMS compares.
CFLAGS_main.o := -DVGPU_VERSION='"$(vgpu-version)"'

ccflags-y += -I$(vgpu-root)/drivers/common
ccflags-y += -I$(vgpu-root)

vgpu-common-y := common-anon.o common-conn.o common-conn_wait.o common-wire.o
vgpu-common-y += common-wire_call.o common-wire_reply.o common-wire_diff.o

# make VGPU_FUZZ=1 VGPU_TESTING=1: with coverage for fuzzers, and with bugs that they have to find.
ifeq ($(VGPU_FUZZ),1)
ifneq ($(VGPU_TESTING),1)
$(error VGPU_FUZZ=1 plants bugs, so it is for tests only: it needs VGPU_TESTING=1)
endif
ccflags-y += -DVGPU_FUZZ
vgpu-common-y += common-cover.o common-plant.o
KCOV_INSTRUMENT := y
endif

$(obj)/common-%.o: $(vgpu-root)/drivers/common/%.c FORCE
	$(call if_changed_rule,cc_o_c)
	$(call cmd,force_checksrc)
