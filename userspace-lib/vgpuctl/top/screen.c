// SPDX-License-Identifier: MIT
/* The terminal, by curses. */
#include <curses.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vgpuctl/top/screen.h"
#include "vgpuctl/top/view.h"

static SCREEN *screen;
/* Standard error, and a file that takes its place while the terminal is taken over; -1: none. */
static int errors = -1, held = -1;

/* Hold back what is printed as an error, as it would be lost with the screen. */
static void errors_hold(void)
{
	held = memfd_create("errors", MFD_CLOEXEC);
	errors = held < 0 ? -1 : dup(STDERR_FILENO);
	if (errors >= 0)
		dup2(held, STDERR_FILENO);
}

/* Print what was held back. */
static void errors_print(void)
{
	char text[4096];
	ssize_t len;

	if (errors < 0)
		return;
	fflush(stderr);
	dup2(errors, STDERR_FILENO);
	len = pread(held, text, sizeof(text), 0);
	if (len > 0)
		fwrite(text, 1, len, stderr);
	close(errors);
	close(held);
	errors = -1;
}

int screen_open(void)
{
	/* initscr() would end the program if it does not know the terminal. */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -1;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	errors_hold();
	return 0;
}

void screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	errors_print();
}

void screen_show(const struct view *view, unsigned int first)
{
	size_t i;
	int row = 0;

	erase();
	for (i = 0; i < view->nr && row < LINES; i++) {
		/* The first line tells what the others are, so it stays. */
		if (i && i <= first)
			continue;
		if (view->heads[i])
			attron(A_REVERSE);
		mvaddnstr(row, 0, view->lines[i], COLS);
		if (view->heads[i]) {
			hline(' ', COLS);
			attroff(A_REVERSE);
		}
		row++;
	}
	refresh();
}

int screen_key(int ms)
{
	int key;

	timeout(ms);
	key = getch();
	switch (key) {
	case ERR:
		return -1;
	case KEY_DOWN:
		return 'j';
	case KEY_UP:
		return 'k';
	default:
		return key;
	}
}
