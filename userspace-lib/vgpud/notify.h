/* SPDX-License-Identifier: MIT */
/* What vgpud tells and hears of the system: service manager and devices. */
#ifndef VGPUD_NOTIFY_H
#define VGPUD_NOTIFY_H

/* To the service manager, if there is one: "READY=1" and the like. */
void notify_manager(const char *state);

/* Watches devices come, change and go, for exports. 0 or a negative errno. */
int notify_devices_init(void);
/* Devices may have come or gone: exports are looked at soon, once for all that comes meanwhile. */
void notify_devices_soon(void);

#endif /* VGPUD_NOTIFY_H */
