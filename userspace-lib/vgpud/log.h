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

#define LOG_GUESTS	32
/* Ports by which a guest comes that are told from each other. */
#define LOG_PORTS	4

/**
 * struct log_slot - how often a line was logged lately
 * @cid: of which guest
 * @port: likewise
 * @start: when this period began; 0: it is free
 * @lines: in this period
 * @dropped: since the last line that was logged
 */
struct log_slot {
	uint32_t cid;
	uint32_t port;
	uint64_t start;
	unsigned int lines;
	unsigned int dropped;
};

/**
 * struct log_limit - how often one line of the source logs
 * @burst: lines in a period, of each guest
 * @guests: those of which it was logged lately
 * @others: guests for which there is no room there, all together
 */
struct log_limit {
	unsigned int burst;
	struct log_slot guests[LOG_GUESTS];
	struct log_slot others;
};

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * One line in 10 seconds of each guest, wherever in the source it stands: a noisy guest hides
 * no other. It begins with "guest CID:PORT: ".
 */
#define log_guest(cid, port, fmt, ...) do {					\
	static struct log_limit limit_ = { .burst = 1 };			\
										\
	log_within(&limit_, cid, port, 5 /* notice */, "guest %u:%u: " fmt,	\
		   cid, port, ##__VA_ARGS__);					\
} while (0)

/* The same, twenty lines, for what is no mistake. */
#define log_limited(cid, port, fmt, ...) do {					\
	static struct log_limit limit_ = { .burst = 20 };			\
										\
	log_within(&limit_, cid, port, 6 /* info */, "guest %u:%u: " fmt,	\
		   cid, port, ##__VA_ARGS__);					\
} while (0)

/* One line in 10 seconds of what is no single guest's doing. */
#define log_seldom(...) do {							\
	static struct log_limit limit_ = { .burst = 1 };			\
										\
	log_within(&limit_, 0, 0, 5 /* notice */, __VA_ARGS__);			\
} while (0)

#endif /* VGPUD_LOG_H */
