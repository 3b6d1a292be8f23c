/* SPDX-License-Identifier: MIT */
/* Samples: what vgpud has counted up to a moment, by guest, export and program. */
#ifndef VGPUCTL_SAMPLE_H
#define VGPUCTL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/vgpu_host.h>

struct json_object;
struct options;

/**
 * struct sample_calls - sums over calls
 * @calls: number of calls
 * @errors: number of these that failed
 * @bytes_in: length of their messages in bytes
 * @bytes_out: length of their replies in bytes
 * @ns: time that they took on the host in nanoseconds
 */
struct sample_calls {
	uint64_t calls;
	uint64_t errors;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t ns;
};

/**
 * struct sample_export - calls of a guest on files of an export
 * @name: name of the export
 * @sums: sums over the calls
 * @buckets: numbers of calls by time, as in struct vgpu_host_tally
 */
struct sample_export {
	char name[32];
	struct sample_calls sums;
	uint64_t buckets[VGPU_HOST_BUCKETS];
};

/**
 * struct sample_program - calls of a program of a guest
 * @number: number of its session
 * @comm: name of the program, as the guest says
 * @guest_pid: process ID in the guest, as the guest says
 * @shadow_pid: process ID of its shadow on the host
 * @sums: sums over the calls
 */
struct sample_program {
	uint64_t number;
	char comm[32];
	uint64_t guest_pid;
	uint64_t shadow_pid;
	struct sample_calls sums;
};

/**
 * struct sample_totals - counters of a guest over all of its connections; see observability.rst
 */
struct sample_totals {
	uint64_t connections;
	uint64_t calls;
	uint64_t round_trips;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t fetched_pages;
	uint64_t written_pages;
	uint64_t fetch_timeouts;
	uint64_t refused;
	uint64_t malformed;
	uint64_t stray_fds;
	uint64_t cancels;
	uint64_t delayed;
	uint64_t queued;
	uint64_t device_ns;
};

/**
 * struct sample_now - what a guest has at the moment; see observability.rst
 */
struct sample_now {
	uint64_t connected;
	uint64_t sessions;
	uint64_t lanes;
	uint64_t objects;
	uint64_t mappings;
	uint64_t mapped_bytes;
	uint64_t kept_bytes;
	uint64_t owned_bytes;
	uint64_t patience_ms;
};

/**
 * struct sample_guest - a guest that the host remembers
 * @name: name of the guest, or CID:PORT
 * @totals: counters
 * @now: what it has at the moment
 * @exports: array of its exports
 * @nr_exports: number of entries of @exports
 * @programs: array of its programs that use devices; NULL: there is none, or vgpud does not name
 *	them to this user
 * @nr_programs: number of entries of @programs
 */
struct sample_guest {
	char name[48];
	struct sample_totals totals;
	struct sample_now now;
	struct sample_export *exports;
	size_t nr_exports;
	struct sample_program *programs;
	size_t nr_programs;
};

/**
 * struct sample - what vgpud has counted
 * @ns: time of CLOCK_MONOTONIC in nanoseconds at which vgpud was asked
 * @version: version of vgpud
 * @engine: "kernel" or "user"
 * @programs_hidden: true if vgpud does not name programs to this user
 * @guests: array of the guests
 * @nr_guests: number of entries of @guests
 */
struct sample {
	uint64_t ns;
	char version[32];
	char engine[16];
	bool programs_hidden;
	struct sample_guest *guests;
	size_t nr_guests;
};

/* Make a sample of vgpud's answer. Return: NULL: no memory. */
struct sample *sample_parse(struct json_object *answer);
/* Ask vgpud, or print an error. Return: 0 or an exit status. */
int sample_take(const struct options *options, struct sample **sample);
void sample_free(struct sample *sample);
/*
 * Find a guest by its name, an export of a guest by its name, or a program of a guest by the number
 * of its session. @guest may be NULL. Return: NULL: there is none.
 */
const struct sample_guest *sample_guest_in(const struct sample *sample, const char *name);
const struct sample_export *sample_export_in(const struct sample_guest *guest, const char *name);
const struct sample_program *sample_program_in(const struct sample_guest *guest, uint64_t number);

#endif /* VGPUCTL_SAMPLE_H */
