/* SPDX-License-Identifier: MIT */
/* Notifications from the kernel about devices. */
#ifndef VGPUD_UEVENT_H
#define VGPUD_UEVENT_H

/* Watch devices come, change and go. Return: 0 or a negative errno. */
int uevents_init(void);
/* Handle lost uevents: devices and displays may have changed. */
void uevents_lost(void);

#endif /* VGPUD_UEVENT_H */
