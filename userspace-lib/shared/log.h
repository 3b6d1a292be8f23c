/* SPDX-License-Identifier: MIT */
/*
 * The log goes to stderr, with priority prefixes if the journal reads it.
 *
 * A guest must not fill the log of its host: log_guest() is for mistakes of a guest, and
 * log_limited() is for events that are allowed but may be frequent.
 */
#ifndef VGPU_SHARED_LOG_H
#define VGPU_SHARED_LOG_H

#include <stdbool.h>
#include <stdint.h>

void log_init(bool debug);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define LOG_GUESTS	32
/* Number of ports of one guest that are told apart. */
#define LOG_PORTS	4

/**
 * struct log_slot - how often one guest's line was logged lately
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @start: time when this period began in milliseconds; 0: the slot is free
 * @lines: number of lines in this period
 * @dropped: number of lines left out since the last line that was logged
 */
struct log_slot {
	uint32_t cid;
	uint32_t port;
	uint64_t start;
	unsigned int lines;
	unsigned int dropped;
};

/**
 * struct log_limit - limit of one place in the source that logs
 * @burst: most lines of a guest in a period
 * @guests: slots of guests for which a line was logged lately
 * @others: slot of all guests for which @guests has no room
 */
struct log_limit {
	unsigned int burst;
	struct log_slot guests[LOG_GUESTS];
	struct log_slot others;
};

/*
 * Check whether log_within() would log a line of this guest now. If not, the line counts as left
 * out, so the caller need not make it.
 */
bool log_has_room(struct log_limit *limit, uint32_t cid, uint32_t port);
void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * Log "guest CID:PORT: " and a message. Each place in the source logs one line in 10 seconds
 * for each guest, so lines about one guest do not suppress lines about another.
 */
#define log_guest(cid, port, fmt, ...) do {					\
	static struct log_limit limit_ = { .burst = 1 };			\
										\
	log_within(&limit_, cid, port, 5 /* notice */, "guest %u:%u: " fmt,	\
		   cid, port, ##__VA_ARGS__);					\
} while (0)

/* Log like log_guest(), up to 20 lines in 10 seconds, for events that are no mistakes. */
#define log_limited(cid, port, fmt, ...) do {					\
	static struct log_limit limit_ = { .burst = 20 };			\
										\
	log_within(&limit_, cid, port, 6 /* info */, "guest %u:%u: " fmt,	\
		   cid, port, ##__VA_ARGS__);					\
} while (0)

/* Log at most one line in 10 seconds, for events that no single guest causes. */
#define log_seldom(...) do {							\
	static struct log_limit limit_ = { .burst = 1 };			\
										\
	log_within(&limit_, 0, 0, 5 /* notice */, __VA_ARGS__);			\
} while (0)

#endif /* VGPU_SHARED_LOG_H */
