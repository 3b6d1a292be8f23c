/* SPDX-License-Identifier: MIT */
/* Devices that the engine must not poll for a while. */
#ifndef ENGINE_QUIET_H
#define ENGINE_QUIET_H

#include <sys/types.h>

/* Stop polling the files of a device until the guest polls them again; see poller_quiet_begin(). */
void quiet_device(dev_t rdev);

#endif /* ENGINE_QUIET_H */
