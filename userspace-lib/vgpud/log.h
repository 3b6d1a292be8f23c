/* SPDX-License-Identifier: MIT */
/*
 * The log: stderr, with the journal's priority prefixes where the journal
 * listens there.
 *
 * What a guest does wrong must not fill the log of its host: use log_guest(),
 * which lets few through and counts the rest.
 */
#ifndef VGPUD_LOG_H
#define VGPUD_LOG_H

#include <stdbool.h>

void log_init(bool debug);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line about a guest's doing: at most 10 in 60 seconds, all guests together. */
void log_guest(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* VGPUD_LOG_H */
