/* SPDX-License-Identifier: MIT */
/* Notifications to the service manager. */
#ifndef VGPUD_MANAGER_H
#define VGPUD_MANAGER_H

/* Send a state such as "READY=1" to the service manager, if there is one. */
void notify_manager(const char *state);

#endif /* VGPUD_MANAGER_H */
