// SPDX-License-Identifier: MIT
/* The command metrics: counters for Prometheus, as a text, a file, or an answer to HTTP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgpuctl/metrics/format.h"
#include "vgpuctl/metrics/http.h"
#include "vgpuctl/metrics/sample.h"
#include "vgpuctl/vgpuctl.h"

/*
 * Write the metrics to a file that readers see either as it was or complete. Return: 0 or an exit
 * status.
 */
static int write_file(const char *path, const struct sample *sample, bool open)
{
	char *made = NULL;
	FILE *to = NULL;
	int fd = -1, error;

	if (asprintf(&made, "%s.XXXXXX", path) < 0)
		return fail(EXIT_FAILED, "out of memory");
	fd = mkstemp(made);
	if (fd < 0)
		goto err;
	to = fdopen(fd, "w");
	if (!to)
		goto err;
	format_write(to, sample, open);
	if (fchmod(fd, 0644) || fflush(to) || ferror(to) || rename(made, path))
		goto err;
	fclose(to);
	free(made);
	return EXIT_SUCCESS;

err:
	error = errno;
	if (fd >= 0)
		unlink(made);
	if (to)
		fclose(to);
	else if (fd >= 0)
		close(fd);
	free(made);
	return fail(exit_status(-error), "%s: %s: give another file with --textfile", path,
		    strerror(error));
}

/* Answer the request of HTTP that comes by standard input. Return: an exit status. */
static int answer_http(const struct options *options)
{
	struct http_request request = http_read(STDIN_FILENO);
	struct sample *sample;
	char *body = NULL;
	size_t len = 0;
	FILE *to;

	if (request.status == 200 && sample_take(options, &sample)) {
		request.status = 503;
	} else if (request.status == 200) {
		to = open_memstream(&body, &len);
		if (to) {
			format_write(to, sample, request.open);
			fclose(to);
		}
		sample_free(sample);
		if (!body)
			request.status = 503;
	}
	http_answer(stdout, &request, body);
	free(body);
	return EXIT_SUCCESS;
}

int cmd_metrics(const char *format, const struct options *options)
{
	const bool open = format && !strcmp(format, "openmetrics");
	const char *path = options->values[OPT_TEXTFILE];
	struct sample *sample;
	int ret;

	if (format && !open && strcmp(format, "prometheus"))
		return fail(EXIT_USAGE, "metrics has no format %s: it has prometheus and openmetrics",
			    format);
	if (option_given(options, OPT_JSON))
		return fail(EXIT_USAGE, "metrics has no --json: 'vgpuctl top --json' prints rates, and 'vgpuctl status --json' counters");
	if (option_given(options, OPT_HTTP) && (path || format))
		return fail(EXIT_USAGE, "--http takes no FORMAT and no --textfile");
	if (option_given(options, OPT_HTTP))
		return answer_http(options);
	ret = sample_take(options, &sample);
	if (ret)
		return ret;
	if (path)
		ret = write_file(path, sample, open);
	else
		format_write(stdout, sample, open);
	sample_free(sample);
	return ret;
}
