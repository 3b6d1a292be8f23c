# SPDX-License-Identifier: GPL-2.0-only
#
# Makes headers of the installed kernels (linux-headers-*) fit for user space, for
# the interfaces that schemas describe. So these interfaces are tested as each
# kernel declares them, and not as in the distribution's C library or libdrm. The
# includer sets $(out).
#
#   $(out)/VERSION/uapi	the headers of a kernel
#   kernel-newest	$(out)/VERSION of the newest kernel
#   kernel-uapi		headers of the newest kernel
#   kernel-older	VERSIONs of the other kernels

kernel-versions	:= $(patsubst /usr/src/linux-headers-%-common,%,$\
		     $(sort $(wildcard /usr/src/linux-headers-*-common)))
ifeq ($(kernel-versions),)
$(error the headers of a kernel are needed: install linux-headers-amd64)
endif
kernel-newest	:= $(out)/$(lastword $(kernel-versions))
kernel-uapi	:= $(kernel-newest)/uapi
kernel-older	:= $(filter-out $(lastword $(kernel-versions)),$(kernel-versions))

.DEFAULT_GOAL	:= all

# Kernel-only words are removed. Headers that an old kernel lacks become empty files.
$(kernel-versions:%=$(out)/%/uapi): $(out)/%/uapi: /usr/src/linux-headers-%-common/include/uapi
	rm -rf $@.new $@
	mkdir -p $@.new/drm $@.new/linux $@.new/sound
	cd $< && for h in drm/*.h linux/videodev2.h linux/v4l2-*.h linux/media.h \
		linux/dma-buf.h linux/dma-heap.h linux/udmabuf.h linux/sync_file.h \
		sound/asound.h; do \
		sed -e 's/\<__user\>//g' -e 's/\<__packed\>/__attribute__((packed))/' \
			-e '/^#include <linux\/compiler/d' $$h >$(abspath $@.new)/$$h || exit 1; \
	done
	touch $@.new/drm/xe_drm.h $@.new/drm/panthor_drm.h
	mv $@.new $@
