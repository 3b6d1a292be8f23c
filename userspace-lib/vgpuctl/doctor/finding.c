// SPDX-License-Identifier: MIT
/* Findings of vgpuctl's doctor: what is wrong and what to do, in words or as JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/finding.h"
#include "vgpuctl/make.h"

static const char *const kinds[] = {
	[FINDING_ERROR] = "error",
	[FINDING_WARNING] = "warning",
	[FINDING_NOTE] = "note",
	[FINDING_UNSEEN] = "unseen",
	[FINDING_PASSED] = "passed",
};

/* Replace bytes that could control a terminal: words of files and processes are others' words. */
static char *plain(char *text)
{
	char *at;

	for (at = text; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return text;
}

static __attribute__((format(printf, 1, 0))) char *words(const char *fmt, va_list args)
{
	char *text;

	return vasprintf(&text, fmt, args) < 0 ? NULL : plain(text);
}

void finding_add(struct findings *findings, enum finding_kind kind, const char *name,
		 const char *about, const char *fmt, ...)
{
	struct finding *list = reallocarray(findings->list, findings->nr + 1, sizeof(*list));
	struct finding *finding;
	va_list args;

	if (!list) {
		findings->no_memory = true;
		return;
	}
	findings->list = list;
	finding = &list[findings->nr++];
	finding->kind = kind;
	finding->name = name;
	finding->about = strdup(about);
	if (finding->about)
		plain(finding->about);
	finding->remedy = NULL;
	va_start(args, fmt);
	finding->problem = words(fmt, args);
	va_end(args);
	if (!finding->about || !finding->problem)
		findings->no_memory = true;
}

void finding_advise(struct findings *findings, const char *fmt, ...)
{
	struct finding *last = findings->nr ? &findings->list[findings->nr - 1] : NULL;
	va_list args;

	if (!last)
		return;
	va_start(args, fmt);
	free(last->remedy);
	last->remedy = words(fmt, args);
	va_end(args);
	if (!last->remedy)
		findings->no_memory = true;
}

size_t findings_count(const struct findings *findings, enum finding_kind kind)
{
	size_t i, nr = 0;

	for (i = 0; i < findings->nr; i++)
		nr += findings->list[i].kind == kind;
	return nr;
}

static void print_finding(const struct finding *finding)
{
	printf("%s: %s%s%s%s: %s\n", kinds[finding->kind], finding->name,
	       *finding->about ? " (" : "", finding->about, *finding->about ? ")" : "",
	       finding->problem);
	if (finding->remedy)
		printf("  do: %s\n", finding->remedy);
}

void findings_print(const struct findings *findings, bool verbose)
{
	size_t errors = findings_count(findings, FINDING_ERROR);
	size_t warnings = findings_count(findings, FINDING_WARNING);
	enum finding_kind kind;
	size_t i;

	for (kind = FINDING_ERROR; kind <= FINDING_PASSED; kind++)
		for (i = 0; (verbose || kind != FINDING_PASSED) && i < findings->nr; i++)
			if (findings->list[i].kind == kind)
				print_finding(&findings->list[i]);
	printf("%zu error%s, %zu warning%s\n", errors, errors == 1 ? "" : "s", warnings,
	       warnings == 1 ? "" : "s");
}

static void put(struct json_object *to, const char *key, const char *value)
{
	make_member(to, key, value && *value ? make_string(value) : NULL);
}

/* Print findings of these kinds as an array. */
static void put_findings(struct json_object *to, const char *key, const struct findings *findings,
			 enum finding_kind first, enum finding_kind last)
{
	struct json_object *array = make_array(), *object;
	const struct finding *finding;
	enum finding_kind kind;
	size_t i;

	make_member(to, key, array);
	for (kind = first; kind <= last; kind++)
		for (i = 0; i < findings->nr; i++) {
			finding = &findings->list[i];
			if (finding->kind != kind)
				continue;
			object = make_object();
			make_element(array, object);
			put(object, "name", finding->name);
			put(object, "kind", kinds[kind]);
			put(object, "about", finding->about);
			put(object, "problem", finding->problem);
			put(object, "remedy", finding->remedy);
		}
}

void findings_print_json(const struct findings *findings, bool host, bool guest)
{
	struct json_object *object = make_object();

	make_member(object, "schema", make_number(DOCTOR_SCHEMA));
	put(object, "version", VGPU_VERSION);
	make_member(object, "host", make_bool(host));
	make_member(object, "guest", make_bool(guest));
	put_findings(object, "findings", findings, FINDING_ERROR, FINDING_NOTE);
	put_findings(object, "unseen", findings, FINDING_UNSEEN, FINDING_UNSEEN);
	put_findings(object, "passed", findings, FINDING_PASSED, FINDING_PASSED);
	make_print(stdout, object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void findings_free(struct findings *findings)
{
	size_t i;

	for (i = 0; i < findings->nr; i++) {
		free(findings->list[i].about);
		free(findings->list[i].problem);
		free(findings->list[i].remedy);
	}
	free(findings->list);
}
