// SPDX-License-Identifier: MIT
/*
 * Texts of metrics, as Prometheus reads them. The names are stable: a metric keeps its name, unit
 * and meaning, and Documentation/admin/observability.rst describes each.
 *
 * Both formats have the same samples. In OpenMetrics the name of a counter's family lacks the
 * ending "_total" of its samples, units are told, and the last line says that nothing is missing.
 */
#include <inttypes.h>
#include <string.h>

#include "vgpuctl/metrics/format.h"
#include "vgpuctl/metrics/sample.h"

enum scale { COUNT, MS, NS };

/**
 * struct metric - a number that each guest, or each export of a guest, has
 * @name: name of the metric, for a counter without "_total"
 * @unit: unit, with which the name ends; NULL: none
 * @counter: true if the number never falls, unless the host starts anew
 * @scale: unit of the number in the sample
 * @offset: offset of the number in struct sample_guest or struct sample_export, in bytes
 * @help: meaning
 */
struct metric {
	const char *name;
	const char *unit;
	bool counter;
	enum scale scale;
	size_t offset;
	const char *help;
};

#define TOTAL(member)	offsetof(struct sample_guest, totals.member)
#define NOW(member)	offsetof(struct sample_guest, now.member)
#define SUM(member)	offsetof(struct sample_export, sums.member)

static const struct metric guest_metrics[] = {
	{ "vgpu_guest_connected", NULL, false, COUNT, NOW(connected),
	  "1 if the guest is connected, else 0." },
	{ "vgpu_guest_sessions", NULL, false, COUNT, NOW(sessions),
	  "Programs of the guest that use devices." },
	{ "vgpu_guest_lanes", NULL, false, COUNT, NOW(lanes),
	  "Connections that carry calls of the guest." },
	{ "vgpu_guest_objects", NULL, false, COUNT, NOW(objects),
	  "Files that the guest has open on the host." },
	{ "vgpu_guest_mappings", NULL, false, COUNT, NOW(mappings),
	  "Device mappings of the guest." },
	{ "vgpu_guest_mapped_bytes", "bytes", false, COUNT, NOW(mapped_bytes),
	  "Size of the guest's device mappings." },
	{ "vgpu_guest_kept_bytes", "bytes", false, COUNT, NOW(kept_bytes),
	  "Memory of the guest that devices may use." },
	{ "vgpu_guest_owned_bytes", "bytes", false, COUNT, NOW(owned_bytes),
	  "Device memory that a user-space engine owns for the guest." },
	{ "vgpu_guest_patience_seconds", "seconds", false, MS, NOW(patience_ms),
	  "Time for which drivers may still wait for the guest." },
	{ "vgpu_guest_connections", NULL, true, COUNT, TOTAL(connections),
	  "Connections of the guest." },
	{ "vgpu_guest_calls", NULL, true, COUNT, TOTAL(calls),
	  "File operations of the guest that reached the host." },
	{ "vgpu_guest_round_trips", NULL, true, COUNT, TOTAL(round_trips),
	  "Calls, page fetches and write-backs." },
	{ "vgpu_guest_received_bytes", "bytes", true, COUNT, TOTAL(bytes_in),
	  "Bytes of messages received from the guest." },
	{ "vgpu_guest_sent_bytes", "bytes", true, COUNT, TOTAL(bytes_out),
	  "Bytes of messages sent to the guest." },
	{ "vgpu_guest_fetched_pages", NULL, true, COUNT, TOTAL(fetched_pages),
	  "Pages of programs that drivers asked for." },
	{ "vgpu_guest_written_pages", NULL, true, COUNT, TOTAL(written_pages),
	  "Pages with bytes that drivers wrote." },
	{ "vgpu_guest_fetch_timeouts", NULL, true, COUNT, TOTAL(fetch_timeouts),
	  "Requests for pages that the guest did not answer in time." },
	{ "vgpu_guest_refused", NULL, true, COUNT, TOTAL(refused),
	  "Refusals by limits and policy." },
	{ "vgpu_guest_malformed", NULL, true, COUNT, TOTAL(malformed),
	  "Messages for which a connection was closed." },
	{ "vgpu_guest_stray_files", NULL, true, COUNT, TOTAL(stray_fds),
	  "Files that a driver made and no schema describes." },
	{ "vgpu_guest_cancels", NULL, true, COUNT, TOTAL(cancels),
	  "Calls that the guest interrupted." },
	{ "vgpu_guest_delayed", NULL, true, COUNT, TOTAL(delayed),
	  "Calls that had to wait for a rate of the guest." },
	{ "vgpu_guest_queued", NULL, true, COUNT, TOTAL(queued),
	  "Calls that had to wait while a device worked for other guests." },
	{ "vgpu_guest_device_seconds", "seconds", true, NS, TOTAL(device_ns),
	  "Time of devices that the guest was charged." },
	{ NULL, NULL, false, COUNT, 0, NULL },
};

static const struct metric export_metrics[] = {
	{ "vgpu_export_calls", NULL, true, COUNT, SUM(calls),
	  "Calls of the guest on files of the export." },
	{ "vgpu_export_errors", NULL, true, COUNT, SUM(errors),
	  "Calls of the guest on files of the export that failed." },
	{ "vgpu_export_received_bytes", "bytes", true, COUNT, SUM(bytes_in),
	  "Bytes of the messages of these calls." },
	{ "vgpu_export_sent_bytes", "bytes", true, COUNT, SUM(bytes_out),
	  "Bytes of the replies to these calls." },
	{ NULL, NULL, false, COUNT, 0, NULL },
};

/* Write the lines that describe a metric. */
static void put_head(FILE *to, const char *name, const char *type, const char *unit,
		     const char *help, bool open)
{
	const char *end = !open && !strcmp(type, "counter") ? "_total" : "";

	fprintf(to, "# TYPE %s%s %s\n", name, end, type);
	if (open && unit)
		fprintf(to, "# UNIT %s %s\n", name, unit);
	fprintf(to, "# HELP %s%s %s\n", name, end, help);
}

/* Write the value of a label. */
static void put_label(FILE *to, const char *name, const char *value)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", to);
		else if (*value == '"' || *value == '\\')
			fprintf(to, "\\%c", *value);
		else
			fputc(*value, to);
	}
	fputc('"', to);
}

static void put_labels(FILE *to, const struct sample_guest *guest,
		       const struct sample_export *export)
{
	put_label(to, "guest", guest->name);
	if (export) {
		fputc(',', to);
		put_label(to, "export", export->name);
	}
}

static void put_value(FILE *to, uint64_t value, enum scale scale)
{
	if (scale == NS)
		fprintf(to, "%" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
	else if (scale == MS)
		fprintf(to, "%" PRIu64 ".%03" PRIu64 "\n", value / 1000, value % 1000);
	else
		fprintf(to, "%" PRIu64 "\n", value);
}

static void put_sample(FILE *to, const struct metric *metric, const struct sample_guest *guest,
		       const struct sample_export *export)
{
	const char *of = export ? (const char *)export : (const char *)guest;

	fprintf(to, "%s%s{", metric->name, metric->counter ? "_total" : "");
	put_labels(to, guest, export);
	fputs("} ", to);
	put_value(to, *(const uint64_t *)(of + metric->offset), metric->scale);
}

/* Write a histogram. The sum of its buckets is its count, also if calls were counted meanwhile. */
static void put_histogram(FILE *to, const char *name, const struct sample_guest *guest,
			  const struct sample_export *export)
{
	uint64_t below = 0;
	unsigned int i;

	for (i = 0; i < VGPU_HOST_BUCKETS; i++) {
		below += export->buckets[i];
		fprintf(to, "%s_bucket{", name);
		put_labels(to, guest, export);
		if (i < VGPU_HOST_BUCKETS - 1)
			fprintf(to, ",le=\"%.10g\"} ", ((uint64_t)VGPU_HOST_BUCKET_NS << i) / 1e9);
		else
			fputs(",le=\"+Inf\"} ", to);
		put_value(to, below, COUNT);
	}
	fprintf(to, "%s_count{", name);
	put_labels(to, guest, export);
	fputs("} ", to);
	put_value(to, below, COUNT);
	fprintf(to, "%s_sum{", name);
	put_labels(to, guest, export);
	fputs("} ", to);
	put_value(to, export->sums.ns, NS);
}

static void put_guests(FILE *to, const struct sample *sample, bool open)
{
	const struct metric *metric;
	size_t i;

	for (metric = guest_metrics; metric->name; metric++) {
		put_head(to, metric->name, metric->counter ? "counter" : "gauge", metric->unit,
			 metric->help, open);
		for (i = 0; i < sample->nr_guests; i++)
			put_sample(to, metric, &sample->guests[i], NULL);
	}
}

static void put_exports(FILE *to, const struct sample *sample, bool open)
{
	static const char duration[] = "vgpu_export_call_duration_seconds";
	const struct sample_guest *guest;
	const struct metric *metric;
	size_t i;

	for (metric = export_metrics; metric->name; metric++) {
		put_head(to, metric->name, "counter", metric->unit, metric->help, open);
		for (guest = sample->guests; guest < sample->guests + sample->nr_guests; guest++)
			for (i = 0; i < guest->nr_exports; i++)
				put_sample(to, metric, guest, &guest->exports[i]);
	}
	put_head(to, duration, "histogram", "seconds",
		 "Time of these calls on the host, from the message to the reply.", open);
	for (guest = sample->guests; guest < sample->guests + sample->nr_guests; guest++)
		for (i = 0; i < guest->nr_exports; i++)
			put_histogram(to, duration, guest, &guest->exports[i]);
}

void format_write(FILE *to, const struct sample *sample, bool open)
{
	put_head(to, "vgpu_agent_info", "gauge", NULL,
		 "Version of vgpud, and what serves the guests: the module (kernel) or engines (user).",
		 open);
	fputs("vgpu_agent_info{", to);
	put_label(to, "version", sample->version);
	fputc(',', to);
	put_label(to, "engine", sample->engine);
	fputs("} 1\n", to);
	put_guests(to, sample, open);
	put_exports(to, sample, open);
	if (open)
		fputs("# EOF\n", to);
}
