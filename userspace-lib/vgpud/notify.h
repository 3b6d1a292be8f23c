/* SPDX-License-Identifier: MIT */
/* Notifications to the service manager, and from the kernel about devices. */
#ifndef VGPUD_NOTIFY_H
#define VGPUD_NOTIFY_H

/* Send a state such as "READY=1" to the service manager, if there is one. */
void notify_manager(const char *state);

/* Watch devices come, change and go. Return: 0 or a negative errno. */
int notify_devices_init(void);

#endif /* VGPUD_NOTIFY_H */
