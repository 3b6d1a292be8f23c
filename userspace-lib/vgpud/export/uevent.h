/* SPDX-License-Identifier: MIT */
/* Notifications from the kernel about devices. */
#ifndef VGPUD_NOTIFY_H
#define VGPUD_NOTIFY_H

/* Watch devices come, change and go. Return: 0 or a negative errno. */
int notify_devices_init(void);

#endif /* VGPUD_NOTIFY_H */
