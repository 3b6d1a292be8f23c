// SPDX-License-Identifier: GPL-2.0-only
/* The loop of all fuzzers, see fuzz.h. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"
#include "cover.h"
#include "draw.h"
#include "fuzz.h"
#include "kmsg.h"

/* Time in s without an execution, after which the kernel's last report is a finding ... */
#define HANG_S		20
/* ... and after which the lack of progress is one. */
#define STUCK_S		90

uint64_t draw_state;
unsigned long fuzz_messages;

static const struct fuzz *fuzzer;
static const char *out;
static unsigned long runs;
static const char *finding;
/* Time at which stored inputs run no more, and true if all of them run whatever the time. */
static uint64_t end_ms;
static bool keep;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static void run_once(struct input *input)
{
	uint64_t state = draw_state;

	corpus_note(input);
	cover_reset();
	/* The numbers drawn during a run depend on the input only, so that it can be repeated. */
	draw_state = corpus_hash(input) | 1;
	finding = fuzzer->run(input);
	draw_state = state;
	runs++;
	if (!finding)
		finding = kmsg_report(0);
}

/* Removes the steps without which the places that are new run as well. */
static void shrink(struct input *input)
{
	static struct input tried;
	struct step *step = input_next(input, NULL), *removed;

	while (step && !finding) {
		tried.len = input->len;
		memcpy(tried.bytes, input->bytes, input->len);
		removed = (struct step *)(tried.bytes + ((uint8_t *)step - input->bytes));
		input_remove(&tried, removed);
		if (tried.len)
			run_once(&tried);
		/* The step that follows takes the place of a removed one. */
		if (!finding && tried.len && cover_again())
			input_remove(input, step);
		else
			step = input_next(input, step);
		if ((uint8_t *)step >= input->bytes + input->len)
			break;
	}
}

/* Runs an input, and keeps it if it has run new code. @small: steps without effect are removed. */
static void run_one(struct input *input, bool small)
{
	run_once(input);
	if (!cover_new() && (cover_places() || !draw_one_in(16)))
		return;
	if (small && cover_places() && !finding)
		shrink(input);
	corpus_add(input, out);
}

static bool run_stored(struct input *input)
{
	run_one(input, false);
	/* Without coverage every stored input is a good one. */
	if (!cover_places())
		corpus_add(input, NULL);
	return !finding && (keep || now_ms() < end_ms);
}

static void make_input(struct input *input)
{
	unsigned int steps = 1 + draw_below(INPUT_STEPS / 2);

	input->len = 0;
	while (steps--)
		fuzzer->make(input);
}

static void run_until(uint64_t end)
{
	static struct input input, other;
	uint64_t said = now_ms();

	while (!finding && now_ms() < end) {
		if (draw_one_in(4) || !corpus_draw(&input)) {
			make_input(&input);
		} else {
			corpus_draw(&other);
			input_change(&input, &other, fuzzer->make, fuzzer->change);
		}
		if (input.len)
			run_one(&input, keep);
		if (now_ms() - said < 10000)
			continue;
		said = now_ms();
		printf("# %s: %lu executions, %lu messages, %u places, %u inputs\n", fuzzer->name,
		       runs, fuzz_messages, cover_places(), corpus_size());
		fflush(stdout);
	}
}

static int summary(uint64_t seed)
{
	if (finding) {
		printf("# %s: found: %s\n", fuzzer->name, finding);
		if (out)
			corpus_write_last(out);
	}
	printf("%s: seed %llu, %lu executions, %lu messages, %u places, %u inputs, %d findings\n",
	       fuzzer->name, (unsigned long long)seed, runs, fuzz_messages, cover_places(),
	       corpus_size(), !!finding);
	fflush(stdout);
	return finding ? FUZZ_FOUND : 0;
}

/* Shows where in the kernel this program, the modules' threads and rmmod are. */
static void show_stacks(void)
{
	if (system("for t in /proc/[0-9]*/task/*; do read -r name 2>/dev/null <$t/comm; "
		   "case $name in *vgpu*|rmmod|fuzz_*) echo \"# $t $name\"; "
		   "sed 's/^/#   /' $t/stack 2>/dev/null; esac; done; "
		   "busybox ps | tail -n 12 | sed 's/^/# /'; dmesg | grep vgpu | tail -n 8 | sed 's/^/# /'; "
		   "grep ^vgpu /proc/modules | sed 's/^/# /'"))
		printf("# stacks cannot be shown\n");
}

/*
 * Ends the program if it makes no progress. A report of the kernel may come with the death of the
 * main thread, or with a lock that is never released.
 */
static void *watch(void *unused)
{
	const char *report = NULL, *news;
	unsigned long seen = 0;
	unsigned int idle = 0;

	(void)unused;
	for (;;) {
		sleep(1);
		news = kmsg_report(1);
		report = news ?: report;
		idle = __atomic_load_n(&runs, __ATOMIC_RELAXED) == seen ? idle + 1 : 0;
		seen = __atomic_load_n(&runs, __ATOMIC_RELAXED);
		if (idle < HANG_S || (!report && idle < STUCK_S))
			continue;
		printf("# %s: found: %s\n", fuzzer->name, report ?: "an execution does not end");
		fflush(stdout);
		show_stacks();
		if (out)
			corpus_write_last(out);
		_exit(FUZZ_FOUND);
	}
}

int fuzz_main(const struct fuzz *fuzz, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "corpus", required_argument, NULL, 'c' },
		{ "out", required_argument, NULL, 'o' },
		{ "keep", no_argument, NULL, 'k' },
		{ },
	};
	const char *corpus = NULL, *last;
	unsigned long seconds = 60;
	static struct input input;
	pthread_t thread;
	uint64_t seed = time(NULL) ^ (uint64_t)getpid() << 32;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			seconds = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			corpus = optarg;
			break;
		case 'o':
			out = optarg;
			mkdir(out, 0755);
			break;
		case 'k':
			keep = true;
			break;
		default:
			return 2;
		}
	}
	fuzzer = fuzz;
	draw_state = seed ?: 1;
	printf("# %s: seed %llu\n", fuzz->name, (unsigned long long)seed);
	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	if (!kmsg_open() || !fuzz->start()) {
		printf("# %s: cannot start\n", fuzz->name);
		return 1;
	}
	if (pthread_create(&thread, NULL, watch, NULL))
		return 1;
	cover_open();
	if (fuzz->own)
		cover_own();
	for (; optind < argc && !finding; optind++) {
		if (!corpus_read(argv[optind], &input))
			return 2;
		run_one(&input, false);
		seconds = 0;
	}
	end_ms = now_ms() + seconds * 1000;
	if (corpus && !finding)
		corpus_load(corpus, !keep, run_stored);
	if (corpus)
		printf("# %s: %lu stored inputs, %u places\n", fuzz->name, runs, cover_places());
	fflush(stdout);
	run_until(keep ? now_ms() + seconds * 1000 : end_ms);
	last = fuzz->stop();
	if (!finding)
		finding = last ?: kmsg_report(0);
	return summary(seed);
}
