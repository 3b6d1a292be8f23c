/* SPDX-License-Identifier: MIT */
/* Findings of vgpuctl's doctor: what is wrong and what to do, in words or as JSON. */
#ifndef VGPUCTL_DOCTOR_FINDING_H
#define VGPUCTL_DOCTOR_FINDING_H

#include <stdbool.h>
#include <stddef.h>

/* Version of the JSON object: it changes if a member gets another meaning or goes away. */
#define DOCTOR_SCHEMA	1

/**
 * enum finding_kind - kinds of findings
 * @FINDING_ERROR: something does not work
 * @FINDING_WARNING: something works worse than it could, is not safe, or may not work later
 * @FINDING_NOTE: a known limit that may explain a problem
 * @FINDING_UNSEEN: something could not be examined
 * @FINDING_PASSED: something was examined and is right
 */
enum finding_kind {
	FINDING_ERROR,
	FINDING_WARNING,
	FINDING_NOTE,
	FINDING_UNSEEN,
	FINDING_PASSED,
};

/**
 * struct finding - a result of an examination
 * @kind: kind of the finding
 * @name: name of the finding, which does not change between versions
 * @about: name of the module, file, export or guest that the finding is about; "": the machine
 * @problem: what is wrong
 * @remedy: what to do; "": nothing
 */
struct finding {
	enum finding_kind kind;
	const char *name;
	char *about;
	char *problem;
	char *remedy;
};

/**
 * struct findings - all findings
 * @list: array of the findings
 * @nr: number of entries of @list
 * @no_memory: true if a finding was lost for want of memory
 */
struct findings {
	struct finding *list;
	size_t nr;
	bool no_memory;
};

/* Add a finding about @about, with the words of what is wrong. */
void finding_add(struct findings *findings, enum finding_kind kind, const char *name,
		 const char *about, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Set the words of what to do about the last finding. */
void finding_advise(struct findings *findings, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
size_t findings_count(const struct findings *findings, enum finding_kind kind);
/* Print the findings. @verbose: print also what is right. */
void findings_print(const struct findings *findings, bool verbose);
/* Print the findings as a JSON object. @host, @guest: sides of this machine that were examined. */
void findings_print_json(const struct findings *findings, bool host, bool guest);
void findings_free(struct findings *findings);

#endif /* VGPUCTL_DOCTOR_FINDING_H */
