/* SPDX-License-Identifier: MIT */
/* Messages of the engine. */
#ifndef ESHADOW_MESSAGE_H
#define ESHADOW_MESSAGE_H

/* Reads one message of the engine. Ends the program when the engine has ended. */
void message_hear(void);

#endif /* ESHADOW_MESSAGE_H */
