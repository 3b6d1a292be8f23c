/* SPDX-License-Identifier: MIT */
/* The terminal, by curses. */
#ifndef VGPUCTL_SCREEN_H
#define VGPUCTL_SCREEN_H

struct view;

/* Take the terminal over. Return: 0 or -1: curses does not know the terminal. */
int screen_open(void);
/* Give the terminal back as it was. Does nothing if it was not taken over. */
void screen_close(void);
/* Show lines from @first on, as many as fit. */
void screen_show(const struct view *view, unsigned int first);
/* Wait @ms milliseconds at most for a key. Return: the key; -1: none, or a signal has come. */
int screen_key(int ms);

#endif /* VGPUCTL_SCREEN_H */
