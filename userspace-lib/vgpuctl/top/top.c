// SPDX-License-Identifier: MIT
/* The command top: what guests, their exports and programs do, step by step. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vgpuctl/metrics/sample.h"
#include "vgpuctl/top/rate.h"
#include "vgpuctl/top/screen.h"
#include "vgpuctl/top/top.h"
#include "vgpuctl/top/view.h"
#include "vgpuctl/vgpuctl.h"

#define DELAY_MIN	0.1
#define DELAY_MAX	3600.0

/**
 * struct top - state of the command
 * @options: options of the command line
 * @delay: time of a step in seconds
 * @steps: number of steps that are left; negative: no limit
 * @by: number to sort by
 * @screen: true if the terminal is taken over
 * @first: number of lines that are scrolled out of sight
 * @sample: last sample
 * @view: lines of the last step
 */
struct top {
	const struct options *options;
	double delay;
	long steps;
	enum rate_value by;
	bool screen;
	unsigned int first;
	struct sample *sample;
	struct view view;
};

static volatile sig_atomic_t signalled;

static void on_signal(int signal)
{
	signalled = signal;
}

/* Catch the signals that end the program, so that the terminal is given back before. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal };
	size_t i;

	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Parse a number of the command line. Return: 0 or an exit status. */
static int take_number(const char *option, const char *words, double min, double max,
		       double *number)
{
	char *end;

	errno = 0;
	*number = strtod(words, &end);
	if (errno || end == words || *end || !(*number >= min && *number <= max))
		return fail(EXIT_USAGE, "--%s %s: give a number from %g to %g", option, words, min,
			    max);
	return 0;
}

int take_step_options(const struct options *options, double *delay, long *count)
{
	const char *words = options->values[OPT_DELAY];
	double number;
	int ret;

	if (words) {
		ret = take_number("delay", words, DELAY_MIN, DELAY_MAX, delay);
		if (ret)
			return ret;
	}
	words = options->values[OPT_COUNT];
	if (!words)
		return 0;
	ret = take_number("count", words, 1, 1e9, &number);
	if (ret)
		return ret;
	if (number != floor(number))
		return fail(EXIT_USAGE, "--count %s: give a whole number", words);
	*count = number;
	return 0;
}

static int take_values(struct top *top)
{
	const char *key = top->options->values[OPT_SORT];
	int ret = take_step_options(top->options, &top->delay, &top->steps);

	if (ret)
		return ret;
	if (key) {
		top->by = view_key(key);
		if (top->by == NR_RATE_VALUES)
			return fail(EXIT_USAGE, "--sort %s: give one of %s", key, view_keys());
	}
	return 0;
}

static void show(struct top *top)
{
	size_t i;

	if (top->screen) {
		screen_show(&top->view, top->first);
		return;
	}
	for (i = 0; i < top->view.nr; i++)
		puts(top->view.lines[i]);
	putchar('\n');
	fflush(stdout);
}

/* Take a sample, and show what has happened since the last one. Return: 0 or an exit status. */
static int step(struct top *top)
{
	struct sample *sample;
	struct rates rates;
	int ret = sample_take(top->options, &sample);

	if (ret)
		return ret;
	if (rates_between(top->sample, sample, &rates))
		goto err;
	rates_sort(&rates, top->by);
	if (option_given(top->options, OPT_JSON)) {
		view_print_json(&rates);
	} else {
		if (view_make(&top->view, &rates, top->by, sample->programs_hidden))
			goto err_rates;
		show(top);
	}
	free(rates.list);
	sample_free(top->sample);
	top->sample = sample;
	return 0;

err_rates:
	free(rates.list);
err:
	sample_free(sample);
	return fail(EXIT_FAILED, "out of memory");
}

/* Handle a key. Return: true if the program is to end. */
static bool take_key(struct top *top, int key)
{
	switch (key) {
	case 'q':
		return true;
	case 's':
		top->by = view_next_key(top->by);
		break;
	case 'j':
		if (top->first + 2 < top->view.nr)
			top->first++;
		break;
	case 'k':
		if (top->first)
			top->first--;
		break;
	default:
		return false;
	}
	if (key != 's')
		show(top);
	return false;
}

/* Wait until a time of now_s(). Return: true if the program is to end. */
static bool wait_until(struct top *top, double end)
{
	struct timespec rest;
	double left;

	while (!signalled && (left = end - now_s()) > 0) {
		if (top->screen) {
			if (take_key(top, screen_key(left * 1000 + 1)))
				return true;
			continue;
		}
		rest.tv_sec = left;
		rest.tv_nsec = (left - rest.tv_sec) * 1e9;
		nanosleep(&rest, NULL);
	}
	return signalled;
}

static int run(struct top *top)
{
	double next = now_s();
	int ret = sample_take(top->options, &top->sample);

	if (ret)
		return ret;
	if (!option_given(top->options, OPT_BATCH) && !option_given(top->options, OPT_JSON) &&
	    isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
		if (screen_open())
			return fail(EXIT_FAILED, "this terminal (TERM=%s) is not known: use --batch",
				    getenv("TERM") ? getenv("TERM") : "");
		top->screen = true;
	}
	while (!ret && top->steps) {
		next += top->delay;
		if (wait_until(top, next))
			break;
		ret = step(top);
		/* Steps that were missed, while the program was stopped, are left out. */
		if (next < now_s() - top->delay)
			next = now_s();
		if (top->steps > 0)
			top->steps--;
	}
	return ret;
}

int cmd_top(const char *unused, const struct options *options)
{
	struct top top = { .options = options, .delay = 1, .steps = -1, .by = RATE_CALLS };
	int ret;

	(void)unused;
	ret = take_values(&top);
	if (ret)
		return ret;
	catch_signals();
	ret = run(&top);
	screen_close();
	sample_free(top.sample);
	view_free(&top.view);
	if (!signalled)
		return ret;
	/* End as one who does not catch the signal: the caller sees why. */
	signal(signalled, SIG_DFL);
	raise(signalled);
	return EXIT_FAILED;
}
