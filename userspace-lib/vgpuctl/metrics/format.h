/* SPDX-License-Identifier: MIT */
/* Texts of metrics, as Prometheus reads them. */
#ifndef VGPUCTL_FORMAT_H
#define VGPUCTL_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

struct sample;

/* Media types of the two formats. */
#define FORMAT_TEXT_TYPE	"text/plain; version=0.0.4; charset=utf-8"
#define FORMAT_OPEN_TYPE	"application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Write a sample. @open: true: OpenMetrics 1.0; false: the text format 0.0.4 of Prometheus. */
void format_write(FILE *to, const struct sample *sample, bool open);

#endif /* VGPUCTL_FORMAT_H */
