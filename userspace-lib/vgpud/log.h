/* SPDX-License-Identifier: MIT */
/*
 * The log: stderr, with the journal's priority prefixes where the journal
 * listens there.
 *
 * What a guest does must not fill the log of its host: log_guest() is for what
 * it does wrong, log_limited() for what it may do, but perhaps does too often.
 */
#ifndef VGPUD_LOG_H
#define VGPUD_LOG_H

#include <stdbool.h>
#include <stdint.h>

void log_init(bool debug);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * struct log_limit - how often one line of the source logs
 * @burst: lines in a period
 * @start: when this period began
 * @lines: in this period
 * @dropped: since the last line that was logged
 */
struct log_limit {
	unsigned int burst;
	uint64_t start;
	unsigned int lines;
	unsigned int dropped;
};

void log_within(struct log_limit *limit, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* One line in 10 seconds, wherever in the source it stands. */
#define log_guest(...) do {					\
	static struct log_limit limit_ = { .burst = 1 };	\
								\
	log_within(&limit_, 5 /* notice */, __VA_ARGS__);	\
} while (0)

/* Twenty lines in 10 seconds. */
#define log_limited(...) do {					\
	static struct log_limit limit_ = { .burst = 20 };	\
								\
	log_within(&limit_, 6 /* info */, __VA_ARGS__);		\
} while (0)

#endif /* VGPUD_LOG_H */
